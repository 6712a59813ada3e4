//! Tests of the guidelines report: the contents of the page for known results.

#[cfg(feature = "browser")]
mod browser;

use std::collections::BTreeMap;

use dtype_guidelines::{
    groups::{Benchmark, Expectation, Expected},
    report::{page, summary},
    results::{Kind, Layout, Machine, Measured, Operation, Results},
    statistics::Samples,
};

/// Returns a way whose times are `time` microseconds, or up to two percent more.
fn way(name: &str, kind: Kind, time: f64) -> Measured {
    let round = |i: usize| time * (1.0 + (i % 3) as f64 * 0.01);
    let samples = Samples(vec![(0..5).map(round).collect(); 4]);
    let times = [Operation::Pack, Operation::PingPong].map(|operation| (operation, samples.clone()));
    let (name, calls) = (name.to_owned(), format!("{name}(10 < 20 & more)"));
    Measured { name, kind, calls, cost: Some(8), times: BTreeMap::from(times), wrong: None }
}

/// Returns results of a library that takes `factor` times as long with a struct as with a vector.
fn results(factor: f64) -> Results {
    let layout = |size: u64| {
        let time = size as f64 / 100.0;
        Layout {
            benchmark: Benchmark::Strided,
            series: "f64, stride 16".to_owned(),
            size: format!("{size} elements"),
            bytes: 8 * size,
            ways: vec![
                way("by hand", Kind::ByHand, time),
                way("vector", Kind::Datatype, time),
                way("struct", Kind::Datatype, factor * time),
            ],
            expected: vec![Expected {
                by: Expectation::Normalization,
                left: "struct".to_owned(),
                right: "vector".to_owned(),
            }],
            picture: String::new(),
        }
    };
    Results {
        library: "openmpi-4.1.4".to_owned(),
        version: "Open MPI 4.1.4".to_owned(),
        program: "0.1.0".to_owned(),
        machine: Machine { processor: "a <b>".to_owned(), cores: 2, memory: 4, system: "linux".to_owned() },
        command: "guidelines".to_owned(),
        date: "2026-11-23 09:12".to_owned(),
        ranks: 2,
        quick: true,
        seconds: 1.0,
        passes: 4,
        partial: false,
        layouts: [1000, 10_000].map(layout).to_vec(),
        calibration: None,
    }
}

#[test]
fn the_page_says_what_is_violated_and_by_how_much() {
    let page = page(&[results(3.0)], &[]).unwrap();
    assert!(page.contains("violated by a factor 3.00 (±"), "{page}");
    assert_eq!(page.matches("<figure class=\"plot\">").count(), 2);
    assert!(page.contains("a &lt;b&gt;") && page.contains("(10 &lt; 20 &amp; more)"));
    // A page that needs no network contains no address except that of SVG.
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
}

#[test]
fn what_is_no_slower_is_said_to_hold() {
    let summary = summary(&results(1.0));
    assert!(summary.contains("(3) Choosing a more general constructor costs nothing.\n    holds: 4,"));
    assert!(!summary.contains("worst:"), "{summary}");
}

#[test]
fn a_partial_run_says_so() {
    let page = page(&[Results { partial: true, ..results(1.0) }], &[]).unwrap();
    assert!(page.contains("class=\"partial\""));
}

#[test]
fn an_earlier_report_tells_what_has_changed() {
    let after = page(&[results(1.0)], &[results(3.0)]).unwrap();
    assert!(after.contains("0 held before and are violated now"), "{after}");
    assert!(after.contains("was violated before, holds now"));
    assert!(after.contains("0.33"));
}

/// Checks that all text of a file is escaped on the page.
#[test]
fn what_a_file_says_is_no_part_of_the_page() {
    let evil = || "<script>\"&".to_owned();
    let mut wrong = results(3.0);
    (wrong.library, wrong.version, wrong.program) = (evil(), evil(), evil());
    (wrong.command, wrong.date, wrong.machine.system) = (evil(), evil(), evil());
    wrong.machine.processor = evil();
    for layout in &mut wrong.layouts {
        layout.series = evil();
        layout.size += "<script>";
        for way in &mut layout.ways {
            (way.calls, way.wrong) = (evil(), Some(evil()));
        }
    }
    let page = page(&[wrong.clone()], &[wrong]).unwrap();
    assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
}

#[test]
fn two_results_with_nothing_in_common_are_not_compared() {
    let other = Results { layouts: Vec::new(), ..results(1.0) };
    let page = page(&[results(1.0)], &[other]).unwrap();
    assert!(page.contains("The two reports have no times of the library in common") && !page.contains("NaN"));
}

#[test]
fn what_is_no_results_is_refused_with_what_is_wrong() {
    let folder = std::env::temp_dir().join(format!("dtype-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("results-x.json");
    let text = serde_json::to_string(&results(1.0)).unwrap();
    let mut without = results(1.0);
    without.layouts[0].ways[1].times.insert(Operation::Pack, Samples::default());
    let without = serde_json::to_string(&without).unwrap();
    for (wrong, says) in [
        (text.replacen("10.0", "-10.0", 1), "f64, stride 16: 1000 elements, by hand: a value is not a time"),
        (text.replacen("10.0", "1e300", 1), "a value is not a time"),
        (text.replacen("10.0", "null", 1), "not results of this program"),
        (without, "f64, stride 16: 1000 elements, vector: a value is not a time"),
        (text[..text.len() / 2].to_owned(), "not results of this program"),
        (String::new(), "not results of this program"),
    ] {
        std::fs::write(&file, wrong).unwrap();
        let error = format!("{:#}", Results::load(&folder).unwrap_err());
        assert!(error.contains(says), "{says}: {error}");
    }
    std::fs::remove_file(&file).unwrap();
    results(1.0).save(&folder).unwrap();
    assert_eq!(Results::load(&folder).unwrap().len(), 1);
    results(1.0).keep_earlier(&folder).unwrap();
    assert!(Results::load(&folder).is_err());
    let earlier = Results::load(&folder.join("earlier-openmpi-4.1.4-2026-11-23-09-12.json")).unwrap();
    assert_eq!(earlier[0].date, results(1.0).date);
    std::fs::remove_dir_all(&folder).unwrap();
}
