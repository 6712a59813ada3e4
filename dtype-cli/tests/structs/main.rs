//! Tests of structs of compiled programs in C, C++, Fortran and Rust, with and without optimization. The
//! layout that `dtype` reads from the debug information must be the one that the program itself prints.
//!
//! `declared` has structs of declarations and what is said of them, `names` the names that lead to
//! structs, and `run` the choice of a preloaded library, which needs a compiler, too.

mod declared;
mod names;
mod run;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
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
