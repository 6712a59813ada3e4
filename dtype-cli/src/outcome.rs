//! What a command ends with.

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

/// How what is no tree is written.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFormat {
    #[default]
    Json,
    Text,
}

/// What the command ends with: its answer, and whether that is a yes.
pub(crate) struct Outcome {
    pub(crate) answer: String,
    pub(crate) yes: bool,
}

impl From<String> for Outcome {
    fn from(answer: String) -> Self {
        Self { answer, yes: true }
    }
}

/// An answer as one line of JSON.
pub(crate) fn json(answer: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(answer)? + "\n")
}
