//! The display of progress during a measurement.

use std::{
    fmt,
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

/// The form in which progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Shown {
    /// A bar on a terminal, lines otherwise.
    #[default]
    Auto,
    /// A bar in any case: a launcher may forward output to the terminal.
    Bar,
    /// A line from time to time.
    Lines,
    /// No display.
    Nothing,
}

/// A display of progress.
pub struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
    started: Instant,
    last: Option<Instant>,
}

/// The number of steps of a bar.
const PARTS: u64 = 1000;

impl Progress {
    /// Creates a display at the start of the work.
    pub fn new(shown: Shown) -> Self {
        let is_bar = match shown {
            Shown::Auto => io::stderr().is_terminal(),
            Shown::Bar => true,
            Shown::Lines | Shown::Nothing => false,
        };
        let style = ProgressStyle::with_template("[{bar:30}] {percent:>3} %, {prefix} left  {wide_msg}");
        let bar = is_bar.then(|| {
            let target = ProgressDrawTarget::term_like_with_hz(Box::new(Forwarded), 5);
            let bar = ProgressBar::with_draw_target(Some(PARTS), target);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            bar
        });
        let lines = !is_bar && shown != Shown::Nothing;
        Self { bar, lines, started: Instant::now(), last: None }
    }

    /// Shows the share of the time that is used, and what is being done.
    pub fn show(&mut self, share: f64, what: &str) {
        const BETWEEN_LINES: Duration = Duration::from_secs(10);
        let left = self.started.elapsed().as_secs_f64() * (1.0 - share) / share.max(0.001);
        let left = if share > 0.01 { format!("{:.0} s", left.ceil()) } else { "…".to_owned() };
        if let Some(bar) = &self.bar {
            bar.set_prefix(left);
            bar.set_message(what.to_owned());
            bar.set_position((share * PARTS as f64) as u64);
        } else if self.lines && self.last.is_none_or(|last| last.elapsed() > BETWEEN_LINES) {
            self.last = Some(Instant::now());
            eprintln!("{:3.0} %, {left} left: {what}", 100.0 * share);
        }
    }

    /// Removes the bar, at the end of the work.
    pub fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Standard error, treated as a terminal, because a launcher may forward it to one.
struct Forwarded;

impl fmt::Debug for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("standard error")
    }
}

impl Forwarded {
    fn write(text: impl AsRef<str>) -> io::Result<()> {
        io::stderr().write_all(text.as_ref().as_bytes())
    }
}

impl TermLike for Forwarded {
    fn width(&self) -> u16 {
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(80)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        if n > 0 { Self::write(format!("\x1b[{n}A")) } else { Ok(()) }
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        if n > 0 { Self::write(format!("\x1b[{n}B")) } else { Ok(()) }
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        if n > 0 { Self::write(format!("\x1b[{n}C")) } else { Ok(()) }
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        if n > 0 { Self::write(format!("\x1b[{n}D")) } else { Ok(()) }
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        Self::write(format!("{s}\n"))
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        Self::write(s)
    }

    fn clear_line(&self) -> io::Result<()> {
        Self::write("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
