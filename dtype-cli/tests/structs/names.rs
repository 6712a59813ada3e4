//! Names that lead to structs: of `typedef` and `using`, in chains and across scopes, with blanks or without.
//! Names that lead elsewhere give a sentence.

use std::{fs, process::Command};

use super::{declared::of_declared, folder, run};

/// Runs `dtype struct` on an object file of declarations. Returns the exit code, and the answer or the
/// message.
fn of_object(compiler: &[&str], ending: &str, declared: &str, arguments: &[&str]) -> (i32, String) {
    let folder = folder(&format!("names-{}", std::thread::current().name().unwrap().replace("::", "-")));
    let [source, object] = [format!("a.{ending}"), "a.o".to_owned()].map(|name| folder.join(name));
    fs::write(&source, declared).unwrap();
    let options = ["-g", "-c", "-fno-eliminate-unused-debug-types", "-o"];
    run(Command::new(compiler[0]).args(&compiler[1..]).args(options).arg(&object).arg(&source));
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
    let output = command.arg("struct").arg(&object).args(arguments).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

const TYPEDEFS: &str = "\
typedef struct quadrant { char level; double x; } quadrant_t;
typedef quadrant_t octant_t;
typedef const octant_t fixed_t;
typedef struct { int i; } index_t, *index_pointer;
typedef index_t cell_t;
struct later; typedef struct later later_t; struct later { float f; };
quadrant_t a; octant_t b; fixed_t c; index_t d; cell_t e; later_t f;
";

#[test]
fn a_typedef_names_its_struct() {
    let cases = [
        ("quadrant_t", "strc([0, 8], [MPI_CHAR, f64])\n"),
        ("octant_t", "strc([0, 8], [MPI_CHAR, f64])\n"),
        ("fixed_t", "strc([0, 8], [MPI_CHAR, f64])\n"),
        ("struct quadrant", "strc([0, 8], [MPI_CHAR, f64])\n"),
        ("index_t", "MPI_INT\n"),
        ("cell_t", "MPI_INT\n"),
        ("later_t", "f32\n"),
    ];
    for (name, expected) in cases {
        assert_eq!(
            of_declared(TYPEDEFS, &[name, "--format", "notation"]),
            (0, expected.to_owned()),
            "{name}"
        );
        for options in [&["cc"][..], &["cc", "-gdwarf-4", "-fdebug-types-section"]] {
            let found = of_object(options, "c", TYPEDEFS, &[name, "--format", "notation"]);
            assert_eq!(found, (0, expected.to_owned()), "{options:?} {name}");
        }
    }
    let (code, text) = of_declared(TYPEDEFS, &["octant_t"]);
    assert!(code == 0 && text.starts_with("octant_t, declared:1\n"), "{text}");
    // Written functions and checks use the name that was asked for.
    let (_, text) = of_declared(TYPEDEFS, &["octant_t", "--include", "a.h", "--format", "c"]);
    assert!(text.contains("int octant_t_create(") && text.contains("offsetof(octant_t, x) == 8"), "{text}");
    // A list with a name has the structs that only a typedef calls so.
    let (code, text) = of_declared(TYPEDEFS, &["--list", "octant"]);
    assert!(code == 0 && text.contains("octant_t  ") && !text.contains("struct quadrant"), "{text}");
    let (_, all) = of_declared(TYPEDEFS, &["--list"]);
    assert!(all.contains("struct quadrant") && !all.contains("octant_t"), "{all}");
}

const USING: &str = "\
namespace sim { template <class T, int n> struct Vec { T x[n]; };
struct particle { Vec<float, 3> at; double mass; using position = Vec<float, 3>; };
using body = particle; }
using planet = sim::body;
using float3 = sim::Vec<float,3>;
template <class T> using triple = sim::Vec<T, 3>;
struct uses { planet p; float3 v; triple<double> t; sim::particle::position at;
              sim::Vec<unsigned long, 2> n; } used;
";

#[test]
fn using_names_its_class_and_blanks_do_not_count() {
    let particle = "strc([0, 16], [vec(3, 4, f32), f64])\n";
    let floats = "vec(3, 4, f32)\n";
    for (name, expected) in [
        ("planet", particle),
        ("sim::body", particle),
        ("body", particle),
        ("float3", floats),
        ("sim::particle::position", floats),
        ("sim::Vec<float,3>", floats),
        ("sim::Vec< float , 3 >", floats),
        ("Vec<float,3>", floats),
        ("struct sim::Vec<double,3>", "vec(3, 8, f64)\n"),
        ("sim::Vec<unsigned long, 2u>", "vec(2, 8, MPI_UNSIGNED_LONG)\n"),
    ] {
        let arguments = ["--from", "c++", name, "--format", "notation"];
        assert_eq!(of_declared(USING, &arguments), (0, expected.to_owned()), "{name}");
        for options in [&["c++"][..], &["c++", "-gdwarf-4", "-fdebug-types-section"]] {
            let found = of_object(options, "cpp", USING, &[name, "--format", "notation"]);
            assert_eq!(found, (0, expected.to_owned()), "{options:?} {name}");
        }
    }
    let (code, text) = of_declared(USING, &["--from", "c++", "--list", "Vec<float,3>"]);
    assert!(code == 0 && text.contains("sim::Vec<float, 3>"), "{text}");
}

#[test]
fn a_name_that_is_no_struct_is_told() {
    let declared = "\
typedef double vec3[3]; typedef struct q { int i; } *q_ptr, q_list[4]; typedef float real;
enum color { red, green }; typedef enum color color_t; typedef struct hidden hidden_t;
typedef struct { int i; } *bare_ptr; typedef int (*callback)(int);
struct { int x; double y; } point; struct q origin; double weights[3];
";
    for (name, why) in [
        (
            "vec3",
            "`vec3` is an array (`double[3]`), not a struct: other forms describe it, as in `vec(3, 8, f64)`",
        ),
        ("q_ptr", "`q_ptr` is a pointer (`struct q *`), not a struct: choose the struct, `struct q`"),
        (
            "q_list",
            "`q_list` is an array (`struct q[4]`), not a struct: choose the struct of its elements, \
             `struct q`",
        ),
        ("real", "`real` is a number (`float`), not a struct: MPI carries it as MPI_FLOAT"),
        ("color", "`color` is an enum, not a struct: MPI carries it as MPI_UNSIGNED"),
        ("enum color", "`color` is an enum, not a struct: MPI carries it as MPI_UNSIGNED"),
        ("color_t", "`color_t` is an enum (`enum color`), not a struct: MPI carries it as MPI_UNSIGNED"),
        ("hidden_t", "`hidden_t` is a `struct hidden`, which is declared, but not defined"),
        ("bare_ptr", "`bare_ptr` is a pointer, not a struct: name the struct in it"),
        ("callback", "`callback` is a pointer (`function *`), not a struct"),
        (
            "point",
            "`point` (declared:4) is a variable of a struct without a name: name the struct, as in `struct \
             point { … }`",
        ),
        ("origin", "`origin` (declared:4) is a variable: choose its type, `struct q`"),
        ("weights", "`weights` (declared:4) is a variable: its type, `double[3]`, is not a struct"),
        ("nothing", "describes no struct `nothing`; `dtype struct FILE` lists the structs"),
    ] {
        let (code, text) = of_declared(declared, &[name, "--format", "json"]);
        assert!(code == 2 && text.contains(why), "{name}: {text}");
        let (code, text) = of_object(&["cc"], "c", declared, &[name, "--format", "json"]);
        let why = why.replace("(declared:4)", "(a.c:4)");
        assert!(code == 2 && text.contains(&why), "{name}: {text}");
    }
    let (code, text) = of_declared(declared, &["q_t"]);
    assert!(code == 2 && text.contains("describes no struct `q_t`; `dtype struct FILE`"), "{text}");
    let (code, text) = of_declared(declared, &["_ptr"]);
    assert!(code == 2 && text.contains("describes no struct `_ptr`; similar names are `q_ptr`"), "{text}");
}

#[test]
fn a_name_of_several_structs_asks_which() {
    let declared = "struct a { int i; }; struct b { double d; }; typedef struct b a; typedef struct a c;";
    let (code, text) = of_declared(declared, &["a"]);
    assert!(code == 2 && text.contains("more than one struct is called `a`"), "{text}");
    assert!(text.contains("struct a of 4 bytes") && text.contains(" a of 8 bytes"), "{text}");
    assert_eq!(of_declared(declared, &["struct a", "--format", "notation"]), (0, "MPI_INT\n".to_owned()));
    assert_eq!(of_declared(declared, &["c", "--format", "notation"]), (0, "MPI_INT\n".to_owned()));
}

#[test]
fn structs_without_a_name_are_told_with_their_variables() {
    let declared = "struct { int x; double y; } point; int n;";
    for arguments in [&["--list"][..], &[], &["--format", "json"]] {
        let (code, text) = of_object(&["cc"], "c", declared, arguments);
        let why = "no struct with a name; the variable `point` (a.c:1) has one without: name it, as in \
                   `struct point { … }`";
        assert!(code == 2 && text.contains(why) && !text.contains("`-g`"), "{arguments:?}: {text}");
    }
    let (code, text) = of_object(&["cc"], "c", "int n;", &[]);
    assert!(code == 2 && text.contains("compile with `-g`, and use the struct in the program"), "{text}");
}

#[test]
fn a_header_in_cxx_that_is_called_h_is_read() {
    let folder = folder("names-header");
    let header = folder.join("shapes.h");
    fs::write(&header, "namespace s { class point { public: double x, y; }; }\n").unwrap();
    let dtype = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
        let output = command.arg("struct").arg(&header).arg("s::point").args(more).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    let (code, text) = dtype(&["--format", "notation"]);
    assert!(code == 2 && text.contains("For C++, add `--from c++`"), "{text}");
    for more in [&["--from", "c++"][..], &["--compiler", "c++"], &["--compiler", "g++ -std=c++17"]] {
        let found = dtype(&[more, &["--format", "notation"]].concat());
        assert_eq!(found, (0, "vec(2, 8, f64)\n".to_owned()), "{more:?}");
    }
    let (code, text) = dtype(&["--from", "c", "--compiler", "c++"]);
    assert!(code == 2 && !text.contains("--from c++"), "{text}");
}
