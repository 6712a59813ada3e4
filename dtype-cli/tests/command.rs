//! Tests of the command as users run it: JSON in, JSON out, exit codes and messages. The other forms of input
//! are in `inputs.rs`.

mod common;

use std::{
    io::Write,
    process::{Command, Stdio},
};

use common::dtype;

fn answers(arguments: &[&str], input: &str, expected: &str) {
    assert_eq!(dtype(arguments, input), (0, format!("{expected}\n"), String::new()));
}

#[test]
fn reconstruct_prints_cost_optimality_and_tree() {
    answers(
        &["reconstruct"],
        r#"{"types": ["i32","f64","f64"], "displacements": [0,8,16]}"#,
        r#"{"cost":20,"optimality":"proven","tree":{"strc":{"displacements":[0,8],"children":[{"leaf":"i32"},{"vec":{"count":2,"stride":8,"child":{"leaf":"f64"}}}]}}}"#,
    );
    answers(
        &["reconstruct", "--shape", "extended-path"],
        r#"{"type": "u8", "displacements": [0,1,2,3,10,11,12,13,14]}"#,
        r#"{"cost":14,"optimality":"proven","tree":{"idxbuc":{"stride":1,"buckets":[4,5],"displacements":[0,10],"child":{"leaf":"u8"}}}}"#,
    );
    answers(
        &["reconstruct", "--shape", "path", "--cost", "processing"],
        r#"{"type": "c64", "displacements": [7]}"#,
        r#"{"cost":9,"optimality":"proven","tree":{"idx":{"displacements":[7],"child":{"leaf":"c64"}}}}"#,
    );
}

#[test]
fn base_types_may_have_their_names_of_mpi() {
    answers(
        &["reconstruct"],
        r#"{"types": ["MPI_LONG","MPI_DOUBLE_INT","MPI_DOUBLE_INT"], "displacements": [0,8,24]}"#,
        r#"{"cost":20,"optimality":"proven","tree":{"strc":{"displacements":[0,8],"children":[{"leaf":"MPI_LONG"},{"vec":{"count":2,"stride":16,"child":{"leaf":"MPI_DOUBLE_INT"}}}]}}}"#,
    );
    answers(
        &["flatten"],
        r#"{"type": "double", "displacements": [0, 8]}"#,
        r#"{"types":["f64","f64"],"displacements":[0,8]}"#,
    );
    let (code, _, error) = dtype(&["reconstruct"], r#"{"type": "longs", "displacements": [0]}"#);
    assert_eq!(code, 2);
    assert!(error.contains("`longs` is not a base type; the base types are i8 i16 i32"), "{error}");
    assert!(error.contains("such as MPI_LONG, and C's types, such as double"), "{error}");
}

#[test]
fn costs_are_listed_under_all_models() {
    let (code, answer, _) = dtype(&["cost"], "idx([0, 8, 16, 24], f64)");
    let expected = "cost model         given       least\n\
                    storage               12           8  proven\n\
                    processing            21          17  proven\n\
                    penalty                6           2  proven\n";
    assert_eq!((code, answer.as_str()), (0, expected));
}

#[test]
fn a_cost_file_may_price_the_data() {
    let file = std::env::temp_dir().join(format!("dtype-priced-data-{}.json", std::process::id()));
    std::fs::write(&file, r#"{"leaf":0,"vec":9,"idx":40,"lookup":10,"block":100,"byte":1}"#).unwrap();
    let path = file.to_str().unwrap();
    let width = path.len() + 2;
    let (code, answer, _) = dtype(&["cost", "--cost", path], "idx([0, 16, 32, 48], f64)");
    let expected = format!(
        "{:<width$}{:>12}{:>12}\n{path:<width$}{:>12}{:>12}  proven\n{:<width$}{:>12}{:>12}\n",
        "cost model", "given", "least", 80, 9, "  with its data", 512, 441
    );
    assert_eq!(code, 0);
    assert!(answer.starts_with(&expected), "{answer}");
    let (_, answer, _) = dtype(&["cost", "--cost", path, "--format", "json"], "idx([0, 16, 32, 48], f64)");
    assert!(answer.contains(r#""given":80,"least":9,"optimality":"proven","time":[512,441]}"#), "{answer}");
    assert_eq!(answer.matches("time").count(), 1);
    let (_, answer, _) = dtype(&["cost", "--cost", path], "vec(1000000000000, 16, double)");
    assert!(answer.contains("  108000000000009  108000000000009\n"), "{answer}");
    std::fs::write(&file, "[]").unwrap();
    let (code, _, error) = dtype(&["cost", "--cost", path], "double");
    assert!(code == 2 && error.contains("invalid type: sequence"), "{error}");
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_layout_is_explained() {
    let (code, answer, error) = dtype(&["explain"], "subarray([4, 6], [2, 3], [1, 2], f64)");
    let expected = "6 entries: 48 bytes of data in 72, lower bound 0, extent 192

2 runs:
  3 × f64 @ 64 stride 8
  3 × f64 @ 112 stride 8

repeated prefixes:
  the first 1 entry, 6 times, at irregular distances
  the first 3 entries, 2 times, 48 bytes apart

as given, cost 19:
  idx 1 at [64]                19  it only moves its child
  └─ vec 2, stride 48          13  equal distances; as an idx, cost 15
     └─ vec 3, stride 8         8  equal distances; as an idx, cost 11
        └─ f64                  3

least-cost tree, cost 14 (proven):
  idx 6 at [64, 72, 80, 112, 120, 128]        14  2 different distances
  └─ f64                                       3
";
    let (answer, times) = answer.split_once("\npredicted time of ").unwrap();
    assert_eq!((code, answer, error.as_str()), (0, expected, ""));
    assert!(times.starts_with("48 bytes in 2 listed blocks of 128 in memory,\n"), "{times}");
    let (_, answer, _) = dtype(&["explain", "--count", "1000"], "subarray([4, 6], [2, 3], [1, 2], f64)");
    assert!(answer.contains("\npredicted time of 48000 bytes in 2000 listed blocks"), "{answer}");
    let (_, answer, _) = dtype(&["explain"], "vec(9, 8, f64)");
    assert!(!answer.contains("predicted"), "{answer}");
    let (_, answer, _) = dtype(&["explain", "--type", "u8"], "0 1 2 3 9 8\n");
    assert!(answer.contains("repeated prefixes:\n  the first 1 entry, 6 times, at irregular"), "{answer}");
    let (_, answer, _) = dtype(&["explain"], "vec(1000000000000, 8, strc([0, 4], [i32, f32]))");
    assert!(answer.contains("2000000000000 entries: 8000000000000 bytes of data"), "{answer}");
    let (code, answer, _) = dtype(&["explain"], "vec(0, 8, f64)");
    assert!(code == 0 && answer.starts_with("0 entries: 0 bytes of data in 0"), "{answer}");
}

#[test]
fn two_descriptions_are_compared() {
    let folder = std::env::temp_dir();
    let write = |name: &str, text: &str| {
        let path = folder.join(format!("dtype-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let row = write("row", "vec(1000000000, 8, f64)");
    let rows = write("rows", "vec(1000, 8000000, vec(1000000, 8, f64))");
    let other = write("other", "vec(1000000000, 16, f64)");
    let (code, answer, _) = dtype(&["compare", &row, &rows], "");
    assert_eq!(code, 0);
    assert!(answer.starts_with("the same type map and bounds\n"), "{answer}");
    assert!(answer.ends_with(&format!("{row} costs 5 less: 8 instead of 13\n")), "{answer}");
    let (code, answer, _) = dtype(&["compare", &row, &other, "--format", "json"], "");
    assert_eq!(
        (code, answer.as_str()),
        (1, "{\"same_type_map\":false,\"same_bounds\":false,\"costs\":[8,8]}\n")
    );
    for path in [row, rows, other] {
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn normalize_prints_the_cheapest_tree_of_a_huge_layout() {
    answers(
        &["normalize"],
        r#"{"vec":{"count":1000000,"stride":8000,"child":{"vec":{"count":1000,"stride":8,"child":{"leaf":"f64"}}}}}"#,
        r#"{"cost":8,"optimality":"proven","tree":{"vec":{"count":1000000000,"stride":8,"child":{"leaf":"f64"}}}}"#,
    );
}

#[test]
fn a_dag_is_priced_folded() {
    let map = r#"{"type":"u8","displacements":[0,1,2,3,4,5,6,7,10,12,14,16,18,20,22,24,26,28]}"#;
    let (_, answer, _) = dtype(&["reconstruct", "--shape", "dag"], map);
    assert!(answer.starts_with(r#"{"cost":22,"optimality":"upper-bound","tree":{"strc":"#), "{answer}");
}

#[test]
fn flatten_prints_the_type_map_of_a_tree() {
    answers(
        &["flatten"],
        r#"{"strc":{"displacements":[0,8],"children":[{"leaf":"byte"},{"vec":{"count":2,"stride":-4,"child":{"leaf":"f32"}}}]}}"#,
        r#"{"types":["byte","f32","f32"],"displacements":[0,8,4]}"#,
    );
    answers(
        &["flatten", "--format", "text"],
        r#"{"vec":{"count":100000,"stride":8,"child":{"leaf":"f64"}}}"#,
        "100000 × f64 @ 0 stride 8",
    );
}

#[test]
fn what_flatten_prints_reconstruct_reads() {
    let tree =
        r#"{"idx":{"displacements":[0,9,2],"child":{"vec":{"count":4,"stride":2,"child":{"leaf":"u8"}}}}}"#;
    let (_, map, _) = dtype(&["flatten"], tree);
    let (_, answer, _) = dtype(&["reconstruct", "--shape", "path"], &map);
    assert_eq!(answer, format!(r#"{{"cost":16,"optimality":"proven","tree":{tree}}}"#) + "\n");
}

#[test]
fn a_long_map_that_nothing_describes_more_cheaply_is_proven() {
    let displacements: Vec<String> = (0..1_000_000).map(|i| (8 * i).to_string()).collect();
    let map = format!(r#"{{"type":"f64","displacements":[{}]}}"#, displacements.join(","));
    let row = r#"{"vec":{"count":1000000,"stride":8,"child":{"leaf":"f64"}}}"#;
    answers(&["reconstruct"], &map, &format!(r#"{{"cost":8,"optimality":"proven","tree":{row}}}"#));
}

#[test]
fn fields_are_kept_at_any_cost() {
    let file = std::env::temp_dir().join(format!("dtype-limit-{}.json", std::process::id()));
    std::fs::write(&file, r#"{"strc":18446744073709551615}"#).unwrap();
    let map = r#"{"types":["i32","f64","u8"],"displacements":[0,8,16]}"#;
    let (code, answer, _) = dtype(&["reconstruct", "--cost", file.to_str().unwrap()], map);
    let strc =
        r#"{"strc":{"displacements":[0,8,16],"children":[{"leaf":"i32"},{"leaf":"f64"},{"leaf":"u8"}]}}"#;
    let expected = format!(r#"{{"cost":18446744073709551615,"optimality":"upper-bound","tree":{strc}}}"#);
    assert_eq!((code, answer), (0, expected + "\n"));
    std::fs::remove_file(&file).unwrap();
}

/// A full disk is an error. A reader that closes the pipe is not.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_written_is_an_error() {
    let start = |output: Stdio| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dtype"))
            .arg("flatten")
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(br#"{"leaf":"u8"}"#).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let (code, message) = start(full.into());
    assert!(code == 2 && message.starts_with("dtype: standard output: No space left"), "{code}: {message}");
    assert_eq!(start(Stdio::piped()), (0, String::new()));
}

#[test]
fn a_cost_file_sets_the_constants() {
    let file = std::env::temp_dir().join(format!("dtype-cost-{}.json", std::process::id()));
    std::fs::write(
        &file,
        r#"{"leaf":3,"vec":50,"idx":5,"strc":5,"idxbuc":7,"lookup":1,"weighting":"storage"}"#,
    )
    .unwrap();
    let map = r#"{"type": "f64", "displacements": [0,8,16]}"#;
    let arguments = ["reconstruct", "--cost", file.to_str().unwrap()];
    answers(
        &arguments,
        map,
        r#"{"cost":11,"optimality":"proven","tree":{"idx":{"displacements":[0,8,16],"child":{"leaf":"f64"}}}}"#,
    );
    std::fs::write(&file, r#"{"leaf":3,"vector":50}"#).unwrap();
    let (code, _, message) = dtype(&arguments, map);
    assert_eq!(code, 2);
    assert!(message.contains("unknown field `vector`, expected one of `leaf`, `vec`"), "{message}");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn bad_input_gives_a_message_and_exit_code_2() {
    let cases: [(&[&str], &str, &str); 10] = [
        (&["reconstruct"], r#"{"type": "f64", "displacements": []}"#, "the type map is empty"),
        (&["reconstruct"], r#"{"types": ["f64"], "displacements": [0, 8]}"#, "1 types and 2 displacements"),
        (&["reconstruct"], r#"{"type": "f65", "displacements": [0]}"#, "`f65` is not a base type"),
        (
            &["reconstruct"],
            r#"{"displacements": [0]}"#,
            "either `types`, one for each displacement, or `type`",
        ),
        (&["reconstruct"], "{", "standard input: EOF while parsing"),
        (
            &["reconstruct"],
            r#"{"type": "f64", "displacements": [-9223372036854775808, 9223372036854775807]}"#,
            "beyond the limit of i64",
        ),
        (
            &["reconstruct", "--shape", "path"],
            r#"{"types": ["f64", "u8"], "displacements": [0, 8]}"#,
            "the base types of entries 0 and 1 differ; reconstruct a tree instead",
        ),
        (&["flatten"], r#"{"vec":{"count":3,"child":{"leaf":"f64"}}}"#, "missing field `stride`"),
        (&["flatten"], r#"{"leaf":"f65"}"#, "`f65` is not a base type; the base types are i8"),
        (&["flatten", "no-such-file"], "", "no-such-file: No such file"),
    ];
    for (arguments, input, expected) in cases {
        let (code, output, message) = dtype(arguments, input);
        assert_eq!((code, output.as_str()), (2, ""));
        assert!(message.starts_with("dtype: ") && message.contains(expected), "{message}");
    }
    assert_eq!(dtype(&["reconstruct", "--shape", "circle"], "").0, 2);
}

#[test]
fn shells_complete_it_and_it_has_manual_pages() {
    let (code, script, _) = dtype(&["completions", "bash"], "");
    assert!(
        code == 0 && script.contains("--function") && script.contains("dtype__subcmd__compare"),
        "{script}"
    );
    let (code, page, _) = dtype(&["man"], "");
    assert!(code == 0 && page.contains(".TH dtype 1") && page.contains("dtype\\-normalize(1)"), "{page}");
    let (code, page, _) = dtype(&["man", "compare"], "");
    assert!(code == 0 && page.contains("which is cheaper"), "{page}");
    let (code, _, message) = dtype(&["man", "twist"], "");
    assert_eq!(
        (code, message.as_str()),
        (2, "dtype: `twist` is not a command of `dtype`; `dtype help` lists the commands\n")
    );
}

/// Fortran lines have at most 132 columns. The least `i64` cannot be written as one literal in C or Fortran.
#[test]
fn programs_of_huge_layouts_keep_to_their_languages() {
    let wide = "strc([0, 8], [vec(2147483647, -1000000000, vec(2, -500000000000000000, u8)), f64])";
    let (code, program, _) = dtype(&["convert", "--format", "fortran"], wide);
    assert_eq!(code, 0);
    let longest = program.lines().filter(|line| !line.starts_with('!')).map(str::len).max();
    assert!(longest <= Some(132), "{program}");
    for (format, least) in [
        ("c", "{-9223372036854775807 - 1}"),
        ("fortran", "[-9223372036854775807_MPI_ADDRESS_KIND - 1_MPI_ADDRESS_KIND]"),
    ] {
        let (code, program, _) = dtype(&["convert", "--format", format], "idx([-9223372036854775808], u8)");
        let code_of = |line: &&str| !line.starts_with([' ', '!', '*']) || line.starts_with("    ");
        let has_least = program.lines().filter(code_of).any(|line| line.contains("775808"));
        assert!(code == 0 && program.contains(least) && !has_least, "{program}");
    }
}

#[test]
fn what_mpi4py_has_no_name_for_is_refused() {
    let (code, _, message) = dtype(&["convert", "--format", "python"], "vec(2, 16, MPI_2REAL)");
    assert!(code == 2 && message.contains("mpi4py has no name for MPI_2REAL"), "{message}");
    let (code, program, _) = dtype(&["convert", "--format", "python"], "vec(2, 16, MPI_2INT)");
    assert!(code == 0 && program.contains("MPI.TWOINT.Create_hvector(2, 1, 16)"), "{program}");
}

#[test]
fn run_names_what_is_not_there() {
    for (arguments, why) in [
        (&["--reprt", "x", "sh"][..], "`dtype run` has no option `--reprt`"),
        (&["--report", "no-folder/x", "sh"], "--report: there is no folder"),
        (&["--report", ".", "sh"], "--report: . is a folder"),
        (&["sh", "./no-program"], "there is no file ./no-program"),
        (&["sh", "no-script.py"], "there is no file no-script.py"),
        (&["sh", "-c", "true"], "no program of this command is linked with an MPI library: not sh"),
    ] {
        let (code, _, message) = dtype(&[&["run"], arguments].concat(), "");
        assert!(code == 2 && message.contains(why), "{arguments:?}: {message}");
    }
}

#[test]
fn report_adds_the_ranks_and_draws_the_layouts() {
    use dtype_core::{BaseType, Bounds, TypeTree};
    use dtype_report::{Layout, Report, Samples, Usage};
    let rank = |messages: u64| {
        let tree = TypeTree::index([0, 16, 32, 48], TypeTree::Leaf(BaseType::F64));
        let usage = Usage {
            built: "indexed_block(f64)".into(),
            place: "main (a.c:3)".into(),
            layout: Some(Layout { tree, bounds: Bounds::of_extent(56), least: None }),
            sizes: [32, 32],
            committed: 1,
            messages,
            bytes: messages * 32,
            packed: messages,
            worth: messages * 32,
            seconds: messages as f64 * 1e-6,
            samples: Samples { bytes: 32, plan: 1e-6, library: 5e-6 },
            ..Usage::default()
        };
        // Among these rows, the last one has the most bytes and the first one the most messages.
        let other = |i: u64| Usage {
            place: format!("other (a.c:{i})"),
            layout: None,
            bytes: i << 20,
            packed: 0,
            messages: 30 - i,
            worth: 0,
            seconds: 0.0,
            samples: Samples::default(),
            reasons: [("one block".to_owned(), 30 - i)].into(),
            ..usage.clone()
        };
        let datatypes = (1..25).map(other).chain([usage.clone()]).collect();
        let report = Report { library: "Some MPI 1.2".into(), ranks: 1, of: 2, packs: true, datatypes };
        serde_json::to_string(&report).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let file = file.to_str().unwrap();
    let (code, _, message) = dtype(&["report", file], "");
    assert_eq!(code, 2);
    assert!(message.contains("`dtype run --report "), "{message}");
    // The third file is left over from a larger job.
    for (i, messages) in [100, 20, 7].into_iter().enumerate() {
        std::fs::write(format!("{file}.{i}.json"), rank(messages)).unwrap();
    }
    let of_one = dtype(&["report", "--format", "json", &format!("{file}.1")], "");
    assert_eq!(of_one, dtype(&["report", "--format", "json", &format!("{file}.1.json")], ""));
    assert_eq!(of_one.0, 0);
    // `dtype report --format json FILE > FILE.json` creates this file before the command reads.
    std::fs::write(format!("{file}.json"), "").unwrap();
    let (code, answer, message) = dtype(&["report", file], "");
    assert_eq!((code, message.as_str()), (0, ""));
    let begins = "Some MPI 1.2, 2 of 2 ranks: 120 of 960 messages were packed.\nPacking took 120.0 us and \
                  first use 0.0 us; MPI_Pack would have taken 600.0 us: 480.0 us won, 240.0 us per \
                  rank.\n";
    assert!(answer.starts_with(begins) && answer.contains("\n840 messages not packed: one block.\n"));
    // The answer shows 20 of the 25 rows, those with the most time won first.
    let table = |answer: &str| -> Vec<String> {
        let table = answer.split("  in all\n").next().unwrap();
        table.lines().filter_map(|line| Some(line.split_once("committed in ")?.1.to_owned())).collect()
    };
    assert_eq!(table(&answer).len(), 20);
    assert_eq!(table(&answer)[..2], ["main (a.c:3)", "other (a.c:24)"]);
    assert!(answer.contains("\n… and 5 more: `dtype report --all` shows them\n"), "{answer}");
    let first =
        "     120      120      3.8 kB   120.0 us     0.0 us   600.0 us   480.0 us  indexed_block(f64)\n";
    assert!(answer.contains(first), "{answer}");
    assert!(answer.contains("  in all\n\nindexed_block(f64), committed in main (a.c:3)"), "{answer}");
    assert!(answer.contains("least-cost tree (proven)"), "{answer}");
    for (sort, first) in [("messages", "main (a.c:3)"), ("bytes", "other (a.c:24)"), ("time", "main (a.c:3)")]
    {
        let (code, answer, _) = dtype(&["report", "--sort", sort, "--all", file], "");
        assert_eq!((code, table(&answer).len(), table(&answer)[0].as_str()), (0, 25, first), "{sort}");
        assert!(!answer.contains(" more"), "{answer}");
    }
    let (code, answer, _) = dtype(&["report", "--format", "json", &format!("{file}.1.json")], "");
    let sum: Report = serde_json::from_str(&answer).unwrap();
    assert_eq!((code, sum.ranks, sum.datatypes[0].messages, sum.datatypes.len()), (0, 1, 20, 25));
    assert!(sum.datatypes[0].layout.as_ref().unwrap().least.is_some());
    std::fs::write(format!("{file}.1.json"), "{}").unwrap();
    let (code, _, message) = dtype(&["report", file], "");
    assert!(code == 2 && message.contains("seen.1.json: this is not a report of a rank"), "{message}");
}
