//! The tables of the page.

use std::fmt::Write as _;

use super::text::{escape, microseconds};
use crate::{
    judgement::Judgement,
    results::{Kind, Layout, Operation, Results},
    verdicts::Verdict,
};

/// The number of violations that are shown before a fold.
const FIRST: usize = 20;

/// Writes the violations, worst first.
pub fn violations(f: &mut String, verdicts: &[Verdict<'_>]) {
    let mut all: Vec<_> = verdicts.iter().filter(|v| v.judgement == Judgement::Violated).collect();
    all.sort_by(|a, b| b.factor.low.total_cmp(&a.factor.low));
    if all.is_empty() {
        *f += "<p class=\"good-text\">Nothing.</p>\n";
        return;
    }
    let (first, rest) = all.split_at(all.len().min(FIRST));
    rows(f, first);
    if !rest.is_empty() {
        let _ = writeln!(f, "<details><summary>{} more</summary>", rest.len());
        rows(f, rest);
        *f += "</details>\n";
    }
}

/// Writes all verdicts, in their order.
pub fn all(f: &mut String, verdicts: &[Verdict<'_>]) {
    let _ = writeln!(f, "<details><summary>{} verdicts</summary>", verdicts.len());
    rows(f, &verdicts.iter().collect::<Vec<_>>());
    *f += "</details>\n";
}

fn rows(f: &mut String, verdicts: &[&Verdict<'_>]) {
    *f += "<div class=\"wide\"><table \
    class=\"verdicts\"><thead><tr><th></th><th>layout</th><th>operation</th>\
           <th>what</th><th class=\"n\">µs</th><th>against</th><th \
           class=\"n\">µs</th><th>verdict</th></tr></thead>\
           <tbody>\n";
    for Verdict { layout, by, operation, left, right, factor, judgement } in verdicts {
        let _ = writeln!(
            f,
            "<tr><td>({})</td><td>{}</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td>\
             <td class=\"n\">{}</td><td{}>{}</td></tr>",
            by.number(),
            escape(&layout.name()),
            operation.title(),
            escape(left.0),
            microseconds(left.1),
            escape(&right.0),
            microseconds(right.1),
            if *judgement == Judgement::Violated { " class=\"bad\"" } else { "" },
            judgement.text(*factor),
        );
    }
    *f += "</tbody></table></div>\n";
}

/// Writes the ways that produce wrong bytes.
pub fn wrong(f: &mut String, results: &Results) {
    for layout in &results.layouts {
        for way in &layout.ways {
            if let Some(wrong) = &way.wrong {
                let (name, layout) = (escape(&way.name), escape(&layout.name()));
                let _ =
                    writeln!(f, "<p class=\"bad-text\">Wrong bytes: {layout}, {name} {}.</p>", escape(wrong));
            }
        }
    }
}

/// Writes all times of a layout, one row for each way. A cell is marked if its time violates an expectation.
pub fn layout(f: &mut String, results: &Results, layout: &Layout, verdicts: &[Verdict<'_>]) {
    let has = |operation: &Operation| layout.ways.iter().any(|way| way.times.contains_key(operation));
    let operations: Vec<_> = Operation::ALL.into_iter().filter(has).collect();
    let heads = operations
        .iter()
        .fold(String::new(), |all, operation| all + "<th class=\"n\">" + operation.title() + "</th>");
    let is_violated = |way: &str, operation: Operation| {
        verdicts.iter().any(|verdict| {
            verdict.judgement == Judgement::Violated
                && verdict.operation == operation
                && verdict.left.0 == way
                && verdict.layout.benchmark == layout.benchmark
                && verdict.layout.name() == layout.name()
        })
    };
    let _ = writeln!(
        f,
        "<details><summary>{}, {}: {} bytes</summary><div class=\"wide\"><table class=\"times\"><thead><tr>\
         <th>µs</th>{}<th class=\"n\">words</th><th>as</th></tr></thead><tbody>",
        escape(&results.version),
        escape(&layout.size),
        crate::groups::thousands(layout.bytes),
        heads
    );
    for way in &layout.ways {
        let _ = write!(
            f,
            "<tr{}><td>{}</td>",
            if way.kind == Kind::Ours { " class=\"ours\"" } else { "" },
            escape(&way.name)
        );
        for operation in &operations {
            let (class, mark) = if is_violated(&way.name, *operation) { (" bad", " ▲") } else { ("", "") };
            let time = way.times.get(operation).map(|times| microseconds(times.median()));
            let _ = write!(f, "<td class=\"n{class}\">{}{mark}</td>", time.unwrap_or_default());
        }
        let words = way.cost.map(|cost| cost.to_string()).unwrap_or_default();
        let _ = writeln!(f, "<td class=\"n\">{words}</td><td><code>{}</code></td></tr>", escape(&way.calls));
    }
    *f += "</tbody></table></div></details>\n";
}
