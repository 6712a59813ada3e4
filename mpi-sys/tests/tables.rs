//! Compares the tables with the header of the MPI library for which `MPICC` compiles, or `mpicc`. Without a
//! compiler, nothing is compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    io::Write,
    process::{Command, Stdio},
};

use table::{handle, number, rows};

#[path = "../table.rs"]
mod table;

fn compiler() -> OsString {
    env::var_os("MPICC").unwrap_or_else(|| "mpicc".into())
}

/// Returns the header after the preprocessor; with `-dM`, its macros.
fn header(further: &[&str]) -> Option<String> {
    let arguments = ["-E", "-P", "-x", "c", "-"];
    let mut child = Command::new(compiler())
        .args(further)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(b"#include <mpi.h>\n").ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a type of C without names and spaces; a list is a pointer.
fn plain(argument: &str) -> String {
    let lists = argument.matches('[').count();
    let argument = argument.split('[').next().unwrap_or_default();
    let is_name = |word: &str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let spaced = argument.replace('*', " * ");
    let mut words: Vec<&str> = spaced.split_whitespace().filter(|word| *word != "restrict").collect();
    // The last word is the argument's name, unless it is its type.
    let types = words.iter().filter(|word| is_name(word) && **word != "const").count();
    if types > 1 && words.last().is_some_and(|last| is_name(last)) {
        words.pop();
    }
    let text = words.concat() + &"*".repeat(lists);
    text.replace("const", "const ").replace("_fn*", "_function*").replace("* const ", "*")
}

/// Returns the type of C for a kind of argument of the table.
fn expected(kind: &str) -> String {
    let (mode, rest) = ["const ", "out ", "inout "]
        .iter()
        .find_map(|mode| Some((mode.trim(), kind.strip_prefix(mode)?)))
        .unwrap_or(("", kind));
    let lists = rest.matches('[').count();
    let base = rest.split('[').next().unwrap_or_default();
    let stars = base.matches('*').count() + lists;
    let base = base.trim_end_matches('*');
    let of = match base {
        "status" => "MPI_Status",
        // Types of C, and not of Rust.
        "int" | "double" => base,
        base => handle(base).or_else(|| number(base)).unwrap_or(base),
    };
    let is_pointed = lists == 0 && (["out", "inout"].contains(&mode) || base == "status");
    let is_function = base.starts_with("MPI_");
    let stars = stars + usize::from(is_pointed || is_function);
    format!("{}{of}{}", if mode == "const" { "const " } else { "" }, "*".repeat(stars))
}

/// Returns a text without `__attribute__((…))`.
fn without_attributes(text: &str) -> String {
    let mut parts = text.split("__attribute__");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut depth = 0;
        let end = part.char_indices().find_map(|(i, c)| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && depth == 0).then_some(i + 1)
        });
        plain.push_str(&part[end.unwrap_or(0)..]);
    }
    plain
}

/// Checks that the header declares each function with the arguments of the table, and no other functions.
#[test]
fn functions_are_those_of_the_header() {
    let Some(header) = header(&[]) else { return };
    let text = without_attributes(&header.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut declared = BTreeMap::new();
    for declaration in text.split(';') {
        let Some((front, arguments)) = declaration.split_once('(') else { continue };
        let Some(name) = front.split([' ', '*']).next_back().filter(|name| name.starts_with("MPI_")) else {
            continue;
        };
        if front.contains("typedef") {
            continue;
        }
        let Some((arguments, _)) = arguments.split_once(')') else { continue };
        // Arguments that are functions, and lists of triples, have brackets of their own.
        declared.insert(name.to_owned(), arguments.to_owned());
    }
    assert!(declared.len() > 300, "{} functions", declared.len());
    let (mut known, mut wrong) = (BTreeSet::new(), Vec::new());
    for row in rows(&fs::read_to_string("functions.txt").expect("the table")) {
        let (name, rest) = row.split_once('(').expect("arguments");
        known.insert(name.to_owned());
        let Some(found) = declared.get(name) else { continue };
        let (list, _) = rest.rsplit_once(')').expect("the end of the arguments");
        let kinds = list.split(", ").filter(|argument| !argument.is_empty());
        let own: Vec<String> =
            kinds.map(|argument| expected(argument.split_once(": ").expect("a kind").1)).collect();
        let found: Vec<String> =
            found.split(',').filter(|argument| argument.trim() != "void").map(plain).collect();
        // Some headers lack a `const`.
        let is_same =
            |(own, found): (&String, &String)| own == found || own.strip_prefix("const ") == Some(&**found);
        if own.len() != found.len() || !own.iter().zip(&found).all(is_same) {
            wrong.push(format!("{name}: {own:?}, but the header has {found:?}"));
        }
    }
    // The tools interface, functions with any arguments, removed ones, and Fortran's.
    let is_left_out = |name: &&String| {
        let removed = [
            "MPI_Address",
            "MPI_Errhandler_create",
            "MPI_Errhandler_get",
            "MPI_Errhandler_set",
            "MPI_Type_extent",
            "MPI_Type_hindexed",
            "MPI_Type_hvector",
            "MPI_Type_lb",
            "MPI_Type_struct",
            "MPI_Type_ub",
            "MPI_Pcontrol",
        ];
        name.starts_with("MPI_T_")
            || name.contains("f2c")
            || name.contains("c2f")
            || name.contains("f08")
            || name.starts_with("MPI_Type_create_f90")
            || removed.contains(&&***name)
    };
    let further: Vec<_> =
        declared.keys().filter(|name| !known.contains(*name)).filter(|name| !is_left_out(name)).collect();
    assert!(wrong.is_empty() && further.is_empty(), "{wrong:#?}\n{further:?}");
}

/// Checks that a program in C has the values of the table.
#[test]
fn constants_are_those_of_the_header() {
    let (Some(header), Some(macros)) = (header(&[]), header(&["-dM"])) else { return };
    let major = |name: &str| {
        let line = macros.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")))?;
        line.trim_matches('"').split('.').next()?.parse::<u32>().ok()
    };
    let families: &[&str] = if macros.contains("#define OMPI_MAJOR_VERSION") {
        &["openmpi"]
    } else if macros.contains("#define MPI_H_ABI") {
        &["abi"]
    } else if major("MPICH_VERSION").is_some_and(|major| major >= 5) {
        &["mpich5", "mpich"]
    } else if macros.contains("#define I_MPI_VERSION") {
        &["intel", "mpich"]
    } else {
        &["mpich"]
    };
    let words: BTreeSet<&str> =
        header.split(|c: char| !c.is_alphanumeric() && c != '_').chain(macros.split_whitespace()).collect();
    let table = rows(&fs::read_to_string("constants.txt").expect("the table"));
    let mut expected = BTreeMap::new();
    let mut program = String::from(
        "#define _GNU_SOURCE
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
static void handle(const char *name, unsigned long value) {
    Dl_info info;
    void *place = (void *)value;
    if (value > 0xffffffffUL && (long)value > 0 && dladdr(place, &info) && info.dli_saddr == place)
        printf(\"%s %s\\n\", name, info.dli_sname);
    else
        printf(\"%s %ld\\n\", name, (long)value);
}
int main(void) {
",
    );
    for row in &table {
        let (left, right) = row.split_once(" = ").expect("a value");
        let (name, kind) = left.split_once(": ").unwrap_or((left, "int"));
        if !words.contains(name) || name.starts_with("MPI_MAX_") && !left.contains(':') {
            continue;
        }
        let value = if left.contains(':') {
            let of = |family: &&str| {
                right.split(", ").find_map(|value| value.strip_prefix(family)?.strip_prefix(' '))
            };
            families.iter().find_map(of)
        } else {
            Some(right)
        };
        let Some(value) = value.filter(|value| !value.starts_with('*')) else { continue };
        let is_number = ["int", "offset"].contains(&kind);
        let line = if is_number {
            format!("    printf(\"{name} %lld\\n\", (long long)({name}));\n")
        } else {
            format!("    handle(\"{name}\", (unsigned long)({name}));\n")
        };
        program.push_str(&line);
        expected.insert(name.to_owned(), value.to_owned());
    }
    program.push_str("}\n");
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (source, binary) = (format!("{folder}/constants.c"), format!("{folder}/constants"));
    fs::write(&source, program).expect("a file is written");
    let status = Command::new(compiler()).args(["-w", "-o", &binary, &source, "-ldl"]).status();
    assert!(status.is_ok_and(|status| status.success()), "{source} does not compile");
    let output = Command::new(&binary).output().expect("it runs");
    let output = String::from_utf8_lossy(&output.stdout);
    let found: BTreeMap<&str, &str> = output.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(found.len(), expected.len());
    let number = |text: &str| -> Option<i64> {
        text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |text| i64::from_str_radix(text, 16).ok())
    };
    let mut wrong = Vec::new();
    for (name, value) in &expected {
        let found = found[&**name];
        let is_null = value.ends_with("_null") && families == ["openmpi"];
        let is_equal = match (number(value), number(found)) {
            // Intel MPI needs less room than MPICH for a buffered send.
            (Some(value), Some(found)) if name == "MPI_BSEND_OVERHEAD" => value >= found,
            // MPICH's handles are integers of 4 bytes.
            (Some(value), Some(found)) => value == found || value == found & 0xffff_ffff,
            (None, None) => value == found || is_null,
            _ => false,
        };
        if !is_equal {
            wrong.push(format!("{name}: {value}, but the header has {found}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
