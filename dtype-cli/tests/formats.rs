//! Snapshots of every format that the command writes, for a layout in an array and for a struct.
//!
//! `INSTA_UPDATE=always cargo test -p dtype-cli --test formats` accepts the current output. Review it
//! afterwards.

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Runs `dtype` and returns its answer without escape characters, so that colours appear in brackets.
fn dtype(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dtype"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap().replace('\u{1b}', "")
}

/// Two counts, followed by two rows of a matrix and the beginning of a third row.
const LAYOUT: &str = "strc([0, 16], [vec(2, 4, int), idxbuc(8, [4, 4, 2], [0, 40, 80], double)])";

macro_rules! format_is {
    ($test:ident, $format:literal) => {
        #[test]
        fn $test() {
            insta::assert_snapshot!(dtype(&["normalize", "--format", $format], LAYOUT));
        }
    };
}

format_is!(json, "json");
format_is!(text, "text");
format_is!(notation, "notation");
format_is!(calls, "calls");
format_is!(c, "c");
format_is!(fortran, "fortran");
format_is!(fortran_mpi, "fortran-mpi");
format_is!(python, "python");
format_is!(rust, "rust");
format_is!(rsmpi, "rsmpi");
format_is!(dot, "dot");
format_is!(svg, "svg");
format_is!(ansi, "ansi");

#[test]
fn each_format_has_a_snapshot() {
    /// The formats that a test of their own compares.
    const OTHERS: [(&str, &str); 1] = [("html", "a_page")];
    let help = dtype(&["normalize", "--help"], "");
    let (_, formats) = help.split_once("--format <FORMAT>").unwrap();
    let (formats, _) = formats.split_once("\n\n      --").unwrap();
    let names = formats.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next());
    let snapshots = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
    let mut count = 0;
    for name in names {
        let of = OTHERS.iter().find(|(other, _)| *other == name).map_or(name, |(_, of)| of).replace('-', "_");
        assert!(snapshots.join(format!("formats__{of}.snap")).exists(), "{name} has no snapshot");
        count += 1;
    }
    assert!(count >= 14, "{help}");
}

#[test]
fn a_part_of_an_array_in_rust() {
    let block = "subarray([8, 8, 8], [2, 6, 8], [3, 1, 0], double)";
    insta::assert_snapshot!(dtype(&["normalize", "--format", "rust", "--function", "block"], block));
}

#[test]
fn code_for_a_library_has_the_calls_that_suit_it() {
    let calls =
        |library| dtype(&["normalize", "--format", "calls", "--library", library], "vec(4096, 80, double)");
    assert_eq!(
        calls("mpich"),
        "t0 = MPI_Type_create_resized(MPI_DOUBLE, 0, 80)\n\
         t1 = MPI_Type_contiguous(4096, t0)\n\
         t2 = MPI_Type_create_resized(t1, 0, 327608)\n\
         MPI_Type_commit(t2)\n"
    );
    let plain = "t0 = MPI_Type_create_hvector(4096, 1, 80, MPI_DOUBLE)\nMPI_Type_commit(t0)\n";
    assert_eq!(["any", "openmpi", "intel"].map(calls), [plain; 3]);
    let rows = "vec(64, 2048, vec(128, 8, double))";
    let calls = dtype(&["normalize", "--format", "calls", "--library", "mpich-4.3"], rows);
    assert_eq!(
        calls,
        "t0 = MPI_Type_create_hvector(64, 128, 2048, MPI_DOUBLE)\n\
         t1 = MPI_Type_create_struct(16, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], \
         [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], \
         [t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0, t0])\n\
         MPI_Type_commit(t1)\n"
    );
}

#[test]
fn a_record_of_numpy_keeps_its_names() {
    let record = "dtype([('id', '<i4'), ('x', '<f8', 3), ('in', [('a', 'u1'), ('b', '<f4')])], align=True)";
    let drawn = dtype(&["draw", "--format", "ansi"], record);
    insta::assert_snapshot!(drawn + &dtype(&["normalize", "--format", "rust"], record));
}

#[test]
fn a_drawing_in_colours() {
    insta::assert_snapshot!(dtype(&["draw", "--format", "ansi", "--color", "always"], LAYOUT));
}

#[test]
fn a_page() {
    let page = dtype(&["draw", "--format", "html"], LAYOUT);
    // The pictures themselves are in the snapshots of `draw`.
    assert_eq!(page.matches("<svg ").count(), 1 + 3);
    let frame: Vec<_> = page.split("<svg ").map(|part| part.split("</svg>").last().unwrap()).collect();
    insta::assert_snapshot!(frame.join("<svg>…</svg>"));
}

#[test]
fn an_explanation() {
    // The predicted times change with each measurement.
    let answer = dtype(&["explain"], LAYOUT);
    insta::assert_snapshot!(answer.split("\npredicted").next().unwrap_or_default());
}

#[test]
fn costs() {
    insta::assert_snapshot!(dtype(&["cost"], LAYOUT));
}
