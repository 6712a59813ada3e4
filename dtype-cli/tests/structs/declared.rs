//! Structs of declarations and object files: how they are shown, what MPI cannot carry of them, and what the
//! messages say.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use super::{folder, run};

/// Runs `dtype struct` on declarations in C. Returns the exit code, and the answer or the message.
pub(super) fn of_declared(declarations: &str, arguments: &[&str]) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dtype"))
        .args(["struct", "-"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(declarations.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

const DECLARED: &str = "\
struct node { struct node *next; char tag; double x[2][3]; unsigned flags : 3; };
typedef struct { char c; union { int i; float f; } u;
                 union { struct { double x, y; }; double v[2]; }; } mixed;
struct loose { char a; double b; short c; };
";

#[test]
fn a_struct_is_shown_as_a_table_with_a_better_order() {
    let expected = "\
struct loose, declared:4
offset    size
     0       1  a  char
     1       7     padding
     8       8  b  double
    16       2  c  short int
    18       6     padding
24 bytes, 13 of padding; 8 fewer in the order b, c, a

cost 20 (proven)
strc 3
├─ @ 0: MPI_CHAR
├─ @ 8: f64
└─ @ 16: MPI_SHORT
";
    assert_eq!(of_declared(DECLARED, &["loose"]), (0, expected.to_owned()));
}

#[test]
fn what_mpi_cannot_carry_is_named_with_the_reason() {
    let (code, text) = of_declared(DECLARED, &["struct node", "--format", "json"]);
    assert_eq!(code, 2, "{text}");
    for part in [
        "MPI cannot carry all of `struct node` (declared:1):",
        "`next` is a pointer (`struct node *`): an address means nothing to another process",
        "`flags` is a bit-field of 3 bits, but MPI datatypes consist of whole bytes",
        "`--skip next`",
    ] {
        assert!(text.contains(part), "{text}");
    }
    let skipped = ["node", "--skip", "next", "--skip", "flags", "--format", "notation"];
    let expected = "strc([8, 16], [MPI_CHAR, vec(6, 8, f64)])\n";
    assert_eq!(of_declared(DECLARED, &skipped), (0, expected.to_owned()));
    let (code, text) = of_declared(DECLARED, &["node", "--skip", "nxt", "--format", "json"]);
    assert_eq!(
        (code, text.contains("has no field `nxt` to skip; its fields are next, tag, x, flags")),
        (2, true),
        "{text}"
    );
}

#[test]
fn what_is_skipped_must_be_a_field_of_the_struct_that_is_meant() {
    let two = "struct a { struct a *next; int i; };\nstruct b { int j; double d; };\n";
    let (code, text) = of_declared(two, &["b", "--skip", "next", "--format", "json"]);
    assert_eq!(
        (code, text.contains("has no field `next` to skip; its fields are j, d")),
        (2, true),
        "{text}"
    );
    // If no struct is named, the command uses the last one.
    let folder = folder("structs-skipped");
    let header = folder.join("two.h");
    fs::write(&header, two).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
    let output = command.args(["normalize", "--skip", "next"]).arg(&header).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let is_told = text.contains("has no field `next` to skip; its fields are j, d");
    assert_eq!((output.status.code(), is_told), (Some(2), true), "{text}");
}

#[test]
fn a_header_may_begin_with_a_mark_of_its_byte_order() {
    let (code, text) = of_declared("\u{feff}struct b { int j; double d; };", &["b", "--format", "notation"]);
    assert_eq!((code, text.as_str()), (0, "strc([0, 8], [MPI_INT, f64])\n"));
}

#[test]
fn a_union_is_carried_where_its_members_have_the_same_type_map() {
    let (_, text) = of_declared(DECLARED, &["mixed"]);
    assert!(
        text.contains("`u` is a union (`int i`, `float f`): MPI cannot know which member is in use"),
        "{text}"
    );
    let expected = "strc([0, 4, 8], [MPI_CHAR, f32, vec(2, 8, f64)])\n";
    let skipped = ["mixed", "--skip", "u.i", "--format", "notation"];
    assert_eq!(of_declared(DECLARED, &skipped), (0, expected.to_owned()));
}

#[test]
fn names_in_written_rust_are_different_and_rusts_own() {
    let written = |declared: &str, name: &str| {
        let (code, text) = of_declared(declared, &[name, "--format", "rust"]);
        assert_eq!(code, 0, "{text}");
        let names: Vec<_> = text.lines().filter_map(|line| line.trim().strip_prefix("pub ")).collect();
        names.iter().map(|name| name.split([':', '{']).next().unwrap().trim().to_owned()).collect::<Vec<_>>()
    };
    let inner = "struct kin { int a; double b; }; struct s { struct kin x; int x_at8; double x_at0; };";
    assert_eq!(written(inner, "s"), ["struct S", "x_at0_", "x_at8_", "x_at8", "x_at0"]);
    let gap = "struct s { char gap0; double d __attribute__((aligned(64))); };";
    assert_eq!(written(gap, "s"), ["struct S", "gap0", "gap1", "d"]);
    let keywords = "struct Self { int type; double self; };";
    assert_eq!(written(keywords, "Self"), ["struct LayoutSelf", "r#type", "self_"]);
    let aligned = "struct s { char c; int d; } __attribute__((aligned(64)));";
    assert!(of_declared(aligned, &["s", "--format", "rust"]).1.contains("#[repr(C, align(64))]"));
}

#[test]
fn no_order_is_proposed_where_alignments_ask_for_more() {
    for declared in [
        "struct s { int a; int b; char c[100]; } __attribute__((aligned(64)));",
        "typedef float v4 __attribute__((vector_size(16))); struct s { v4 v; int n; };",
        "struct inner { double d; } __attribute__((aligned(32))); struct s { struct inner i; int n; };",
        "struct s { int a; int : 16; int b; };",
        "struct s { char c; double d; } __attribute__((packed));",
    ] {
        let (code, text) = of_declared(declared, &["s"]);
        assert_eq!((code, text.contains("fewer")), (0, false), "{declared}\n{text}");
    }
}

#[test]
fn what_is_known_only_at_run_time_is_refused() {
    for (declared, why) in [
        ("struct s { int n; double v[]; };", "`v` is an array without a length"),
        ("struct s { int n; double v[0]; };", "`v` is an array of length 0"),
        ("struct s { int n; void (*f)(int); };", "`f` is a pointer (`function *`)"),
        ("struct s { int n; __int128 wide; };", "`wide` is a `__int128` of 16 bytes"),
        ("struct s { int n; _Float16 half; };", "`half` is a `_Float16` of 2 bytes"),
    ] {
        let (code, text) = of_declared(declared, &["s", "--format", "c"]);
        assert_eq!((code, text.contains(why)), (2, true), "{declared}\n{text}");
    }
}

#[test]
fn object_files_are_read_and_others_told_what_to_do() {
    let folder = folder("structs-objects");
    let source = folder.join("one.c");
    fs::write(&source, "struct one { char c; double d; } one; struct two { int i; } two;\n").unwrap();
    let dtype = |options: &[&str], file: &str| {
        let object = folder.join("one.o");
        run(Command::new("cc")
            .arg("-c")
            .args(options)
            .arg("-o")
            .arg(&object)
            .arg(&source)
            .current_dir(&folder));
        run(Command::new("ar").arg("rcs").arg(folder.join("lib.a")).arg(&object));
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
        let output = command.args(["struct", "--list"]).arg(folder.join(file)).output().unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code().unwrap(), text)
    };
    for options in
        [&["-g"][..], &["-g", "-fdebug-types-section"], &["-g", "-gdwarf-4", "-fdebug-types-section"]]
    {
        let (code, text) = dtype(options, "one.o");
        assert!(
            code == 0 && text.contains("struct one") && text.contains("struct two"),
            "{options:?}\n{text}"
        );
    }
    for (options, file, why) in [
        (&["-g0"][..], "one.o", "compile with `-g`"),
        (&["-g", "-gsplit-dwarf"], "one.o", "compile without `-gsplit-dwarf`"),
        (&["-g"], "lib.a", "this is an archive"),
    ] {
        let (code, text) = dtype(options, file);
        assert!(code == 2 && text.contains(why), "{options:?}\n{text}");
    }
}

#[test]
fn structs_of_the_mpi_library_are_not_listed() {
    let folder = folder("structs-mpi");
    fs::write(folder.join("mpi.h"), "typedef struct { int source; char gap; int tag; } MPI_Status;\n")
        .unwrap();
    let source = folder.join("own.c");
    fs::write(&source, "#include \"mpi.h\"\nMPI_Status status; struct own { double x; char c; } own;\n")
        .unwrap();
    let object = folder.join("own.o");
    run(Command::new("cc").args(["-g", "-c", "-o"]).arg(&object).arg(&source));
    let listed = run(Command::new(env!("CARGO_BIN_EXE_dtype")).arg("struct").arg(&object));
    assert!(listed.contains("struct own") && !listed.contains("MPI_Status"), "{listed}");
    // Whoever asks for them sees them.
    for arguments in [&["--list", "own.o", "MPI_S"][..], &["--from", "c", "mpi.h"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
        let listed = run(command.arg("struct").args(arguments).current_dir(&folder));
        assert!(listed.contains("MPI_Status"), "{arguments:?}: {listed}");
    }
}

#[test]
fn a_struct_with_a_long_name_has_a_function_with_a_short_one() {
    let name = "n".repeat(41);
    for (name, function) in [(&name[..40], &name[..40]), (&name, "layout"), ("_own", "layout")] {
        let declared = format!("struct {name} {{ double x; char c; }};");
        let (code, text) = of_declared(&declared, &["--format", "c", name]);
        assert!(code == 0 && text.contains(&format!("int {function}_create(")), "{text}");
    }
}

#[test]
fn a_name_that_is_unknown_and_what_does_not_compile_are_told() {
    let (code, text) = of_declared(DECLARED, &["struct nod"]);
    assert_eq!(code, 2);
    assert!(
        text.contains("the debug information describes no struct `struct nod`; similar names are `node`"),
        "{text}"
    );
    let (code, text) = of_declared("struct broken { int i }", &[]);
    assert_eq!(code, 2);
    assert!(text.contains("does not compile the declarations") && text.contains("declared:1"), "{text}");
}

#[test]
fn written_c_checks_the_struct_in_its_header() {
    let folder = folder("structs-header");
    let header = folder.join("loose.h");
    fs::write(&header, "struct loose { char a; double b; short c; };\n").unwrap();
    let program = run(Command::new(env!("CARGO_BIN_EXE_dtype"))
        .args(["struct", "--include", "loose.h", "--format", "c"])
        .arg(&header)
        .arg("loose"));
    assert!(program.contains("#include \"loose.h\""), "{program}");
    assert!(program.contains("static_assert(offsetof(struct loose, b) == 8,"), "{program}");
    assert!(program.contains("int loose_create(MPI_Datatype *newtype)"), "{program}");
    // MPI's header is left out: only the checks are compiled.
    let checks: String = program
        .lines()
        .filter(|line| {
            line.starts_with("#include") && !line.contains("mpi.h") || line.starts_with("static_assert")
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let source = folder.join("checks.c");
    fs::write(&source, &checks).unwrap();
    let compile = |header_text: &str| {
        fs::write(&header, header_text).unwrap();
        let mut command = Command::new("cc");
        command.args(["-std=c11", "-c", "-o"]).arg(folder.join("checks.o")).arg(&source);
        command.stderr(Stdio::null()).status().unwrap().success()
    };
    assert!(compile("struct loose { char a; double b; short c; };\n"));
    assert!(!compile("struct loose { char a; short c; double b; };\n"));
}
