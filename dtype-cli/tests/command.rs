//! Tests of the command as users run it: JSON in, JSON out, exit codes and messages.

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Runs `dtype` with `input` on standard input. Returns the exit code, standard output and standard error.
fn dtype(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dtype"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn answers(arguments: &[&str], input: &str, expected: &str) {
    assert_eq!(dtype(arguments, input), (0, format!("{expected}\n"), String::new()));
}

/// Checks the answer of `dtype flatten --format text` for a description.
fn flattens(more: &[&str], input: &str, expected: &str) {
    let (code, answer, error) = dtype(&[&["flatten", "--format", "text"], more].concat(), input);
    assert_eq!((code, answer.trim_end(), error.as_str()), (0, expected, ""), "{input}");
}

/// Checks that `dtype flatten` refuses a description, with a message that contains `expected` and no answer.
fn is_refused(more: &[&str], input: &str, expected: &str) {
    let (code, output, message) = dtype(&[&["flatten"], more].concat(), input);
    assert_eq!((code, output.as_str()), (2, ""), "{input}");
    assert!(
        message.starts_with("dtype: standard input: ") && message.contains(expected),
        "{input}: {message}"
    );
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

/// Checks the type map of a description in every form, without `--from`.
#[test]
fn descriptions_are_recognized_in_all_forms() {
    let cases: [(&[&str], &str, &str); 18] = [
        (&[], "vec(3, 16, idx([0, 8], f64))", "6 × f64 @ 0 stride 8"),
        (&[], "vec(2, 100, idx(2, ⟨5, 6⟩, leaf(byte)))", "2 × byte @ 5 stride 1, 2 × byte @ 105 stride 1"),
        (
            &["--type", "u8"],
            "idx(3, <2, 9, 1>, vec(4, 2, con(1)))",
            "4 × u8 @ 2 stride 2, 4 × u8 @ 9 stride 2, 4 × u8 @ 1 stride 2",
        ),
        (&[], "strc(2, [0, 8], double, vec(2, 4, int))", "f64 @ 0, 2 × MPI_INT @ 8 stride 4"),
        (&[], "idxbuc(2, 4, [2, 1], [0, 100], f32)", "2 × f32 @ 0 stride 4, f32 @ 100"),
        (&[], "subarray([4, 4], [2, 2], [1, 1], u8)", "2 × u8 @ 5 stride 1, 2 × u8 @ 9 stride 1"),
        (&[], "subarray([3, 4], [2, 1], [0, 1], Fortran, u8)", "2 × u8 @ 3 stride 1"),
        (&[], "darray(4, [4, 7], [block, cyclic], [2, 3], u8)", "u8 @ 15, u8 @ 18, u8 @ 22, u8 @ 25"),
        (&[], "MPI_Type_vector(3, 1, 16, MPI_DOUBLE)", "3 × f64 @ 0 stride 128"),
        (
            &[],
            "int lengths[2] = {2, 1}; MPI_Aint at[] = {0, 32};\nMPI_Datatype t, types[2] = {MPI_INT, \
             MPI_DOUBLE};\nMPI_Type_create_struct(2, lengths, at, types, &t); /* done */\n\
             MPI_Type_commit(&t);",
            "2 × MPI_INT @ 0 stride 4, f64 @ 32",
        ),
        (
            &[],
            "call MPI_Type_contiguous(4, MPI_REAL, row, ierror)\ncall MPI_Type_commit(row, ierror)",
            "4 × MPI_REAL @ 0 stride 4",
        ),
        (
            &["--name", "one"],
            "one = MPI_Type_contiguous(2, MPI_BYTE)\ntwo = MPI_Type_contiguous(2, one)\n",
            "2 × byte @ 0 stride 1",
        ),
        (&["--type", "double"], "0\n1 # one\n\n5\n", "2 × f64 @ 0 stride 8, f64 @ 40"),
        (&["--type", "double"], "\u{feff}[0, 1,\r\n 5]\r\n", "2 × f64 @ 0 stride 8, f64 @ 40"),
        (&[], "[('x', '<f8'), ('n', '<i4', (2,))]", "f64 @ 0, 2 × i32 @ 8 stride 4"),
        (&[], "np.dtype([('c', 'i1'), ('x', 'f8')], align=True)", "i8 @ 0, f64 @ 8"),
        (
            &[],
            "{'names': ['a', 'b'], 'formats': ['u1', [('y', '>i1'), ('z', 'S2')]], 'offsets': [3, 8], \
             'itemsize': 16}",
            "u8 @ 3, i8 @ 8, 2 × MPI_CHAR @ 9 stride 1",
        ),
        (&[], r#"{"cost":8,"optimality":"proven","tree":{"leaf":"f64"}}"#, "f64 @ 0"),
    ];
    for (more, input, expected) in cases {
        flattens(more, input, expected);
    }
}

/// The cases are from a tester who did not know the implementation.
#[test]
fn calls_are_read_as_people_write_them() {
    let program = "#include <mpi.h>\n#define N 4\nMPI_Init(&argc, &argv);\nint n = 2 + N; n = n * \
                   sizeof(double); /* 48 */\nMPI_Aint at[2] = {0}; at[1] = (MPI_Aint)16L;\nMPI_Datatype \
                   types[2];\nMPI_Type_contiguous(n / 8, MPI_INT, &types[0]);\nMPI_Type_vector(2, 1, -2, \
                   MPI_FLOAT, &types[1]); // behind\nint bl[] = {1, 1};\nMPI_Type_create_struct(2, bl, at, \
                   types, &s);\nMPI_Type_size(s, &size);\nMPI_Type_commit(&s); MPI_Type_free(&types[0]);\n";
    let long = format!("int n = 3; /*{}*/ MPI_Type_contiguous(n, MPI_INT, &t);", "x".repeat(70_000));
    let cases = [
        (program, "6 × MPI_INT @ 0 stride 4, f32 @ 16, f32 @ 8"),
        (&long, "3 × MPI_INT @ 0 stride 4"),
        ("MPI_DOUBLE (predefined, nothing to build)", "f64 @ 0"),
        (
            "call MPI_TYPE_CREATE_SUBARRAY(1, [4], [2], [1], mpi_order_fortran, MPI_REAL, t, ierr)",
            "2 × MPI_REAL @ 4 stride 4",
        ),
        (
            "int d[2]; d[0] = 0; d[1] = 8; MPI_Type_create_hindexed_block(2, 1, d, MPI_INT, &u);",
            "MPI_INT @ 0, MPI_INT @ 8",
        ),
        ("MPI_Type_contiguous(-(2 - (2 + 3)), MPI_INT, &t)", "3 × MPI_INT @ 0 stride 4"),
        (
            "#define N 2\n#define M (N * 2) // twice\nlens[0] = 1L; lens[1] = N; at[0] = 0; at[1] = \
             64;\nMPI_Type_create_hindexed(M / N, lens, at, MPI_INT, &t);",
            "MPI_INT @ 0, 2 × MPI_INT @ 64 stride 4",
        ),
        (
            "int err = MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t); err = MPI_Type_commit(&t);",
            "3 × f64 @ 0 stride 128",
        ),
        (
            "MPI_Type_create_struct(2, (int[]){1, 1}, (const MPI_Aint[2]){0, 8}, (MPI_Datatype[]){MPI_INT, \
             MPI_DOUBLE}, &t);",
            "MPI_INT @ 0, f64 @ 8",
        ),
        (
            "int at[] = {0, 3}; MPI_Type_indexed(2, (int[2]){2}, (int *)at, MPI_INT, &t);",
            "2 × MPI_INT @ 0 stride 4",
        ),
    ];
    for (input, expected) in cases {
        flattens(&[], input, expected);
    }
    let refused = [
        ("MPI_Type_contiguous(010, MPI_INT, &t);", "without a leading zero, which means octal in C"),
        ("MPI_Type_contiguous(2, MPI_INT, &t); /* x", "column 38: expected a call"),
        ("MPI_Type_vector(3, 2, 4, MPI_INT, 5)", "expected a variable for the result, found `5)`"),
        ("MPI_INT = MPI_DOUBLE; MPI_Type_contiguous(2, MPI_INT)", "`MPI_INT` is a predefined datatype"),
        ("int bl[1] = {1, 2}; MPI_Type_contiguous(2, MPI_INT)", "this list is longer than its array: 2 > 1"),
        ("MPI_Type_indexed(2, (int[1]){1, 1}, [0, 4], MPI_INT)", "this list is longer than its array: 2 > 1"),
        ("int d[2]; d[9999999]=1; MPI_Type_contiguous(2, MPI_INT)", "an index below 1048576"),
        ("MPI_Type_contiguous(9223372036854775807 * 2, MPI_INT)", "this number is beyond the limits of i64"),
        ("MPI_Type_contiguous(4 / 0, MPI_INT)", "this number is beyond the limits of i64"),
        (
            "MPI_Type_vector(3, 1, (x) - 3, MPI_INT, &t)",
            "expected a number or a variable that holds a number, found `x)",
        ),
        ("MPI_Type_contiguous(n, MPI_INT)", "`count` is `n`, which has no value"),
        ("MPI_Type_contiguous(4, float)", "`oldtype` is `float`, whose datatype is MPI_FLOAT"),
        ("MPI_Init(&argc, MPI_Type_contiguous(2, MPI_INT, &t)", "expected `)`, but the input ends here"),
    ];
    let deep = "MPI_Type_create_hindexed_block(1, 1, [0], t, &t);\n".repeat(20_000);
    let (code, _, message) = dtype(&["flatten"], &format!("MPI_Type_contiguous(1, MPI_INT, &t);\n{deep}"));
    assert!(
        code == 2 && message.contains("line 1001, column 1: the argument `the depth of the tree` is 1001"),
        "{message}"
    );
    let two = "MPI_Type_contiguous(2, MPI_INT, &b); MPI_Type_contiguous(3, MPI_INT, &a);";
    let (_, _, message) = dtype(&["flatten", "--name", "c"], two);
    assert!(message.ends_with("no call creates a datatype `c`; the calls create a, b\n"), "{message}");
    let nested = ["(", "-"].map(|sign| {
        (
            format!("MPI_Type_contiguous({}3, MPI_INT)", sign.repeat(100_000)),
            "brackets are nested 256 levels deep",
        )
    });
    let nested = nested.iter().map(|(input, expected)| (&input[..], *expected));
    for (input, expected) in refused.into_iter().chain(nested) {
        is_refused(&[], input, expected);
    }
}

/// The expected layouts are those of numpy 2.4.
#[test]
fn numpy_dtypes_are_laid_out_as_numpy_does() {
    let cases = [
        ("{'names':['s'],'formats':[[('a','u1'),('b','<f8')]],'aligned':True}", "u8 @ 0, f64 @ 8"),
        ("float64", "f64 @ 0"),
        ("|V5", "5 × byte @ 0 stride 1"),
        ("('<i4', (3,))", "3 × i32 @ 0 stride 4"),
        ("[('a', 'S3'), ('b', 'M8[ns]')]", "3 × MPI_CHAR @ 0 stride 1, i64 @ 3"),
        ("[('a', '>S3'), ('b', '>i1')]", "3 × MPI_CHAR @ 0 stride 1, i8 @ 3"),
    ];
    for (input, expected) in cases {
        flattens(&[], input, expected);
    }
    for (input, expected) in [
        ("[('a','<i4'),('a','<i4')]", "two fields are called `a`"),
        ("'>U1'", "this machine's byte order"),
        ("{'names':['a'],'formats':['<i4'],'offsets':[-4]}", "the offset of `a` is -4"),
        (
            "{'names':['a','b'],'formats':['<i4','<f8'],'offsets':[0,5],'aligned':True}",
            "the offset of `b` is 5, but must be a multiple of 8",
        ),
        ("{'names':['a'],'formats':['<i4'],'itemsize':6,'aligned':True}", "the itemsize is 6"),
    ] {
        is_refused(&[], input, expected);
    }
}

/// Checks that a message names the position of the unexpected text.
#[test]
fn what_is_wrong_with_a_description_is_said_with_its_place() {
    let cases: [(&[&str], &str, &str); 17] = [
        (&[], "", "the input is empty"),
        (&[], "hello", "the form of this input is not recognized; give it with `--from json`"),
        (&[], "vec(3, 16\n  f64)", "line 2, column 3: expected `,`, found `f64)`"),
        (&[], "vec(3, x, f64)", "line 1, column 8: expected a stride in bytes, found `x, f64)`"),
        (&[], "idx(3, [0, 8], f64)", "line 1, column 8: expected 3 numbers, as given by the count"),
        (&[], "vec(2, 8, f65)", "expected a base type, or one of leaf, con, vec"),
        (&[], "vec(2, 8, leaf)", "column 11: expected a base type, as `leaf(f64)` or with `--type f64`"),
        (&[], "vec(2, 8, f64", "expected `)`, but the input ends here"),
        (&[], "subarray([4], [5], [0], u8)", "`subsizes[0]` is 5, but must be 4 at most"),
        (&[], "0\n1\n", "add `--type`, as in `--type double`"),
        (&["--type", "double"], "0\none\n", "line 2: expected an index, found `one`"),
        (&[], "MPI_Type_vector(3, 1, MPI_DOUBLE)", "takes 4 arguments (count, blocklength, stride, oldtype)"),
        (
            &[],
            "\nMPI_Type_vector(3, -1, 2, MPI_DOUBLE)",
            "line 2, column 1: MPI_Type_vector: `blocklength` is -1, but must be a number, 0 or more",
        ),
        (&[], "MPI_Type_contiguous(3, row)", "`oldtype` is `row`, which has no value"),
        (
            &[],
            "MPI_Type_twist(3, MPI_INT)",
            "`MPI_Type_twist` is not a datatype constructor; the constructors are",
        ),
        (&[], "[('x', '>f8')]", "line 1, column 8: expected numbers in this machine's byte order"),
        (&[], "[('x', 'O')]", "an object is an address"),
    ];
    for (more, input, expected) in cases {
        is_refused(more, input, expected);
    }
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
    assert_eq!((code, answer.as_str(), error.as_str()), (0, expected, ""));
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
