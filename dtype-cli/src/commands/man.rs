//! The command `man`: the manual page of `dtype`, or of one of its commands.

use anyhow::{Context, Result};
use clap::{Args, Command};

use crate::outcome::Outcome;

#[derive(Args)]
pub(crate) struct Arguments {
    command: Option<String>,
}

impl Arguments {
    /// Runs the command. `all` is the command `dtype`.
    pub(crate) fn run(self, mut all: Command) -> Result<Outcome> {
        // `build` gives each command its full name.
        all.build();
        let page = match self.command {
            None => all,
            Some(name) => {
                let found = all.find_subcommand(&name).cloned();
                found.with_context(|| {
                    format!("`{name}` is not a command of `dtype`; `dtype help` lists the commands")
                })?
            }
        };
        let mut text = Vec::new();
        clap_mangen::Man::new(page).render(&mut text)?;
        Ok(String::from_utf8(text)?.into())
    }
}
