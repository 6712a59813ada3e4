//! The command `draw`: pictures, on standard output or in a browser.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal, Write},
    process::{Command, Stdio},
};

use anyhow::Result;
use clap::ValueEnum;
use dtype_core::{Datatype, normalize};

use crate::{
    input::InputLayout,
    models::Models,
    output::{Answer, Format},
};

/// The format of a picture.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawFormat {
    /// A picture for browsers and papers.
    #[default]
    Svg,
    /// A page on which the cost model and the order of a struct's fields can be changed.
    Html,
    /// A picture for the terminal.
    Ansi,
    /// The least-cost tree as a graph for Graphviz.
    Dot,
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

impl Color {
    pub(crate) fn is_on(self) -> bool {
        match self {
            Self::Auto => {
                io::stdout().is_terminal() && env::var_os("NO_COLOR").is_none_or(|no| no.is_empty())
            }
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// Returns a picture of a layout with its given tree and its least-cost tree.
pub(crate) fn draw(
    format: DrawFormat,
    color: Color,
    models: &Models,
    layout: InputLayout,
    source: String,
) -> Result<String> {
    let record = layout.record.clone();
    let Datatype { tree, bounds, .. } = layout.datatype()?;
    let solution = normalize(&tree, models.wanted())?;
    let answer = Answer {
        solution: &solution,
        given: Some(&tree),
        models,
        is_coloured: color.is_on(),
        bounds,
        source,
        name: "layout",
        record: record.as_ref(),
    };
    answer.write(match format {
        DrawFormat::Svg => Format::Svg,
        DrawFormat::Html => Format::Html,
        DrawFormat::Ansi => Format::Ansi,
        DrawFormat::Dot => Format::Dot,
    })
}

/// Writes a page to a file in the temporary directory, and opens the file in an installed browser.
pub(crate) fn open(page: &str, ending: &str) -> Result<String> {
    let mut file = tempfile::Builder::new().prefix("dtype-").suffix(ending).tempfile()?;
    file.write_all(page.as_bytes())?;
    let (_, path) = file.keep()?;
    let browsers = match env::var_os("BROWSER") {
        Some(browser) => vec![browser],
        None => ["xdg-open", "open", "explorer"].map(Into::into).to_vec(),
    };
    let opens = |browser: &OsString| {
        let mut command = Command::new(browser);
        command.arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let path = path.display();
    Ok(if browsers.iter().any(opens) {
        format!("{path}\n")
    } else {
        format!("no browser was found; open {path}\n")
    })
}
