//! Tests of the program `guidelines` under `mpiexec`: a complete run, an interrupted run, and errors.
#![cfg(feature = "mpi")]

use std::{
    env, fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use dtype_core::NodeCosts;
use dtype_guidelines::results::{Operation, Results};
use xtask::launch;

/// A folder for one test, which is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("dtype-guidelines-{name}-{}", std::process::id())))
    }

    fn results(&self) -> Results {
        Results::load(&self.0).unwrap().remove(0)
    }

    fn page(&self) -> String {
        fs::read_to_string(self.0.join("guidelines.html")).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover in a folder for temporary files is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn guidelines(ranks: usize, report: &Path, options: &[&str]) -> Command {
    let mut command = launch::on_ranks(launch::mpiexec(), ranks, env!("CARGO_BIN_EXE_guidelines"));
    command.arg("--quick").arg("--report").arg(report).args(options);
    command
}

fn finished(command: &mut Command) -> launch::Finished {
    launch::run(command, Duration::from_mins(4)).expect("mpiexec can be started")
}

/// Interrupts a group of processes as Ctrl-C on a terminal does.
fn interrupt(group: &Child) {
    let status = Command::new("kill").args(["-INT", "--", &format!("-{}", group.id())]).status();
    assert!(status.unwrap().success());
}

#[test]
fn everything_is_measured_and_reported_and_more_can_be_added() {
    let folder = Folder::new("whole");
    let brief = ["--seconds", "1", "--progress", "nothing"];
    let run = finished(&mut guidelines(2, &folder.0, &brief));
    assert!(run.status.is_some_and(|status| status.success()), "{}", run.output);
    assert!(run.output.contains("Fitted costs"), "{}", run.output);
    let results = folder.results();
    assert!(!results.partial && results.ranks == 2 && results.passes >= 1);
    for layout in &results.layouts {
        for way in &layout.ways {
            assert!(way.wrong.is_none(), "{}: {} {:?}", layout.name(), way.name, way.wrong);
            let operation = if way.name == "packed wire" { Operation::PingPong } else { Operation::Pack };
            assert!(way.times[&operation].median() > 0.0, "{}: {}", layout.name(), way.name);
        }
    }
    let gathered = results.layouts.iter().flat_map(|layout| &layout.ways);
    assert!(gathered.filter(|way| way.times.contains_key(&Operation::PackedAllGather)).count() > 5);
    let calibration = results.calibration.as_ref().unwrap();
    assert!(calibration.best().of_pack > 0.5, "{}", calibration.best().of_pack);
    // A price that is fitted to the times of a busy machine may be 0, also that of a byte.
    for (suffix, prices) in [("", calibration.best().pack), ("-ping-pong", calibration.best().ping_pong)] {
        let file = folder.0.join(format!("cost-{}{suffix}.json", results.library));
        let costs: NodeCosts = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        assert_eq!(costs, prices.costs(), "{prices:?}");
        assert!(prices.each.iter().any(|price| *price > 0.0), "{prices:?}");
    }
    let page = folder.page();
    assert!(page.contains("All verdicts on") && !page.contains("class=\"partial\""));

    let run = finished(&mut guidelines(2, &folder.0, &[&brief[..], &["--more"]].concat()));
    assert!(run.status.is_some_and(|status| status.success()), "{}", run.output);
    let more = folder.results();
    let passes = |of: &Results| of.layouts[0].ways[0].times[&Operation::Pack].0.len();
    assert!(passes(&more) >= passes(&results) + 2 && more.passes > results.passes);
    assert!(more.calibration.is_some());
    let run = finished(&mut guidelines(3, &folder.0, &["--more"]));
    assert!(run.status.is_some_and(|status| !status.success()));
    assert!(run.output.contains("another number of ranks"), "{}", run.output);

    let again = finished(&mut guidelines(2, &folder.0, &["--baseline", folder.0.to_str().unwrap()]));
    assert!(again.status.is_some_and(|status| !status.success()));
    assert!(
        again.output.contains("the folders of the report and of its baseline must differ"),
        "{}",
        again.output
    );
}

#[test]
fn who_interrupts_has_a_report_of_what_was_measured() {
    let folder = Folder::new("interrupted");
    let log = env::temp_dir().join(format!("dtype-guidelines-log-{}", std::process::id()));
    let mut run = guidelines(2, &folder.0, &["--progress", "lines"])
        .process_group(0)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let said = || fs::read_to_string(&log).unwrap();
    let wait = |run: &mut Child, is_so: &dyn Fn(&mut Child) -> bool| {
        let begun = Instant::now();
        while !is_so(run) {
            assert!(begun.elapsed() < Duration::from_mins(2), "{}", said());
            thread::sleep(Duration::from_millis(50));
        }
    };
    wait(&mut run, &|_| said().contains("pass 1"));
    thread::sleep(Duration::from_secs(2));
    interrupt(&run);
    wait(&mut run, &|run| run.try_wait().unwrap().is_some());
    // If the launcher ends first, the report is still being written.
    wait(&mut run, &|_| folder.0.join("guidelines.html").exists());
    assert!(folder.results().partial);
    assert!(folder.page().contains("class=\"partial\""), "{}", said());
    fs::remove_file(log).unwrap();
}

#[test]
fn what_cannot_be_is_said_on_all_ranks() {
    let folder = Folder::new("refused");
    fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("file");
    fs::write(&file, "no folder").unwrap();
    let none = folder.0.join("none");
    for (ranks, report, more, says) in [
        (1, &folder.0, &[][..], "a message needs two ranks"),
        (2, &file, &[], "the folder of the report cannot be created"),
        (2, &folder.0, &["--baseline", none.to_str().unwrap()], "none"),
        (2, &folder.0, &["--page"], "there is no file results-LIBRARY.json"),
    ] {
        let run = finished(&mut guidelines(ranks, report, more));
        assert!(run.status.is_some_and(|status| !status.success()), "{says}: {}", run.output);
        assert!(run.output.contains(says), "{says}: {}", run.output);
    }
}
