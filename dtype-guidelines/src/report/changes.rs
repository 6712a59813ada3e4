//! The changes since an earlier report, for example after an upgrade of the library.

use std::fmt::Write as _;

use super::text::{escape, microseconds};
use crate::{
    judgement::Judgement,
    results::{Kind, Layout, Operation, Results},
    statistics::median,
    verdicts::verdicts,
};

/// The largest number of changes that are shown.
const SHOWN: usize = 30;
/// The least relative change that is shown.
const SHOWN_FROM: f64 = 0.2;

/// Writes a comparison of two results of one vendor.
pub fn write(f: &mut String, before: &Results, now: &Results) {
    let _ = writeln!(
        f,
        "<h2>From {} to {}</h2>\n<p class=\"faint\">Before: {} UTC, {}, <code>{}</code>.{}{}</p>",
        escape(&before.version),
        escape(&now.version),
        escape(&before.date),
        escape(&before.machine.processor),
        escape(&before.command),
        if before.machine == now.machine {
            ""
        } else {
            " The machines differ, so compare only the verdicts, not the times."
        },
        if before.partial || now.partial {
            " One of the two runs was stopped before its end, so its results are less certain."
        } else {
            ""
        }
    );
    changed_verdicts(f, before, now);
    let mut changes = Vec::new();
    for layout in &now.layouts {
        let same = |other: &&Layout| other.benchmark == layout.benchmark && other.name() == layout.name();
        let Some(earlier) = before.layouts.iter().find(same) else { continue };
        for way in layout.ways.iter().filter(|way| way.kind == Kind::Datatype) {
            for (operation, times) in &way.times {
                let is_wanted = !matches!(operation, Operation::Construct | Operation::Commit);
                let Some(old) = earlier.way(&way.name).and_then(|way| way.times.get(operation)) else {
                    continue;
                };
                let (old, new) = (old.median(), times.median());
                if is_wanted && old > 0.0 && new > 0.0 {
                    changes.push((new / old, layout.name(), way.name.as_str(), *operation, old, new));
                }
            }
        }
    }
    if changes.is_empty() {
        *f += "<p>The two reports have no times of the library in common.</p>\n";
        return;
    }
    let mut ratios: Vec<f64> = changes.iter().map(|change| change.0).collect();
    let _ = writeln!(
        f,
        "<p>The two reports have {} times of the library in common; the median ratio, now to before, is \
         {:.2}.</p>",
        changes.len(),
        median(&mut ratios)
    );
    let (faster, slower) = (1.0 / (1.0 + SHOWN_FROM), 1.0 + SHOWN_FROM);
    changes.retain(|(ratio, ..)| !(faster..=slower).contains(ratio));
    changes.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    if changes.is_empty() {
        *f += "<p>No time differs by more than a fifth.</p>\n";
        return;
    }
    *f += "<div class=\"wide\"><table \
    class=\"changes\"><thead><tr><th>layout</th><th>what</th><th>operation</th>\
           <th class=\"n\">µs before</th><th class=\"n\">µs now</th><th class=\"n\">now / \
           before</th></tr></thead>\
           <tbody>\n";
    for (ratio, layout, way, operation, old, new) in changes.iter().take(SHOWN) {
        let _ = writeln!(
            f,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"n{}\">{ratio:.2}\
             </td></tr>",
            escape(layout),
            escape(way),
            operation.title(),
            microseconds(*old),
            microseconds(*new),
            if *ratio > 1.0 { " bad" } else { "" }
        );
    }
    *f += "</tbody></table></div>\n";
    if changes.len() > SHOWN {
        let _ = writeln!(
            f,
            "<p class=\"faint\">{} more times differ by more than a fifth.</p>",
            changes.len() - SHOWN
        );
    }
}

/// Writes the verdicts that have changed from held to violated, or from violated to held.
fn changed_verdicts(f: &mut String, before: &Results, now: &Results) {
    let (earlier, later) = (verdicts(before), verdicts(now));
    let (mut in_both, mut changed) = (0, [0, 0]);
    let mut lines = String::new();
    for verdict in &later {
        let same = earlier.iter().find(|other| {
            (other.by, other.operation, other.left.0, &other.right.0)
                == (verdict.by, verdict.operation, verdict.left.0, &verdict.right.0)
                && other.layout.benchmark == verdict.layout.benchmark
                && other.layout.name() == verdict.layout.name()
        });
        in_both += usize::from(same.is_some());
        let text = match (same.map(|other| other.judgement), verdict.judgement) {
            (Some(Judgement::Holds), Judgement::Violated) => {
                changed[0] += 1;
                "held before, is violated now"
            }
            (Some(Judgement::Violated), Judgement::Holds) => {
                changed[1] += 1;
                "was violated before, holds now"
            }
            _ => continue,
        };
        let _ = writeln!(
            lines,
            "<li>({}) {}, {}, {}: {text}</li>",
            verdict.by.number(),
            escape(&verdict.layout.name()),
            verdict.operation.title(),
            escape(verdict.left.0)
        );
    }
    let _ = writeln!(
        f,
        "<p>Of {in_both} verdicts, {} held before and are violated now, and {} were violated and hold \
         now.</p>",
        changed[0], changed[1]
    );
    if !lines.is_empty() {
        let _ = writeln!(f, "<details><summary>which</summary><ul>\n{lines}</ul></details>");
    }
}
