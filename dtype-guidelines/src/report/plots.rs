//! Plots: times against sizes, and predictions against measured times.
//!
//! The colours are those of Okabe and Ito, which people with colour blindness can tell apart. Lines differ in
//! their dashes, too.

use std::fmt::Write as _;

use anyhow::{Result, anyhow};
use plotters::{coord::combinators::LogCoord, prelude::*};

use super::text::escape;
use crate::statistics::Estimate;

/// A line of a plot: its name, and its points with confidence intervals.
pub struct Line<'a> {
    /// The name.
    pub name: &'a str,
    /// The number that determines colour and dashes, the same on all plots of a page.
    pub number: usize,
    /// The packed size in bytes, and the time in microseconds.
    pub points: Vec<(f64, Estimate)>,
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(127, 127, 127),
    RGBColor(160, 150, 30),
];

/// Returns the colour of a line, and its dashes as an SVG attribute.
fn style(number: usize) -> (RGBColor, &'static str) {
    const DASHES: [&str; 4] = ["", "7 3", "2 3", "9 3 2 3"];
    // All pairs occur before one is repeated.
    (COLOURS[number % COLOURS.len()], DASHES[(number + number / COLOURS.len()) % DASHES.len()])
}

const SIZE: (u32, u32) = (460, 300);

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<LogCoord<f64>, LogCoord<f64>>>;

/// Draws times against sizes, both on logarithmic axes. The band of a line contains its median with a
/// confidence of 95 %.
///
/// # Errors
/// If the plot cannot be drawn.
pub fn times(lines: &[Line<'_>]) -> Result<String> {
    let all = || lines.iter().flat_map(|line| &line.points);
    let x = range(all().map(|(size, _)| *size));
    let y = range(all().flat_map(|(_, time)| [time.low, time.high]));
    let svg = draw(x, y, ("packed bytes", "µs"), |chart| {
        for line in lines {
            let (colour, _) = style(line.number);
            let high = line.points.iter().map(|(size, time)| (*size, time.high));
            let low = line.points.iter().rev().map(|(size, time)| (*size, time.low));
            let band = Polygon::new(high.chain(low).collect::<Vec<_>>(), colour.mix(0.18));
            chart.draw_series(std::iter::once(band)).map_err(failed)?;
            let points = line.points.iter().map(|(size, time)| (*size, time.value));
            chart.draw_series(LineSeries::new(points.clone(), colour.stroke_width(2))).map_err(failed)?;
            let dots = points.map(|point| Circle::new(point, 2, colour.filled()));
            chart.draw_series(dots).map_err(failed)?;
        }
        Ok(())
    })?;
    Ok(dashed(&svg, lines))
}

/// Draws predicted times against measured times. The points of held-back trees are filled.
///
/// # Errors
/// If the plot cannot be drawn.
pub fn predictions(points: &[(f64, f64, bool)]) -> Result<String> {
    let both = || points.iter().flat_map(|(measured, predicted, _)| [*measured, *predicted]);
    let (x, y) = (range(both()), range(both()));
    let ends = (x.start, x.end);
    draw(x, y, ("measured, µs", "predicted, µs"), |chart| {
        let diagonal = [(ends.0, ends.0), (ends.1, ends.1)];
        chart.draw_series(LineSeries::new(diagonal, COLOURS[6])).map_err(failed)?;
        let dots = points.iter().map(|(measured, predicted, unseen)| {
            let colour = if *unseen { COLOURS[1].filled() } else { COLOURS[0].stroke_width(1) };
            Circle::new((*measured, *predicted), 3, colour)
        });
        chart.draw_series(dots).map_err(failed)?;
        Ok(())
    })
}

fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("a plot could not be drawn: {error}")
}

/// Returns a range from below the least number to above the greatest one.
fn range(numbers: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let numbers = numbers.filter(|number| number.is_finite() && *number > 0.0);
    let (least, greatest) =
        numbers.fold((f64::MAX, 0.0_f64), |(a, b), number| (a.min(number), b.max(number)));
    if greatest > 0.0 { least / 1.25..greatest * 1.25 } else { 0.1..10.0 }
}

fn draw(
    x: std::ops::Range<f64>,
    y: std::ops::Range<f64>,
    (x_name, y_name): (&str, &str),
    series: impl FnOnce(&mut Chart<'_, '_>) -> Result<()>,
) -> Result<String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(6)
            .x_label_area_size(34)
            .y_label_area_size(52)
            .build_cartesian_2d(x.log_scale(), y.log_scale())
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(BLACK.mix(0.15))
            .x_labels(6)
            .y_labels(6)
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(&|number| short(*number))
            .y_label_formatter(&|number| short(*number))
            .draw()
            .map_err(failed)?;
        series(&mut chart)?;
        area.present().map_err(failed)?;
    }
    // Black is replaced by the text colour of the page, which may be light or dark.
    Ok(svg.replace("#000000", "currentColor"))
}

/// Writes a number for an axis.
fn short(number: f64) -> String {
    let scaled = |by: f64, unit: &str| {
        let text = format!("{:.1}", number / by);
        format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    match number {
        1e6.. => scaled(1e6, "M"),
        1e3.. => scaled(1e3, "k"),
        1.0.. => scaled(1.0, ""),
        _ => format!("{number:.2}").trim_end_matches('0').to_owned(),
    }
}

/// Adds dashes to the lines, because plotters does not write dashes into SVG. The lines occur in the SVG in
/// the order of `lines`.
fn dashed(svg: &str, lines: &[Line<'_>]) -> String {
    let mut lines = lines.iter().map(|line| style(line.number)).peekable();
    let mut text = String::new();
    for line in svg.split_inclusive('\n') {
        let is_of = |(RGBColor(r, g, b), _): &(RGBColor, &str)| {
            line.starts_with("<polyline") && line.contains(&format!("stroke=\"#{r:02X}{g:02X}{b:02X}\""))
        };
        match lines.next_if(is_of) {
            Some((_, dashes)) if !dashes.is_empty() => {
                text += &line.replace("<polyline", &format!("<polyline stroke-dasharray=\"{dashes}\""));
            }
            _ => text += line,
        }
    }
    text
}

/// Returns the legend of the lines, as HTML.
pub fn legend(lines: &[Line<'_>]) -> String {
    let mut text = String::from("<div class=\"legend\">");
    for line in lines {
        let (RGBColor(r, g, b), dashes) = style(line.number);
        let _ = write!(
            text,
            "<span><svg viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path d=\"M0 6H28\" \
             stroke=\"rgb({r},{g},{b})\" stroke-width=\"2.5\" stroke-dasharray=\"{dashes}\"/></svg> \
             {}</span>",
            escape(line.name)
        );
    }
    text + "</div>"
}
