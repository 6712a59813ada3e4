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
    input::Layout,
    models::Models,
    output::{Answer, Format},
};

/// How a picture is drawn.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DrawFormat {
    /// A picture for browsers and papers.
    #[default]
    Svg,
    /// A page on which the cost model and the order of a struct's fields can be changed.
    Html,
    /// For the terminal.
    Ansi,
    /// The least-cost tree, for Graphviz.
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

/// Draws a layout, as it is given and at least cost.
pub(crate) fn draw(
    format: DrawFormat,
    color: Color,
    models: &Models,
    layout: Layout,
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

/// Writes a page to a file of its own, and opens it in the browser that is there.
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
