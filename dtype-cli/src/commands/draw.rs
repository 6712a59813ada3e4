//! The command `draw`: pictures, on standard output or in a browser.

use std::{
    env,
    ffi::OsString,
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::Result;
use clap::{Args, ValueEnum};
use dtype_core::{Datatype, Packing, normalize};

use super::Color;
use crate::{
    input::{InputLayout, Source, name_of},
    models::{Costs, Models},
    outcome::Outcome,
    output::{Answer, Format},
};

#[derive(Args)]
pub(crate) struct Arguments {
    /// The format of the picture.
    #[arg(long, value_enum, default_value_t)]
    format: DrawFormat,
    /// Open the page, or the picture, in a browser.
    #[arg(long)]
    open: bool,
    /// Use colours in the terminal format: `auto` uses them if the output is a terminal and NO_COLOR is
    /// not set.
    #[arg(long, value_enum, default_value_t)]
    color: Color,
    #[command(flatten)]
    costs: Costs,
    #[command(flatten)]
    source: Source,
    /// The input; standard input if omitted or `-`.
    file: Option<PathBuf>,
}

/// The format of a picture.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum DrawFormat {
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

impl Arguments {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<Outcome> {
        let Self { format, open: is_opened, color, costs, source, file } = self;
        let models = costs.models()?;
        let layout = source.read(file.as_ref())?;
        let (format, ending) = match format {
            DrawFormat::Svg | DrawFormat::Html if is_opened => (DrawFormat::Html, ".html"),
            format => (format, ".txt"),
        };
        let drawn = draw(format, color, &models, layout, name_of(file.as_ref()))?;
        Ok(if is_opened { open(&drawn, ending)? } else { drawn }.into())
    }
}

/// Returns a picture of a layout with its given tree and its least-cost tree.
fn draw(
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
        packing: Packing::default(),
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
fn open(page: &str, ending: &str) -> Result<String> {
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
