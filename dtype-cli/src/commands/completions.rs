//! The command `completions`: the completion script of a shell.

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use crate::outcome::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    shell: Shell,
}

impl Arguments {
    /// Runs the command. `all` is the command `dtype`.
    pub(crate) fn run(self, mut all: Command) -> Result<Outcome> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut all, "dtype", &mut script);
        Ok(String::from_utf8(script)?.into())
    }
}
