//! Tests of descriptions in all forms: how they are recognized and read, and what the messages say.

mod common;

use common::{dtype, flattens, is_refused};

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

/// A void without a name is padding, as in numpy's own `descr`. The expected layouts are those of numpy 2.4.
#[test]
fn numpys_own_descriptions_of_padded_types_have_no_data_in_the_padding() {
    let padded = "u8 @ 0, f64 @ 8";
    let descr = "[('a', '|u1'), ('', '|V7'), ('b', '<f8')]";
    for (input, expected) in [
        (descr, padded),
        ("[('a','|u1'),('','|V3'),('b','<f4'),('c','|u1'),('','|V7')]", "u8 @ 0, f32 @ 4, u8 @ 8"),
        ("[('', '|V8'), ('x', '<f4'), ('', '|V4')]", "f32 @ 8"),
        ("[('a', [('x', '|u1'), ('', '|V3')], (2,)), ('b', '<i4')]", "u8 @ 0, u8 @ 4, i32 @ 8"),
        ("[('a', '|u1'), ('', '|V1', (7,)), ('b', '<f8')]", padded),
        (&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (3, 4), }}"), padded),
        (
            &format!(
                "{{'data': (94368396028864, False), 'strides': None, 'descr': {descr}, 'typestr': '|V16', \
                 'shape': (3, 4), 'version': 3}}"
            ),
            padded,
        ),
        (
            "{'shape': (4,), 'typestr': '<f8', 'descr': [('', '<f8')], 'version': 3, 'strides': (8,)}",
            "f64 @ 0",
        ),
        ("{'shape': (4,), 'typestr': '|V5', 'descr': [('', '|V5')], 'version': 3}", "5 × byte @ 0 stride 1"),
        // Other fields without a name are called f0, f1, …
        ("[('', '<i4'), ('', '<f8')]", "i32 @ 0, f64 @ 4"),
    ] {
        flattens(&[], input, expected);
    }
    let same = "dtype([('a', 'u1'), ('b', '<f8')], align=True)";
    let normal = |input: &str| dtype(&["normalize", "--format", "calls"], input);
    assert_eq!(normal(descr), normal(same));
    is_refused(
        &[],
        "{'shape': (3,), 'typestr': '<f8', 'strides': (64,)}",
        "line 1, column 35: the elements of this array do not follow one another",
    );
    is_refused(&[], "{'descr': [('a', '<f8')], 'shaped': (3,)}", "a key of an array's description");
}

#[test]
fn the_header_of_an_npy_file_is_read() {
    let text =
        "{'descr': [('a', '|u1'), ('', '|V7'), ('b', '<f8')], 'fortran_order': False, 'shape': (3, 4), }";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.npy");
    let flat = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        dtype(&["flatten", "--format", "text", file.to_str().unwrap()], "")
    };
    for (version, length) in
        [(1u8, &(text.len() as u16).to_le_bytes()[..]), (2, &(text.len() as u32).to_le_bytes())]
    {
        let front = [b"\x93NUMPY", &[version, 0][..], length].concat();
        let whole = [&front, text.as_bytes(), &[0xff; 32]].concat();
        assert_eq!(flat(&whole), (0, "u8 @ 0, f64 @ 8\n".to_owned(), String::new()), "{version}");
        for length in [0, 6, 7, 9, 20].map(|length| length.min(whole.len())) {
            let (code, _, message) = flat(&whole[..length]);
            assert!(code == 2 && !message.is_empty(), "{length}: {message}");
        }
    }
    let (code, _, message) = flat(b"\x93NUMPY\x09\x00\x02\x00{}");
    assert!(code == 2 && message.contains("this `.npy` file has version 9"), "{message}");
}

/// The expected layouts are those of numpy 2.4.
#[test]
fn numpy_dtypes_are_read_as_programs_write_them() {
    for (input, expected) in [
        ("np.float64", "f64 @ 0"),
        ("numpy.int32", "i32 @ 0"),
        ("<class 'numpy.float32'>", "f32 @ 0"),
        ("np.dtype(np.float64)", "f64 @ 0"),
        ("longlong", "i64 @ 0"),
        ("'i4,i8'", "i32 @ 0, i64 @ 4"),
        ("i4, (2,3)f8", "i32 @ 0, 6 × f64 @ 4 stride 8"),
        ("np.dtype('i1,f8', align=True)", "i8 @ 0, f64 @ 8"),
        ("np.dtype('i1,f8', True)", "i8 @ 0, f64 @ 8"),
        ("'i4,'", "i32 @ 0"),
        ("{'a': ('i4', 0)}", "i32 @ 0"),
        ("{'a': ('<i4', 0), 'b': ('<f8', 9, 'title')}", "i32 @ 0, f64 @ 9"),
        ("dtype({'b': ([('x', 'u1'), ('y', '<f8')], 8), 'a': ('i1', 0)})", "i8 @ 0, u8 @ 8, f64 @ 9"),
        ("(numpy.record, [('a', '<i4'), ('b', '<f8')])", "i32 @ 0, f64 @ 4"),
        ("dtype((numpy.record, [('a', '<i4')]), align=True)", "i32 @ 0"),
        ("('<i8', [('low', '<i4'), ('high', '<i4')])", "2 × i32 @ 0 stride 4"),
        ("(numpy.int32, {'real': ('<i2', 0), 'imag': ('<i2', 2)})", "2 × i16 @ 0 stride 2"),
        ("('S', 5)", "5 × MPI_CHAR @ 0 stride 1"),
        ("[('n', 'S', 5), ('x', '<i4')]", "5 × MPI_CHAR @ 0 stride 1, i32 @ 5"),
        ("{'names': ('a', 'b'), 'formats': ('i4', 'f8')}", "i32 @ 0, f64 @ 4"),
        ("particle = np.dtype([\n  ('id', np.int32),  # the number\n  ('x', 'f8'),\n])", "i32 @ 0, f64 @ 4"),
        ("[('a', np.dtype('<i4')), ('b', 'u1')]", "i32 @ 0, u8 @ 4"),
        ("np.dtype([('a', 'i4')], metadata={'unit': ('m', [1, 2])}, align=True)", "i32 @ 0"),
    ] {
        flattens(&[], input, expected);
    }
    for (input, expected) in [
        ("('<i8', [('low', '<i4')])", "the fields take 4 bytes, but the type has 8"),
        ("'i4,x8'", "expected a dtype that numpy knows"),
        ("{'a': ('i4', -4)}", "the offset of `a` is -4"),
        ("{'a': ('i4', 0), 'a': ('i4', 4)}", "two fields are called `a`"),
        ("np.object_", "an object is an address"),
        ("'T'", "stored outside the array"),
        ("np.float65", "expected a dtype that numpy knows"),
    ] {
        is_refused(&[], input, expected);
    }
}

/// The descriptions and their maps are recorded from numpy: `tests/numpy.json`.
#[test]
fn random_dtypes_lie_where_numpy_says() {
    let all: Vec<serde_json::Value> = serde_json::from_str(include_str!("numpy.json")).unwrap();
    assert!(all.len() > 50);
    for case in all {
        let text = case["text"].as_str().unwrap();
        let (code, answer, message) = dtype(&["flatten", "--from", "numpy"], text);
        assert_eq!(code, 0, "{text}: {message}");
        let map: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let places = map["displacements"].as_array().unwrap();
        let base = |i: usize| if map["types"].is_array() { &map["types"][i] } else { &map["type"] };
        let mut found: Vec<_> = places
            .iter()
            .enumerate()
            .map(|(i, at)| (at.as_u64().unwrap(), base(i).as_str().unwrap()))
            .collect();
        found.sort_unstable();
        let entries = case["entries"].as_array().unwrap();
        let expected: Vec<_> =
            entries.iter().map(|entry| (entry[1].as_u64().unwrap(), entry[0].as_str().unwrap())).collect();
        assert_eq!(found, expected, "{text}");
        let (_, answer, _) = dtype(&["convert", "--from", "numpy", "--format", "c"], text);
        let size = format!(" lower bound 0, extent {}; ", case["size"]);
        assert!(answer.contains(&size), "{text}: {size}\n{answer}");
    }
}

/// Statements around the calls, as programs have them.
#[test]
#[allow(clippy::too_many_lines, reason = "a table of statements")]
fn programs_in_c_are_read_around_their_calls() {
    let vector = "3 × f64 @ 0 stride 128";
    for (input, expected) in [
        ("CHECK(MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t)); CHECK(MPI_Type_commit(&t));", vector),
        ("MPI_CHECK(ierr = MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t), \"a (text\");", vector),
        ("ierr = MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t); CHKERRQ(ierr);", vector),
        ("MPI_Type_vector(0x3, 1, 0x10, MPI_DOUBLE, &t);", vector),
        ("MPI_Type_vector(3, 1, 1 << 4, MPI_DOUBLE, &t);", vector),
        ("MPI_Type_vector(33 % 10, 1, 16u, MPI_DOUBLE, &t);", vector),
        ("if (MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t) != MPI_SUCCESS) { abort(); }", vector),
        (
            "int make(MPI_Datatype *new) {\n  int n = 16;\n  MPI_Type_vector(3, 1, n, MPI_DOUBLE, new);\n  \
             return 0;\n}",
            vector,
        ),
        (
            "std::vector<int> lengths{1, 2}; std::array<MPI_Aint, 2> at = {0, \
             8};\nMPI_Type_create_hindexed(2, \
          lengths.data(), at.data(), MPI_INT, &t);",
            "MPI_INT @ 0, 2 × MPI_INT @ 8 stride 4",
        ),
        (
            "MPI_Aint lb, extent; MPI_Type_get_extent(MPI_DOUBLE, &lb, \
             &extent);\nMPI_Type_create_hvector(3, 1, 16 * \
          extent, MPI_DOUBLE, &t);",
            vector,
        ),
        (
            "int size; MPI_Type_contiguous(4, MPI_INT, &row); MPI_Type_size(row, &size);\n\
          MPI_Type_create_hvector(2, 1, 2 * size, row, &t);",
            "4 × MPI_INT @ 0 stride 4, 4 × MPI_INT @ 32 stride 4",
        ),
        (
            "struct particle { double x; int n; };\nstruct particle p[10];\np[0].x = 1; int n = 3;\n\
          for (int i = 0; i < 4; i++) { p[i].n = i; }\nMPI_Type_contiguous(n, MPI_INT, &t);",
            "3 × MPI_INT @ 0 stride 4",
        ),
        (
            "int order = MPI_ORDER_C; MPI_Type_create_subarray(1, [4], [2], [1], order, MPI_INT, &t);",
            "2 × MPI_INT @ 4 stride 4",
        ),
        ("MPI_Type_contiguous(2, MPI_LONG_LONG, &t);", "2 × MPI_LONG_LONG_INT @ 0 stride 8"),
        ("extern \"C\" {\nint f(int);\n}\nMPI_Type_contiguous(2, MPI_INT, &t);", "2 × MPI_INT @ 0 stride 4"),
        ("MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t); MPI_Type_free(&other);", vector),
        ("if ((ierr = MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t)) != MPI_SUCCESS) goto fail;", vector),
        ("int f(MPI_Datatype *t) { return MPI_Type_vector(3, 1, 16, MPI_DOUBLE, t); }", vector),
        ("CHECK((MPI_Type_vector(3, 1, 16, MPI_DOUBLE, &t)));", vector),
        (
            "enum { ROWS = 2, COLUMNS }; MPI_Type_contiguous(COLUMNS, MPI_INT, &t);",
            "3 × MPI_INT @ 0 stride \
         4",
        ),
        (
            "#define CHECK(x) \\\n  do { x; } while (0)\nMPI_Type_contiguous(3, MPI_INT, &t);",
            "3 × MPI_INT \
         @ 0 stride 4",
        ),
        (
            "MPI_Type_contiguous(3, MPI_INT, &mesh->row); MPI_Type_contiguous(1, mesh->row, &mesh->all);\n\
          MPI_Type_commit(&mesh->all);",
            "3 × MPI_INT @ 0 stride 4",
        ),
        (
            "grid.n = 3; MPI_Type_contiguous(static_cast<int>(grid.n), MPI_INT, &types.row);",
            "3 × MPI_INT @ \
         0 stride 4",
        ),
        (
            "double d = 3.5; char *s = \"a;b\\\"{\"; int k = rank == 0 ? 3 : 4; std::cout << s << k;\n\
          MPI_Type_contiguous(3, MPI_INT, &t);",
            "3 × MPI_INT @ 0 stride 4",
        ),
        (
            "class A { int f() { return 1; } };\nMPI_Type_contiguous(3, MPI_INT, &t);",
            "3 × MPI_INT @ 0 \
         stride 4",
        ),
        (
            "int n = 2; if (error == MPI_SUCCESS) n = 3; else n = 4; MPI_Type_contiguous(n, MPI_INT, &t);",
            "3 × MPI_INT @ 0 stride 4",
        ),
        (
            "int n = 2; if (rank == 0) printf(\"%d (\", n); MPI_Type_contiguous(n, MPI_INT, &t);",
            "2 × MPI_INT @ 0 stride 4",
        ),
    ] {
        flattens(&[], input, expected);
    }
    for (input, expected) in [
        // A value that may have changed is not known.
        (
            "int n = 2; if (rank == 0) n = 3; MPI_Type_contiguous(n, MPI_INT, &t);",
            "`count` is `n`, which has no value",
        ),
        ("int n = rank ? 3 : 4; MPI_Type_contiguous(n, MPI_INT, &t);", "`count` is `n`, which has no value"),
        ("int n = 2; m = n = 3; MPI_Type_contiguous(n, MPI_INT, &t);", "`count` is `n`, which has no value"),
        (
            "g.n = 2; if (x) g.n = 3; MPI_Type_contiguous(g.n, MPI_INT, &t);",
            "`count` is `g.n`, which has \
         no value",
        ),
        (
            "int n = 2; while (rank) { n++; } MPI_Type_contiguous(n, MPI_INT, &t);",
            "`count` is `n`, which has no value",
        ),
        ("int n = 2; fill(&n); MPI_Type_contiguous(n, MPI_INT, &t);", "`count` is `n`, which has no value"),
        (
            "MPI_Aint at[2] = {0}; MPI_Get_address(&p.x, &at[0]); MPI_Type_create_hindexed_block(2, 1, at, \
             MPI_INT, &t);",
            "is `at`, which has no value",
        ),
        (
            "for (i = 0; i < 2; i++) MPI_Type_contiguous(2, MPI_INT, &t);",
            "the calls here stand in a loop: write the calls",
        ),
        ("if (rank && !MPI_Type_contiguous(2, MPI_INT, &t)) {}", "the call is a part of a condition"),
        ("return 1 + MPI_Type_contiguous(2, MPI_INT, &t);", "the call is a part of another one"),
        ("if (rank) { MPI_Type_contiguous(2, MPI_INT, &t); }", "the calls here depend on a condition"),
        ("send(MPI_Type_contiguous(2, MPI_INT, &t) + 1, MPI_Type_contiguous(3, MPI_INT, &t)", "expected `)`"),
        (
            "MPI_Aint at[] = {0, 16}; MPI_Type_create_hindexed_block(2, 1, at, offsetof(struct s, x), \
             MPI_INT, &t);",
            "`dtype struct` reads the offsets of a struct",
        ),
        (
            "MPI_Datatype types[] = {MPI_INT, MPI_UB}; int l[] = {1, 1}; MPI_Aint at[] = {0, 8};\n\
             MPI_Type_struct(2, l, at, types, &t);",
            "`array_of_types[1]` is `MPI_UB`, which MPI 3.0 has removed: leave it out, and set the bounds \
             with \
             MPI_Type_create_resized(oldtype, lb, extent)",
        ),
        ("MPI_Type_contiguous(3, MPI_LB, &t);", "`oldtype` is `MPI_LB`, which MPI 3.0 has removed"),
        (
            "MPI_Type_create_struct(2, [1, 1], [0, 8], [MPI_INT, row], &t);",
            "`array_of_types[1]` is `row`, which has no value",
        ),
    ] {
        is_refused(&[], input, expected);
    }
}

#[test]
fn programs_in_fortran_are_read() {
    let vector = "3 × MPI_REAL @ 0 stride 64";
    for (input, expected) in [
        ("! comment\ncall MPI_Type_vector(3, 1, 16, MPI_REAL, t, ierr)", vector),
        ("C     fixed form (\n      call MPI_TYPE_VECTOR(3, 1, 16,\n     &     MPI_REAL, T, IERR)", vector),
        ("where (a > 0) a = 0\ncall MPI_Type_vector(3, 1, 16, MPI_REAL, mesh%rows(2), ierr)", vector),
        (
            "n = 3\ncall MPI_Type_vector(4, 1, 8, MPI_REAL8, col)\ncall MPI_Send(a, n, col, 1, 0, comm)\n\
             call MPI_Recv(a, 1, col, 1, 0, comm, status)\ncall MPI_Type_vector(n, 1, 16, MPI_REAL, t)",
            vector,
        ),
        ("mesh%n = 3\ncall MPI_Type_vector(Mesh%N, 1, 16, MPI_REAL, mesh%row, ierr)", vector),
        (
            "call MPI_Type_vector(count=3, blocklength=1, stride=16, oldtype=MPI_REAL, newtype=t, \
             ierror=ierr)",
            vector,
        ),
        ("call MPI_Type_vector(3, 1, oldtype=MPI_REAL, stride=16, newtype=t)", vector),
        ("CALL mpi_type_create_hvector(3, 1, 64_MPI_ADDRESS_KIND, MPI_REAL, t, ierr)", vector),
        ("call MPI_Type_create_hvector(3, 1, int(64, MPI_ADDRESS_KIND), MPI_REAL, t, ierr)", vector),
        (
            "program main\n  use mpi_f08\n  implicit none\n  integer, parameter :: n = 16 ! columns\n  \
             type(MPI_Datatype) :: t\n  call MPI_Init()\n  call MPI_Type_vector(3, 1, N, &  ! continued\n    \
             & MPI_REAL, t)\n  call MPI_Type_commit(t)\nend program",
            vector,
        ),
        (
            "integer :: lengths(2)\ninteger(kind=MPI_ADDRESS_KIND) :: at(2)\nlengths = 1\nat(1) = 0; at(2) = \
             8\ncall MPI_Type_create_struct(2, lengths, at, [MPI_INTEGER, MPI_DOUBLE_PRECISION], t, ierr)",
            "MPI_INTEGER @ 0, MPI_DOUBLE_PRECISION @ 8",
        ),
        (
            "integer(MPI_ADDRESS_KIND), dimension(0:1) :: at = [integer(MPI_ADDRESS_KIND) :: 0, 8]\nat(1) = \
             at(1) + 4\ncall MPI_Type_create_hindexed_block(2, 1, at, MPI_REAL, t)",
            "MPI_REAL @ 0, MPI_REAL @ 12",
        ),
        (
            "integer lb\nif (ierr /= MPI_SUCCESS) stop 1\ncall MPI_Type_get_extent(MPI_REAL, lb, extent, \
             ierr)\ncall MPI_Type_create_hvector(3, 1, 16 * extent, MPI_REAL, t)",
            vector,
        ),
        (
            "integer :: n = 3\ndo i = 1, 4\n  a(i) = n\nend do\ncall MPI_Type_vector(n, 1, 16, MPI_REAL, t)",
            vector,
        ),
        (
            "if (ierr /= MPI_SUCCESS) then\n  n = 2\nelse\n  n = 3\nend if\ncall MPI_Type_vector(n, 1, 16, \
             MPI_REAL, t)",
            vector,
        ),
    ] {
        flattens(&[], input, expected);
    }
    for (input, expected) in [
        (
            "call MPI_Type_vector(count=3, blocklength=1, step=16, oldtype=MPI_REAL, newtype=t)",
            "MPI_Type_vector has no argument `step`; its arguments are count, blocklength, stride, oldtype",
        ),
        ("call MPI_Type_vector(count=3, stride=16, oldtype=MPI_REAL, newtype=t)", "an argument is missing"),
        (
            "! x\ncall MPI_Type_vector(3, 1, n, MPI_REAL, t)",
            "line 2, column 1: MPI_Type_vector: `stride` is `n`",
        ),
        (
            "do i = 1, 2\n  call MPI_Type_vector(3, 1, 16, MPI_REAL, t)\nend do",
            "the calls here stand in a loop",
        ),
        (
            "integer :: n = 3\nif (rank == 0) n = 4\ncall MPI_Type_vector(n, 1, 16, MPI_REAL, t)",
            "`count` is `n`, which has no value",
        ),
        (
            "integer :: n = 3\nif (rank == 0) then\n  n = 4\nend if\ncall MPI_Type_vector(n, 1, 16, \
             MPI_REAL, t)",
            "`count` is `n`, which has no value",
        ),
        (
            "n = 3\ncall MPI_Bcast(n, 1, MPI_INTEGER, 0, comm)\ncall MPI_Type_vector(n, 1, 16, MPI_REAL, t)",
            "`count` is `n`, which has no value",
        ),
        (
            "integer :: n = 3\ncall change(n)\ncall MPI_Type_vector(n, 1, 16, MPI_REAL, t)",
            "`n`, which has no value",
        ),
    ] {
        is_refused(&[], input, expected);
    }
}

#[test]
fn programs_with_mpi4py_and_mpi_jl_are_read() {
    let vector = "3 × f64 @ 0 stride 128";
    for (input, expected) in [
        ("row: MPI.Datatype = MPI.DOUBLE.Create_vector(3, 1, 16); row.Commit()", vector),
        (
            "class A:\n    def __init__(self):\n        self.t = MPI.DOUBLE.Create_vector(3, 1, 16)\n        \
         self.t.Commit()",
            vector,
        ),
        ("MPI.DOUBLE.Create_vector(3, 1, 16)", vector),
        ("from mpi4py import MPI\nt = MPI.DOUBLE.Create_vector(3, 1, 16).Commit()", vector),
        (
            "#!/usr/bin/env python3\nimport numpy as np\nn = 16\nt = MPI.DOUBLE.Create_vector(count=3, \
             blocklength=1, stride=n)\nt.Commit()",
            vector,
        ),
        ("t = MPI.DOUBLE.Create_hindexed([1, 2], np.array([0, 16]))", "f64 @ 0, 2 × f64 @ 16 stride 8"),
        ("t = MPI.Datatype.Create_struct([1] * 2, [0, 8], [MPI.INT, MPI.DOUBLE])", "MPI_INT @ 0, f64 @ 8"),
        (
            "t = MPI.INT.Create_subarray([4, 4], (2, 2), (1, 1), order=MPI.ORDER_F)",
            "2 × MPI_INT @ 20 stride 4, 2 × MPI_INT @ 36 stride 4",
        ),
        (
            "row = MPI.INT.Create_contiguous(4)\nlb, extent = row.Get_extent()\nt = row.Create_hvector(2, \
             1, 2 * extent)",
            "4 × MPI_INT @ 0 stride 4, 4 × MPI_INT @ 32 stride 4",
        ),
        (
            "row = MPI.INT.Create_contiguous(4)\nt = row.Create_resized(0, row.size * 2)\nt.Commit()",
            "4 × MPI_INT @ 0 stride 4",
        ),
        (
            "def make():\n    \"\"\"Makes it (the type.\"\"\"\n    return MPI.DOUBLE.Create_vector(\n      \
               3,\n        1, 16)\n",
            vector,
        ),
        ("for i in range(3):\n    x = i\nt = MPI.DOUBLE.Create_vector(3, 1, 16)", vector),
        ("using MPI\nt = MPI.Types.create_vector(3, 1, 16, MPI.DOUBLE)\nMPI.Types.commit!(t)", vector),
        (
            "t = MPI.Types.create_struct(Cint[1, 1], MPI.Aint[0, 8], [MPI.Datatype(Int32), MPI.DOUBLE])",
            "i32 @ 0, f64 @ 8",
        ),
        (
            "t = MPI.Types.create_subarray((4, 4), (2, 2), (1, 1), MPI.INT; rowmajor=true)",
            "2 × MPI_INT @ 20 stride 4, 2 × MPI_INT @ 36 stride 4",
        ),
        (
            "t = MPI.Types.create_resized(MPI.DOUBLE, 0, 16)\nu = MPI.Types.create_contiguous(2, t)",
            "f64 @ 0, f64 @ 16",
        ),
    ] {
        flattens(&[], input, expected);
    }
    for (input, expected) in [
        (
            "t = MPI.DOUBLE.Create_vector(3, 1)",
            "Create_vector() takes the arguments count, blocklength, stride",
        ),
        ("t = MPI.DOUBLE.Create_vector(3, 1, n)", "`stride` is `n`, which has no value"),
        (
            "for i in range(3):\n    t = MPI.DOUBLE.Create_vector(3, 1, 16)",
            "the calls here stand in a loop or condition",
        ),
        (
            "n = 2\nif rank == 0:\n    n = 3\nt = MPI.DOUBLE.Create_contiguous(n)",
            "`count` is `n`, which has no value",
        ),
        ("t = MPI.DOUBLE.Create_twisted(3)", "`Create_twisted` makes no datatype"),
    ] {
        is_refused(&[], input, expected);
    }
}
