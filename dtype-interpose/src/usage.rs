//! What was done with a datatype, for the report.

/// Counts of messages, and what they took.
#[derive(Default)]
pub(crate) struct Usage {}
