//! The result of a command.

use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

/// The format of an answer that is not a tree.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MapFormat {
    #[default]
    Json,
    Text,
}

/// The answer of a command. `yes` is `false` if the exit code is 1.
pub(crate) struct Outcome {
    pub(crate) answer: String,
    pub(crate) yes: bool,
}

impl From<String> for Outcome {
    fn from(answer: String) -> Self {
        Self { answer, yes: true }
    }
}

/// Returns an answer as one line of JSON.
pub(crate) fn json(answer: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(answer)? + "\n")
}
