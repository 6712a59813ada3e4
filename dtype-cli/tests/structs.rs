//! Tests of structs of compiled programs in C, C++, Fortran and Rust, with and without optimization. The
//! layout that `dtype` reads from the debug information must be the one that the program itself prints.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// A field: a base type (a row of the table) or an earlier struct, and the dimensions of an array.
struct Field {
    kind: Kind,
    dimensions: Vec<u64>,
}

#[derive(Clone, Copy)]
enum Kind {
    Base(usize),
    Struct(usize),
}

/// A struct. `inherits` is the number of its base struct.
struct Struct {
    fields: Vec<Field>,
    is_packed: bool,
    inherits: Option<usize>,
}

/// The base types of a language: their names in the language, and in type maps.
type Bases = &'static [(&'static str, &'static str)];

const IN_C: Bases = &[
    ("char", "MPI_CHAR"),
    ("signed char", "MPI_SIGNED_CHAR"),
    ("short", "MPI_SHORT"),
    ("int", "MPI_INT"),
    ("long", "MPI_LONG"),
    ("unsigned long long", "MPI_UNSIGNED_LONG_LONG"),
    ("float", "f32"),
    ("double", "f64"),
    ("uint8_t", "u8"),
    ("int64_t", "i64"),
    ("long double", "MPI_LONG_DOUBLE"),
    ("size_t", "MPI_UNSIGNED_LONG"),
];

const IN_FORTRAN: Bases = &[
    ("integer", "MPI_INTEGER"),
    ("integer(1)", "MPI_INTEGER1"),
    ("integer(8)", "MPI_INTEGER8"),
    ("real", "MPI_REAL"),
    ("real(8)", "MPI_DOUBLE_PRECISION"),
    ("complex", "MPI_COMPLEX"),
    ("complex(8)", "MPI_DOUBLE_COMPLEX"),
    ("logical", "MPI_LOGICAL"),
    ("character", "MPI_CHARACTER"),
];

const IN_RUST: Bases = &[
    ("u8", "u8"),
    ("i16", "i16"),
    ("u32", "u32"),
    ("f32", "f32"),
    ("f64", "f64"),
    ("i64", "i64"),
    ("bool", "bool"),
    ("usize", "u64"),
];

/// A pseudo-random number generator (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (mixed ^ (mixed >> 27)) % limit
    }
}

const STRUCTS: usize = 30;

fn structs(seed: u64, bases: Bases) -> Vec<Struct> {
    let mut random = Random(seed);
    let mut all: Vec<Struct> = Vec::new();
    for number in 0..STRUCTS as u64 {
        let fields = (0..=random.below(7))
            .map(|_| {
                let is_struct = number > 0 && random.below(4) == 0;
                let kind = if is_struct {
                    Kind::Struct(random.below(number) as usize)
                } else {
                    Kind::Base(random.below(bases.len() as u64) as usize)
                };
                let dimensions =
                    (0..random.below(8).saturating_sub(5)).map(|_| 1 + random.below(4)).collect();
                Field { kind, dimensions }
            })
            .collect();
        let inherits = (number > 0 && random.below(4) == 0).then(|| random.below(number) as usize);
        all.push(Struct { fields, is_packed: random.below(6) == 0, inherits });
    }
    all
}

/// The layout of a struct as the program prints it: its size, and the offset and size of each field.
#[derive(Default, Debug)]
struct Printed {
    size: u64,
    fields: BTreeMap<String, (u64, u64)>,
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}:\n{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Parses lines of four words: struct, field (`-` for the struct itself), offset, size.
fn printed(output: &str) -> Vec<Printed> {
    let mut all: Vec<Printed> = (0..STRUCTS).map(|_| Printed::default()).collect();
    for line in output.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let [number, field, offset, size] = words[..] else { panic!("{line}") };
        let (number, offset, size) =
            (number.parse::<usize>().unwrap(), offset.parse().unwrap(), size.parse().unwrap());
        if field == "-" {
            all[number].size = size;
        } else {
            all[number].fields.insert(field.to_owned(), (offset, size));
        }
    }
    all
}

/// Returns the entries of a struct at offset `at`, as the program prints them, in the order of the fields.
fn entries(
    structs: &[Struct],
    bases: Bases,
    printed: &[Printed],
    number: usize,
    at: u64,
) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    if let Some(base) = structs[number].inherits {
        let first = printed[number].fields.get("base").map_or(0, |(offset, _)| *offset);
        all.extend(entries(structs, bases, printed, base, at + first));
    }
    for (i, field) in structs[number].fields.iter().enumerate() {
        let (offset, size) = printed[number].fields[&format!("f{i}")];
        let copies: u64 = field.dimensions.iter().product();
        for copy in 0..copies {
            let at = at + offset + copy * (size / copies);
            match field.kind {
                Kind::Base(base) => all.push((at, bases[base].1.to_owned())),
                Kind::Struct(inner) => all.extend(entries(structs, bases, printed, inner, at)),
            }
        }
    }
    all
}

fn dtype(arguments: &[&str]) -> Value {
    let text = run(Command::new(env!("CARGO_BIN_EXE_dtype")).args(arguments));
    serde_json::from_str(&text).unwrap()
}

/// Compares the layouts that the command reads from a program with those that the program prints.
fn check(program: &Path, names: &dyn Fn(usize) -> String, structs: &[Struct], bases: Bases) {
    let said = printed(&run(&mut Command::new(program)));
    let program = program.to_str().unwrap();
    let listed = dtype(&["struct", program, "--list", "--format", "json"]);
    for number in 0..STRUCTS {
        let name = names(number);
        let is_it = |item: &&Value| item["record"]["name"].as_str() == Some(&name);
        let record =
            &listed.as_array().unwrap().iter().find(is_it).unwrap_or_else(|| panic!("{name}"))["record"];
        assert_eq!(record["size"], said[number].size, "{program} {name}");
        let mut fields = BTreeMap::new();
        for field in record["fields"].as_array().unwrap() {
            let named = field["name"].as_str().unwrap();
            // The names of Fortran fields end with the number of the struct.
            let named = named.split('_').next().unwrap();
            let named = if named.starts_with('f') { named } else { "base" };
            let number = |key: &str| field[key].as_u64().unwrap();
            fields.insert(named.to_owned(), (number("offset"), number("size")));
        }
        let of_fields = |fields: &BTreeMap<String, (u64, u64)>| {
            let fields = fields.iter().filter(|(name, _)| name.starts_with('f'));
            fields.map(|(name, at)| (name.clone(), *at)).collect::<Vec<_>>()
        };
        assert_eq!(of_fields(&fields), of_fields(&said[number].fields), "{program} {name}");
        let map = dtype(&["flatten", program, "--name", &name]);
        let listed = |key: &str| map[key].as_array().cloned().unwrap_or_default();
        let types = if map["types"].is_array() {
            listed("types")
        } else {
            vec![map["type"].clone(); listed("displacements").len()]
        };
        let mut found: Vec<_> = listed("displacements")
            .iter()
            .zip(types)
            .map(|(at, name)| (at.as_u64().unwrap(), name.as_str().unwrap().to_owned()))
            .collect();
        let mut expected = entries(structs, bases, &said, number, 0);
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{program} {name}");
    }
}

/// Compiles the structs with their fields in the order that the command proposes. Their sizes must be those
/// that the command predicts.
fn check_orders(compiler: &str, program: &Path, structs: &[Struct], folder: &Path) {
    let listed = dtype(&["struct", program.to_str().unwrap(), "--list", "--format", "json"]);
    let (mut text, mut main, mut expected) = (in_c(structs, false), String::new(), String::new());
    text.truncate(text.find("int main").unwrap());
    for (number, Struct { fields, .. }) in structs.iter().enumerate() {
        let name = format!("struct s{number}");
        let found = listed.as_array().unwrap().iter().find(|item| item["record"]["name"] == *name).unwrap();
        let Some([size, order]) = found["least"].as_array().map(Vec::as_slice) else { continue };
        writeln!(text, "struct r{number} {{").unwrap();
        for field in order.as_array().unwrap() {
            let i: usize = field.as_str().unwrap()[1..].parse().unwrap();
            text += &declaration(&fields[i], i);
        }
        text += "};\n";
        writeln!(main, "  printf(\"{number} %zu\\n\", sizeof(struct r{number}));").unwrap();
        writeln!(expected, "{number} {size}").unwrap();
    }
    assert!(expected.lines().count() > 3, "{expected}");
    let source = folder.join("orders.c");
    fs::write(&source, format!("{text}int main(void) {{\n{main}  return 0;\n}}\n")).unwrap();
    let program = folder.join("orders");
    run(Command::new(compiler).arg("-w").arg("-o").arg(&program).arg(&source));
    assert_eq!(run(&mut Command::new(&program)), expected);
}

/// Returns the declaration of a field in C.
fn declaration(Field { kind, dimensions }: &Field, i: usize) -> String {
    let name = match kind {
        Kind::Base(base) => IN_C[*base].0.to_owned(),
        Kind::Struct(inner) => format!("struct s{inner}"),
    };
    let mut text = format!("  {name} f{i}");
    for count in dimensions {
        write!(text, "[{count}]").unwrap();
    }
    text + ";\n"
}

fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// Returns a program that declares structs in C, or in C++ with inheritance, and prints the offsets of their
/// fields.
fn in_c(structs: &[Struct], is_cxx: bool) -> String {
    let mut text = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n".to_owned();
    if is_cxx {
        text += "namespace sim {\n";
    }
    for (number, Struct { fields, is_packed, inherits }) in structs.iter().enumerate() {
        let packed = if *is_packed { "__attribute__((packed)) " } else { "" };
        let base = match inherits {
            Some(base) if is_cxx => format!(" : s{base}"),
            _ => String::new(),
        };
        writeln!(text, "struct {packed}s{number}{base} {{").unwrap();
        for (i, field) in fields.iter().enumerate() {
            text += &declaration(field, i);
        }
        writeln!(text, "}};\nstruct s{number} g{number};").unwrap();
    }
    if is_cxx {
        text += "}\nusing namespace sim;\n";
    }
    text += "int main(void) {\n";
    for (number, Struct { fields, inherits, .. }) in structs.iter().enumerate() {
        writeln!(text, "  printf(\"{number} - 0 %zu\\n\", sizeof g{number});").unwrap();
        if let (Some(base), true) = (inherits, is_cxx) {
            let of_base = format!("(char *)(struct s{base} *)&g{number} - (char *)&g{number}");
            writeln!(text, "  printf(\"{number} base %zu 0\\n\", (size_t)({of_base}));").unwrap();
        }
        for i in 0..fields.len() {
            let at = format!("(size_t)((char *)&g{number}.f{i} - (char *)&g{number})");
            writeln!(text, "  printf(\"{number} f{i} %zu %zu\\n\", {at}, sizeof g{number}.f{i});").unwrap();
        }
    }
    text + "  return 0;\n}\n"
}

/// Returns `true` if a compiler is installed.
fn is_there(compiler: &str) -> bool {
    Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn in_c_or_cxx(compilers: [&str; 2], is_cxx: bool, seed: u64) {
    let mut structs = structs(seed, IN_C);
    if !is_cxx {
        for each in &mut structs {
            each.inherits = None;
        }
    }
    let folder = folder(if is_cxx { "structs-cxx" } else { "structs-c" });
    let source = folder.join(if is_cxx { "all.cpp" } else { "all.c" });
    fs::write(&source, in_c(&structs, is_cxx)).unwrap();
    // The second compiler is optional.
    assert!(is_there(compilers[0]), "{}", compilers[0]);
    for compiler in compilers.into_iter().filter(|compiler| is_there(compiler)) {
        for options in
            [&["-O0"][..], &["-O2"], &["-O2", "-gdwarf-4"], &["-O0", "-gz", "-fdebug-types-section"]]
        {
            let program = folder.join(format!("{compiler}{}", options.concat()));
            run(Command::new(compiler).arg("-g").args(options).args(["-w", "-o"]).arg(&program).arg(&source));
            let name = |i| if is_cxx { format!("sim::s{i}") } else { format!("struct s{i}") };
            check(&program, &name, &structs, IN_C);
            if !is_cxx {
                check_orders(compiler, &program, &structs, &folder);
            }
        }
    }
}

#[test]
fn structs_of_c_are_where_the_program_says() {
    in_c_or_cxx(["cc", "clang"], false, 1);
}

#[test]
fn structs_of_cxx_are_where_the_program_says() {
    in_c_or_cxx(["c++", "clang++"], true, 2);
}

#[test]
fn derived_types_of_fortran_are_where_the_program_says() {
    let structs = structs(3, IN_FORTRAN);
    let mut text = "module all\n  implicit none\n".to_owned();
    for (number, Struct { fields, inherits, .. }) in structs.iter().enumerate() {
        let base = inherits.map_or(String::new(), |base| format!(", extends(s{base})"));
        writeln!(text, "  type{base} :: s{number}").unwrap();
        for (i, Field { kind, dimensions }) in fields.iter().enumerate() {
            let name = match kind {
                Kind::Base(base) => IN_FORTRAN[*base].0.to_owned(),
                Kind::Struct(inner) => format!("type(s{inner})"),
            };
            let counts: Vec<_> = dimensions.iter().map(u64::to_string).collect();
            let shape = if counts.is_empty() { String::new() } else { format!("({})", counts.join(", ")) };
            // A Fortran type cannot reuse the names of inherited fields.
            writeln!(text, "    {name} :: f{i}_{number}{shape}").unwrap();
        }
        writeln!(text, "  end type\n  type(s{number}), target, save :: g{number}").unwrap();
    }
    text += "end module\nprogram main\n  use all\n  implicit none\n";
    for (number, Struct { fields, inherits, .. }) in structs.iter().enumerate() {
        writeln!(text, "  write (*, '(i0, a, i0)') {number}, ' - 0 ', sizeof(g{number})").unwrap();
        if let Some(base) = inherits {
            let at = format!("loc(g{number}%s{base}) - loc(g{number})");
            writeln!(text, "  write (*, '(i0, a, i0, a)') {number}, ' base ', {at}, ' 0'").unwrap();
        }
        for i in 0..fields.len() {
            let field = format!("g{number}%f{i}_{number}");
            let at = format!("loc({field}) - loc(g{number})");
            writeln!(
                text,
                "  write (*, '(i0, a, i0, a, i0)') {number}, ' f{i} ', {at}, ' ', sizeof({field})"
            )
            .unwrap();
        }
    }
    text += "end program\n";
    let folder = folder("structs-fortran");
    let source = folder.join("all.f90");
    fs::write(&source, text).unwrap();
    for optimize in ["-O0", "-O2"] {
        let program = folder.join(format!("gfortran{optimize}"));
        let options = ["-g", optimize, "-w", "-J"];
        run(Command::new("gfortran").args(options).arg(&folder).arg("-o").arg(&program).arg(&source));
        let name = |i| format!("type(s{i})");
        check(&program, &name, &structs, IN_FORTRAN);
    }
}

#[test]
fn a_text_of_fortran_that_is_skipped_takes_its_hidden_length_with_it() {
    let folder = folder("structs-fortran-text");
    let source = folder.join("text.f90");
    let text = "\
program main
  type named
    character(len=:), allocatable :: name
    integer :: number
    character(len=3) :: tag
    real(8), allocatable :: values(:)
  end type
  type(named) :: one
  one%number = 1
  print *, one%number
end program
";
    fs::write(&source, text).unwrap();
    let program = folder.join("text");
    run(Command::new("gfortran").args(["-g", "-o"]).arg(&program).arg(&source));
    let dtype = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dtype"));
        let output = command.arg("struct").arg(&program).arg("type(named)").args(more).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let skipped = ["--skip", "name", "--skip", "values", "--format", "notation"];
    assert_eq!(dtype(&skipped), "strc([8, 12], [MPI_INTEGER, vec(3, 1, MPI_CHARACTER)])\n");
    let refused = dtype(&[]);
    assert!(refused.contains("`name` is a pointer (`character(len=:), pointer`)"), "{refused}");
    assert!(refused.contains("`values` is allocatable"), "{refused}");
}

#[test]
fn structs_of_rust_are_where_the_program_says() {
    let mut structs = structs(4, IN_RUST);
    for each in &mut structs {
        (each.inherits, each.is_packed) = (None, false);
    }
    let mut text =
        "#![allow(dead_code)]\nuse std::{hint::black_box, mem::{offset_of, size_of}};\n".to_owned();
    let mut main = String::new();
    for (number, Struct { fields, .. }) in structs.iter().enumerate() {
        let repr = if number % 2 == 0 { "#[repr(C)] " } else { "" };
        writeln!(text, "{repr}#[derive(Clone, Copy)] struct S{number} {{").unwrap();
        writeln!(main, "    println!(\"{number} - 0 {{}}\", size_of::<S{number}>());").unwrap();
        writeln!(main, "    black_box(std::mem::MaybeUninit::<S{number}>::uninit());").unwrap();
        for (i, Field { kind, dimensions }) in fields.iter().enumerate() {
            let name = match kind {
                Kind::Base(base) => IN_RUST[*base].0.to_owned(),
                Kind::Struct(inner) => format!("S{inner}"),
            };
            let name = dimensions.iter().rev().fold(name, |name, count| format!("[{name}; {count}]"));
            writeln!(text, "    f{i}: {name},").unwrap();
            let at = format!("offset_of!(S{number}, f{i}), size_of::<{name}>()");
            writeln!(main, "    println!(\"{number} f{i} {{}} {{}}\", {at});").unwrap();
        }
        text += "}\n";
    }
    let folder = folder("structs-rust");
    let source = folder.join("all.rs");
    fs::write(&source, format!("{text}fn main() {{\n{main}}}\n")).unwrap();
    for optimize in ["0", "2"] {
        let program = folder.join(format!("rustc{optimize}"));
        let optimize = format!("-Copt-level={optimize}");
        run(Command::new("rustc").args(["-g", &optimize, "-o"]).arg(&program).arg(&source));
        check(&program, &|i| format!("all::S{i}"), &structs, IN_RUST);
    }
}

/// Runs `dtype struct` on declarations in C. Returns the exit code, and the answer or the message.
fn of_declared(declarations: &str, arguments: &[&str]) -> (i32, String) {
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
