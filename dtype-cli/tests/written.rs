//! Programs that the command writes, read back by the command: each language with a form of input gives the
//! type map and the bounds of the description.

mod common;

use common::dtype;

/// The formats with a form of input.
const FORMATS: [&str; 7] = ["calls", "c", "fortran", "fortran-mpi", "python", "notation", "json"];

const DESCRIPTIONS: [&str; 16] = [
    "f64",
    "vec(3, 16, f64)",
    "vec(3, 16, MPI_INT)",
    "vec(3, -24, vec(2, 8, f64))",
    "idx([0, 8, 40], MPI_CHAR)",
    "idx([-9223372036854775808], u8)",
    "idxbuc(8, [4, 4, 2], [0, 40, 80], f64)",
    "strc([0, 8], [MPI_INT, f64])",
    "strc([0, 16], [vec(2, 4, MPI_INT), idxbuc(8, [4, 4, 2], [0, 40, 80], f64)])",
    "strc([0, 8, 24], [MPI_DOUBLE_INT, vec(2, 8, c32), strc([0, 2], [i16, u8])])",
    "strc([0, 4], [MPI_2INT, MPI_LONG_LONG_INT])",
    "MPI_Type_create_resized(MPI_INT, -4, 64)",
    "MPI_Type_create_resized(MPI_Type_vector(2, 1, 3, MPI_REAL), 0, 128)",
    "dtype([('a', 'u1'), ('b', '<f8'), ('c', [('x', '<f4'), ('y', '<i2')], (3,))], align=True)",
    "dtype({'names': ['a'], 'formats': ['<f8'], 'offsets': [8], 'itemsize': 64})",
    "subarray([8, 8, 8], [2, 6, 3], [3, 1, 0], MPI_DOUBLE_PRECISION)",
];

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let long: Vec<String> = (0..300).map(|i| (i * i).to_string()).collect();
    let long = format!("strc([0, 8], [idx([{}], u8), f32])", long.join(", "));
    for (i, description) in DESCRIPTIONS.into_iter().chain([&*long]).enumerate() {
        let given = match description.strip_prefix("MPI_Type_create_resized(MPI_Type_vector") {
            Some(_) => "MPI_Type_vector(2, 1, 3, MPI_REAL, &v); MPI_Type_create_resized(v, 0, 128, &t);",
            None => description,
        };
        let input = file(&format!("{i}.txt"), given);
        for action in ["convert", "normalize"] {
            for format in FORMATS {
                let (code, program, message) = dtype(&[action, "--format", format, &input], "");
                assert_eq!(code, 0, "{description}: {message}");
                let written = file(&format!("{i}-{action}.{format}"), &program);
                let (code, answer, message) = dtype(&["compare", "--format", "json", &input, &written], "");
                assert!(code < 2, "{format} of {description}: {message}\n{program}");
                assert!(
                    answer.contains("\"same_type_map\":true"),
                    "{format} of {description}: {answer}\n{program}"
                );
                // The notation and JSON have no bounds.
                let has_bounds = !["notation", "json"].contains(&format);
                assert!(
                    !has_bounds || answer.contains("\"same_bounds\":true"),
                    "{format}: {description}\n{program}"
                );
            }
        }
    }
}

#[test]
fn written_programs_use_what_all_libraries_have() {
    let logical = "strc([0, 8, 16, 18], [MPI_LOGICAL1, MPI_LOGICAL8, MPI_LOGICAL2, MPI_REAL2])";
    for format in ["c", "fortran", "fortran-mpi", "python"] {
        let (code, program, message) = dtype(&["convert", "--format", format], logical);
        assert_eq!(code, 0, "{message}");
        assert!(
            program.contains("Not all MPI libraries have MPI_LOGICAL8, so MPI_INT64_T stands for it."),
            "{program}"
        );
        let is_code = |line: &&str| !line.starts_with([' ', '!', '#']) || line.starts_with("    ");
        let names = ["LOGICAL1", "LOGICAL2", "LOGICAL8", "REAL2"];
        let mut code = program.lines().filter(is_code);
        assert!(!code.any(|line| names.iter().any(|name| line.contains(name))), "{program}");
    }
    // The calls themselves name what was described.
    let (_, calls, _) = dtype(&["convert", "--format", "calls"], logical);
    assert!(calls.contains("MPI_LOGICAL1"), "{calls}");
}

#[test]
fn complex_numbers_are_written_in_rust() {
    let (code, program, message) = dtype(&["convert", "--format", "rsmpi"], "vec(3, 32, c64)");
    assert!(
        code == 0 && program.contains("&num_complex::Complex64::equivalent_datatype()"),
        "{message}{program}"
    );
    assert!(program.contains("the crate `num-complex`, and the feature `complex` of `mpi`"), "{program}");
    let (code, program, message) = dtype(&["convert", "--format", "rust"], "strc([0, 8], [c32, f64])");
    assert!(code == 0 && program.contains(": num_complex::Complex32,"), "{message}{program}");
    assert!(program.contains("the feature `num-complex` of `dtype-runtime`"), "{program}");
}
