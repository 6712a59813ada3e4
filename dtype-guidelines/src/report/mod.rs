//! The report: one page of HTML, which needs no network, made from the results in a folder.
//!
//! - `plots`: times against sizes, and predictions against times;
//! - `tables`: the numbers;
//! - `changes`: the comparison with an earlier report;
//! - `record`: the tables of BENCHMARKS.md;
//! - `text`: the display of numbers and characters.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Result;

use crate::{
    calibrate::{Calibration, Model, NAMES},
    groups::{Benchmark, Expectation},
    judgement::{BETWEEN_RUNS, Judgement, MARGIN},
    results::{Kind, Layout, Operation, Results, write as write_file},
    statistics::time,
    verdicts::{Verdict, count, verdicts, worst},
};
use plots::Line;
use text::{escape, microseconds};

mod changes;
mod plots;
mod record;
mod tables;
mod text;

pub use record::tables as recorded;

/// Writes the page of the results in a folder, compared with the results in `baseline`, and returns its path.
///
/// # Errors
/// If there are no results, or the page cannot be written.
pub fn write(folder: &Path, baseline: &[Results]) -> Result<PathBuf> {
    let file = folder.join("guidelines.html");
    write_file(&file, &page(&Results::load(folder)?, baseline)?)?;
    Ok(file)
}

/// Returns the page.
///
/// # Errors
/// If a plot cannot be drawn.
pub fn page(results: &[Results], baseline: &[Results]) -> Result<String> {
    let names: Vec<_> = results.iter().map(|results| escape(&results.version)).collect();
    let mut f = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Datatypes of {}</title>\n<style>\n{}</style>\n</head>\n<body>\n\
         <h1>What to expect of datatypes in {}</h1>\n",
        names.join(" and "),
        include_str!("style.css"),
        names.join(" and "),
    );
    let judged: Vec<Vec<Verdict<'_>>> = results.iter().map(verdicts).collect();
    for (results, verdicts) in results.iter().zip(&judged) {
        head(&mut f, results);
        expectations(&mut f, verdicts);
    }
    let _ = writeln!(
        f,
        "<p class=\"faint\">⪯ reads “is not slower than”. A way is slower if it takes more than {:.0} % \
         longer with a confidence of 95 % (a bootstrap of interleaved runs over several passes, each with \
         other memory). A further {:.0} % allow for differences between two starts of the program. A verdict \
         is “too close to call” if the confidence interval allows both answers. The expectations are those \
         of Gropp, Hoefler, Thakur and Träff, “Performance Expectations and Guidelines for MPI Derived \
         Datatypes” (EuroMPI 2011).</p>",
        100.0 * MARGIN,
        100.0 * BETWEEN_RUNS
    );
    for results in results {
        let before: Vec<_> = baseline.iter().filter(|other| other.vendor() == results.vendor()).collect();
        for before in before {
            changes::write(&mut f, before, results);
        }
    }
    for (results, verdicts) in results.iter().zip(&judged) {
        let _ = writeln!(f, "<h2>Violated in {}</h2>", escape(&results.version));
        tables::violations(&mut f, verdicts);
        tables::wrong(&mut f, results);
    }
    let ways = way_names(results);
    for benchmark in Benchmark::ALL {
        of_benchmark(&mut f, benchmark, results, &judged, &ways)?;
    }
    for results in results {
        if let Some(calibration) = &results.calibration {
            calibrated(&mut f, results, calibration)?;
        }
    }
    for (results, verdicts) in results.iter().zip(&judged) {
        let _ = writeln!(f, "<h2>All verdicts on {}</h2>", escape(&results.version));
        tables::all(&mut f, verdicts);
    }
    f += "</body>\n</html>\n";
    Ok(f)
}

/// Returns the names of all ways. The loops by hand and our ways come first, because every plot has them.
fn way_names(results: &[Results]) -> Vec<&str> {
    let ways = || results.iter().flat_map(|results| &results.layouts).flat_map(|layout| &layout.ways);
    let (mut names, mut known) = (Vec::new(), std::collections::HashSet::new());
    for wanted in [[Kind::ByHand, Kind::Ours].as_slice(), &[Kind::Datatype]] {
        let of_kind = ways().filter(|way| wanted.contains(&way.kind)).map(|way| way.name.as_str());
        names.extend(of_kind.filter(|name| known.insert(*name)));
    }
    names
}

/// Writes the head of a library's results: the machine, the time and the command.
fn head(f: &mut String, results: &Results) {
    let Results { version, machine, command, date, ranks, seconds, passes, partial, program, .. } = results;
    let _ = writeln!(f, "<h2>{}</h2>", escape(version));
    if *partial {
        let _ = writeln!(
            f,
            "<p class=\"partial\">This run was stopped after {passes} whole passes: its results are less \
             certain than those of a whole run, and some are missing.</p>"
        );
    }
    let _ = writeln!(
        f,
        "<dl><dt>machine</dt><dd>{}, {} cores, {} GiB, {}</dd><dt>measured</dt><dd>{} UTC, {ranks} ranks, \
         {:.0} s, {passes} passes, by dtype-guidelines {}</dd><dt>command</dt><dd><code>{}</code></dd></dl>",
        escape(&machine.processor),
        machine.cores,
        machine.memory,
        escape(&machine.system),
        escape(date),
        seconds,
        escape(program),
        escape(command)
    );
}

/// Writes a table of the expectations: how often each is met, and its worst violation.
fn expectations(f: &mut String, verdicts: &[Verdict<'_>]) {
    *f += "<div class=\"wide\"><table class=\"expectations\"><thead><tr><th>what you may expect</th>\
           <th class=\"n\">holds</th><th class=\"n\">too close</th><th class=\"n\">violated</th><th>the \
           worst</th>\
           </tr></thead><tbody>\n";
    for by in Expectation::ALL {
        let of: Vec<_> = verdicts.iter().filter(|verdict| verdict.by == by).collect();
        let violated = count(&of, Judgement::Violated);
        let worst = worst(of.iter().copied());
        let worst = worst.map_or(String::new(), |worst| {
            format!(
                "{} of {}, {}: {:.1} times as long as {}. {}",
                escape(worst.left.0),
                escape(&worst.layout.name()),
                worst.operation.title(),
                worst.factor.value,
                escape(&worst.right.0),
                by.advice()
            )
        });
        let _ = writeln!(
            f,
            "<tr><td><b>({}) {}</b><br><span class=\"faint\">{}</span></td>\
             <td class=\"n\" data-is=\"holds\">{}</td><td class=\"n\" data-is=\"too close\">{}</td>\
             <td class=\"n{}\" data-is=\"violated\">{violated}</td><td>{worst}</td></tr>",
            by.number(),
            by.meaning(),
            escape(by.formula()),
            count(&of, Judgement::Holds),
            count(&of, Judgement::TooClose),
            if violated > 0 { " bad" } else { "" },
        );
    }
    *f += "</tbody></table></div>\n";
}

/// Writes the layouts of a benchmark: a picture, plots and tables.
fn of_benchmark(
    f: &mut String,
    benchmark: Benchmark,
    results: &[Results],
    judged: &[Vec<Verdict<'_>>],
    names: &[&str],
) -> Result<()> {
    let mut series: BTreeMap<&str, usize> = BTreeMap::new();
    let all = results.iter().flat_map(|results| &results.layouts);
    for layout in all.filter(|layout| layout.benchmark == benchmark) {
        let number = series.len();
        series.entry(&layout.series).or_insert(number);
    }
    if series.is_empty() {
        return Ok(());
    }
    let mut series: Vec<_> = series.into_iter().collect();
    series.sort_by_key(|(_, number)| *number);
    let _ = writeln!(f, "<h2>{}</h2>", escape(benchmark.title()));
    for (name, _) in series {
        let _ = writeln!(f, "<h3>{}</h3>", escape(name));
        let of_it = |results: &'_ Results| {
            let is_of_it = |layout: &&Layout| layout.benchmark == benchmark && layout.series == name;
            results.layouts.iter().filter(is_of_it).cloned().collect::<Vec<_>>()
        };
        let picture = results.iter().flat_map(of_it).map(|layout| layout.picture).find(|svg| !svg.is_empty());
        if let Some(svg) = picture {
            let _ = writeln!(
                f,
                "<details><summary>the layout, drawn</summary><figure \
                 class=\"picture\">{svg}</figure></details>"
            );
        }
        plotted(f, results, names, of_it)?;
        for (results, verdicts) in results.iter().zip(judged) {
            for layout in of_it(results) {
                tables::layout(f, results, &layout, verdicts);
            }
        }
    }
    Ok(())
}

/// Writes the plots of a series: packing, and half a ping-pong.
fn plotted(
    f: &mut String,
    results: &[Results],
    names: &[&str],
    of_it: impl Fn(&Results) -> Vec<Layout>,
) -> Result<()> {
    let mut plots = String::new();
    for results in results {
        let layouts = of_it(results);
        for operation in [Operation::Pack, Operation::PingPong] {
            let point = |name: &str, layout: &Layout| {
                let times = layout.way(name)?.times.get(&operation)?;
                Some((layout.bytes as f64, time(times)?))
            };
            let points = |name: &str| layouts.iter().filter_map(|layout| point(name, layout)).collect();
            let lines =
                names.iter().enumerate().map(|(number, name)| Line { name, number, points: points(name) });
            let lines: Vec<Line<'_>> = lines.filter(|line| !line.points.is_empty()).collect();
            if lines.iter().all(|line| line.points.len() < 2) {
                continue;
            }
            let _ = writeln!(
                plots,
                "<figure class=\"plot\">{}{}<figcaption>{}: {}</figcaption></figure>",
                plots::times(&lines)?,
                plots::legend(&lines),
                escape(&results.version),
                operation.title()
            );
        }
    }
    if !plots.is_empty() {
        let _ = writeln!(f, "<div class=\"plots\">\n{plots}</div>");
    }
    Ok(())
}

/// Writes the fitted cost models.
fn calibrated(f: &mut String, results: &Results, calibration: &Calibration) -> Result<()> {
    let _ = writeln!(f, "<h2>Fitted costs of {}</h2>", escape(&results.version));
    let unseen = calibration.trees.iter().filter(|tree| tree.held_back).count();
    let _ = writeln!(
        f,
        "<p>Constants in nanoseconds, fitted to the times of {} trees: the costs of a call, of the data and \
         of the nodes of the description. The models count the nodes {}. <i>Rank correlation</i> says how \
         well a model orders {unseen} others by time, where 1 is perfect. <i>Slower</i> counts those of {} \
         generated layouts whose least-cost tree under the model packs more slowly than the layout as it was \
         described, and <i>faster</i> the opposite, both beyond {:.0} %. The model in bold was chosen on \
         other layouts, and is in <code>cost-{}.json</code>, in units of 0.01 ns, for <code>dtype \
         --cost</code> and <code>#[mpi(cost = …)]</code>.</p>",
        calibration.trees.len() - unseen,
        Model::ALL.map(|model| format!("{} (<i>{}</i>)", model.meaning(), model.title())).join(", "),
        calibration.compared.len(),
        100.0 * MARGIN,
        escape(&results.library)
    );
    *f += "<div class=\"wide\"><table class=\"models\"><thead><tr><th>model</th>";
    for name in NAMES {
        let _ = write!(f, "<th class=\"n\">{name}</th>");
    }
    *f += "<th class=\"n\">rank correlation, pack</th><th class=\"n\">ping-pong</th>\
           <th class=\"n\">slower</th><th class=\"n\">faster</th></tr></thead><tbody>\n";
    for (number, model) in calibration.models.iter().enumerate() {
        let is_chosen = number == calibration.chosen;
        let title = model.pack.model.title();
        let title = if is_chosen { format!("<b>{title}</b>") } else { title.to_owned() };
        let _ = write!(f, "<tr><td>{title}</td>");
        for price in model.pack.each {
            let _ = write!(f, "<td class=\"n\">{:.2}</td>", price * 1e3);
        }
        let [slower, faster] = Calibration::slower_and_faster(&calibration.compared, number);
        let _ = writeln!(
            f,
            "<td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td class=\"n\">{slower}</td>\
             <td class=\"n\">{faster}</td></tr>",
            model.of_pack, model.of_ping_pong
        );
    }
    let _ = writeln!(
        f,
        "<tr><td>the default</td>{}<td class=\"n\">{:.3}</td><td class=\"n\">{:.3}</td><td></td><td></td>\
         </tr></tbody></table></div>",
        "<td></td>".repeat(NAMES.len()),
        calibration.default[0],
        calibration.default[1]
    );
    let chosen = calibration.chosen;
    let points: Vec<_> =
        calibration.trees.iter().map(|tree| (tree.pack, tree.predicted[chosen], tree.held_back)).collect();
    let _ = writeln!(
        f,
        "<div class=\"plots\"><figure class=\"plot\">{}<figcaption>MPI_Pack: each dot a tree; filled ones \
         were held back</figcaption></figure></div>",
        plots::predictions(&points)?
    );
    let _ = writeln!(
        f,
        "<details><summary>all trees, in µs</summary><div class=\"wide\"><table><thead><tr><th>tree</th>\
         <th class=\"n\">bytes</th><th class=\"n\">pack</th><th class=\"n\">predicted</th>\
         <th class=\"n\">ping-pong</th></tr></thead><tbody>"
    );
    for tree in &calibration.trees {
        let _ = writeln!(
            f,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}\
             </td></tr>",
            escape(&tree.name),
            tree.bytes,
            microseconds(tree.pack),
            microseconds(tree.predicted[chosen]),
            microseconds(tree.ping_pong)
        );
    }
    *f += "</tbody></table></div></details>\n";
    Ok(())
}

/// Returns a summary of a few lines for a terminal.
pub fn summary(results: &Results) -> String {
    let verdicts = verdicts(results);
    let mut f =
        format!("\n{}{}\n", results.version, if results.partial { " (stopped before its end)" } else { "" });
    for by in Expectation::ALL {
        let of: Vec<_> = verdicts.iter().filter(|verdict| verdict.by == by).collect();
        let [holds, close, violated] =
            [Judgement::Holds, Judgement::TooClose, Judgement::Violated].map(|is| count(&of, is));
        let _ = writeln!(f, "({}) {}", by.number(), by.meaning());
        let _ = write!(f, "    holds: {holds}, violated: {violated}, too close to call: {close}");
        match worst(of.iter().copied()) {
            Some(worst) => {
                let _ = writeln!(
                    f,
                    "\n    worst: {}, {}: {} takes {} times as long as {}",
                    worst.layout.name(),
                    worst.operation.title(),
                    worst.left.0,
                    worst.factor,
                    worst.right.0
                );
            }
            None => f.push('\n'),
        }
    }
    if let Some(calibration) = &results.calibration {
        let best = calibration.best();
        let [slower, faster] = Calibration::slower_and_faster(&calibration.compared, calibration.chosen);
        let _ = writeln!(
            f,
            "Fitted costs (model: {}): rank correlation with packing {:.3}, of the default {:.3};\n    \
             of {} layouts, least-cost trees are slower than as described: {slower}, faster: {faster}",
            best.pack.model.title(),
            best.of_pack,
            calibration.default[0],
            calibration.compared.len()
        );
    }
    let ours = results.layouts.iter().filter_map(|layout| {
        let pack = |way: &str| Some(layout.way(way)?.times.get(&Operation::Pack)?.median());
        let typed = layout.ways.iter().find(|way| way.kind == Kind::Datatype)?.times.get(&Operation::Pack)?;
        Some(typed.median() / pack("plan")?)
    });
    let mut ours: Vec<f64> = ours.collect();
    if !ours.is_empty() {
        let middle = crate::statistics::median(&mut ours);
        let _ = writeln!(
            f,
            "Our plans pack {middle:.1} times as fast as MPI_Pack (median of {} layouts)",
            ours.len()
        );
    }
    f
}

/// Returns a time in seconds since 1970 as a date in universal time: `2026-11-23 09:12`.
pub fn date(seconds: u64) -> String {
    // Years are counted from March, so that the leap day is the last day (Hinnant's civil calendar).
    let (days, minutes) = ((seconds / 86_400) as i64 + 719_468, seconds / 60 % 1440);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00"),
            (951_782_400, "2000-02-29 00:00"),
            (1_795_425_120, "2026-11-23 09:12"),
            (4_107_542_399, "2100-02-28 23:59"),
        ] {
            assert_eq!(super::date(seconds), date);
        }
    }
}
