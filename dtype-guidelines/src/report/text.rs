//! The display of numbers and characters in a report.

/// Escapes a text for HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writes a time in microseconds with about three digits.
pub fn microseconds(time: f64) -> String {
    match time {
        100.0.. => format!("{time:.0}"),
        10.0.. => format!("{time:.1}"),
        1.0.. => format!("{time:.2}"),
        _ => format!("{time:.3}"),
    }
}
