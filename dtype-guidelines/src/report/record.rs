//! The tables of BENCHMARKS.md.

use std::fmt::Write as _;

use super::text::microseconds;
use crate::{
    calibrate::Calibration,
    groups::{Benchmark, Expectation},
    judgement::Judgement,
    results::{Kind, Layout, Operation, Results},
    verdicts::{count, verdicts, worst},
};

/// Returns the tables in Markdown: the expectations, the cost models, and packing the layouts of
/// applications.
pub fn tables(results: &[Results]) -> String {
    let mut f = String::new();
    expectations(&mut f, results);
    f.push('\n');
    costs(&mut f, results);
    f.push('\n');
    applications(&mut f, results);
    f
}

fn expectations(f: &mut String, results: &[Results]) {
    *f += "| | library | holds | too close | violated | the worst |\n|---|---|--:|--:|--:|---|\n";
    let judged: Vec<_> = results.iter().map(|results| (results, verdicts(results))).collect();
    for by in Expectation::ALL {
        for (results, verdicts) in &judged {
            let of: Vec<_> = verdicts.iter().filter(|verdict| verdict.by == by).collect();
            let worst = worst(of.iter().copied()).map_or(String::new(), |worst| {
                let (left, right) = (worst.left.0, &worst.right.0);
                let layout = worst.layout.name();
                format!(
                    "{} ×: {left} of {layout}, {}, against {right}",
                    worst.factor,
                    worst.operation.title()
                )
            });
            let [holds, close, violated] =
                [Judgement::Holds, Judgement::TooClose, Judgement::Violated].map(|is| count(&of, is));
            let _ = writeln!(
                f,
                "| ({}) {} | {} | {holds} | {close} | {violated} | {worst} |",
                by.number(),
                by.meaning(),
                results.version
            );
        }
    }
}

fn costs(f: &mut String, results: &[Results]) {
    *f += "| library | model | rank correlation: packing | ping-pong | of the default model | slower than as \
           described | faster |\n|---|---|--:|--:|--:|--:|--:|\n";
    for (results, calibration) in results.iter().filter_map(|of| Some((of, of.calibration.as_ref()?))) {
        let best = calibration.best();
        let [slower, faster] = Calibration::slower_and_faster(&calibration.compared, calibration.chosen);
        let of = calibration.compared.len();
        let _ = writeln!(
            f,
            "| {} | {} | {:.3} | {:.3} | {:.3}, {:.3} | {slower} of {of} | {faster} |",
            results.version,
            best.pack.model.title(),
            best.of_pack,
            best.of_ping_pong,
            calibration.default[0],
            calibration.default[1]
        );
    }
}

/// Writes the times of packing, as multiples of the time of the loops by hand.
fn applications(f: &mut String, results: &[Results]) {
    *f += "| packing | library | by hand | as published | least-cost | plan | generated |\n\
           |---|---|--:|--:|--:|--:|--:|\n";
    let Some(first) = results.first() else { return };
    for layout in first.layouts.iter().filter(|layout| layout.benchmark == Benchmark::Applications) {
        for results in results {
            let same = |other: &&Layout| (other.benchmark, other.name()) == (layout.benchmark, layout.name());
            let Some(layout) = results.layouts.iter().find(same) else { continue };
            let time = |name: &str| {
                let time = layout.way(name)?.times.get(&Operation::Pack)?.median();
                (time > 0.0).then_some(time)
            };
            let hand = layout.ways.iter().find(|way| way.kind == Kind::ByHand);
            let Some(hand) = hand.and_then(|way| time(&way.name)) else { continue };
            let factors = ["as published", "least-cost", "plan", "generated"]
                .map(|way| time(way).map_or("–".to_owned(), |time| format!("{:.2}", time / hand)));
            let _ = writeln!(
                f,
                "| {} | {} | {} µs | {} |",
                layout.name(),
                results.version,
                microseconds(hand),
                factors.join(" | ")
            );
        }
    }
}
