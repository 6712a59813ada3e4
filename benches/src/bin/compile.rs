//! `cargo xtask bench compile`: the time that the macros add to the compilation of a crate.
//!
//! Each crate holds structs or layouts, and functions that send them. It is compared with a crate that does
//! the same with rsmpi, and with one that uses neither library. Each crate is compiled alone, after its
//! dependencies, without incremental compilation.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::SystemTime,
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use dtype_benches::measure::{Contender, Effort, Options, print, row};

/// Times the compilation of crates, for each contender in turn.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

const CONTENDERS: [&str; 3] = ["ours", "rsmpi", "none"];

fn main() -> Result<()> {
    let options = Arguments::parse().options;
    let quick = options.quick;
    let (structs, layouts, runs) = if quick { (100, 40, 2) } else { (500, 200, 5) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = root.join(target).join("bench-compile");
    for (subject, count) in [("structs", structs), ("layouts", layouts)] {
        let source = if subject == "structs" { of_structs } else { of_layouts };
        for name in CONTENDERS {
            write_crate(&target, root, &format!("{subject}-{name}"), name, &source(name, count))?;
        }
        for action in ["check", "build"] {
            let compile = |name: &str| compile(&target, &format!("{subject}-{name}"), action);
            // The first compilation also compiles the dependencies.
            CONTENDERS.iter().try_for_each(|name| compile(name))?;
            let contenders = CONTENDERS.map(|name| {
                Contender::new(name, move || {
                    compile(name).expect("it has been compiled before");
                    None
                })
            });
            let case = match subject {
                "structs" => format!("{action}/{count}"),
                _ => format!("{action}/{count}-{subject}"),
            };
            print(&row("compile", case, contenders.into(), &Effort::new(runs, 0)), &options);
        }
    }
    Ok(())
}

/// Touches the source of a crate, and compiles the crate.
fn compile(target: &Path, name: &str, action: &str) -> Result<()> {
    let source = target.join(name).join("src/lib.rs");
    let now = fs::File::options().append(true).open(&source)?;
    now.set_modified(SystemTime::now())?;
    let mut cargo = Command::new("cargo");
    cargo.args([action, "--quiet"]).current_dir(target.join(name));
    cargo.env("CARGO_TARGET_DIR", target.join("target")).env("CARGO_INCREMENTAL", "0").stdout(Stdio::null());
    ensure!(cargo.status()?.success(), "`cargo {action}` fails for the crate `{name}`");
    Ok(())
}

fn write_crate(target: &Path, root: &Path, package: &str, contender: &str, source: &str) -> Result<()> {
    let runtime = root.join("dtype-runtime");
    let rsmpi = r#"mpi = { version = "0.8.2", default-features = false, features = ["derive"] }"#;
    let dependencies = match contender {
        "ours" => format!("dtype-runtime = {{ path = \"{}\" }}\n{rsmpi}", runtime.display()),
        "rsmpi" => rsmpi.into(),
        _ => String::new(),
    };
    let own = root.join("mpi-sys");
    let manifest = format!(
        "[package]\nname = \"{package}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\n{dependencies}\n\n[patch.crates-io]\nmpi-sys = {{ path = \"{}\" }}\n\n[workspace]\n",
        own.display()
    );
    let folder = target.join(package);
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), source)?;
    Ok(())
}

fn of_structs(contender: &str, count: usize) -> String {
    let (import, derive) = match contender {
        "ours" => {
            ("use dtype_runtime::MpiDatatype;\nuse mpi::{topology::Process, traits::*};\n", "MpiDatatype, ")
        }
        "rsmpi" => ("use mpi::{topology::Process, traits::*};\n", "Equivalence, "),
        _ => ("", ""),
    };
    let send = |i| match contender {
        "none" => format!("pub fn send{i}(values: &[S{i}]) -> usize {{ values.len() }}\n"),
        _ => format!("pub fn send{i}(to: &Process<'_>, values: &[S{i}]) {{ to.send(values) }}\n"),
    };
    let structs = (0..count).map(|i| typical(i, derive) + &send(i)).collect::<String>();
    format!("{import}{structs}")
}

/// Returns functions that send, in turn, a column, a block, every second row, a face and a triangle.
///
/// Our functions use `layout!`. Those of rsmpi build a datatype by hand and send an unsafe view. The
/// functions without either only take a slice of the array.
fn of_layouts(contender: &str, count: usize) -> String {
    let import = match contender {
        "ours" => "use dtype_runtime::layout;\nuse mpi::{topology::Process, traits::*};\n",
        "rsmpi" => "use mpi::{datatype::{UserDatatype, View}, topology::Process, traits::*};\n",
        _ => "",
    };
    let functions = (0..count).map(|i| {
        let n = 20 + i;
        let array =
            if i % 5 == 3 { format!("[[[f64; {n}]; {n}]; {n}]") } else { format!("[[f64; {n}]; {n}]") };
        let body = match (contender, i % 5) {
            ("ours", kind) => {
                let layout = match kind {
                    0 => format!("f64[{n}][{n}] => [.., 3]"),
                    1 => format!("f64[{n}][{n}] => [2..15, 4..-3]"),
                    2 => format!("f64[{n}][{n}] => [..;2, ..]"),
                    3 => format!("f64[{n}][{n}][{n}] => [1..-1, 1..-1, 0]"),
                    _ => format!("f64[{n}][{n}] => [i, i..] for i in 0..10"),
                };
                format!("to.send(&layout!({layout}).of(array));")
            }
            ("rsmpi", kind) => {
                let datatype = match kind {
                    0 => format!("UserDatatype::vector({n}, 1, {n}, &f64::equivalent_datatype())"),
                    1 => format!("UserDatatype::vector(13, {}, {n}, &f64::equivalent_datatype())", n - 7),
                    2 => format!(
                        "UserDatatype::vector({}, {n}, {}, &f64::equivalent_datatype())",
                        n / 2,
                        2 * n
                    ),
                    3 => format!("UserDatatype::vector({}, 1, {n}, &f64::equivalent_datatype())", n - 2),
                    _ => {
                        let row = |i: i32| (n as i32 - i, i * (n as i32 + 1));
                        let (lengths, starts): (Vec<_>, Vec<_>) = (0..10).map(row).unzip();
                        format!(
                            "UserDatatype::indexed(&{lengths:?}, &{starts:?}, &f64::equivalent_datatype())"
                        )
                    }
                };
                let flat = if kind == 3 { ".as_flattened()" } else { "" };
                format!(
                    "let datatype = {datatype};\n    let values = array.as_flattened(){flat};\n    \
                     to.send(&unsafe {{ View::with_count_and_datatype(values, 1, &datatype) }});"
                )
            }
            _ => String::from("let _ = array.as_flattened();"),
        };
        let to = if contender == "none" { "" } else { "to: &Process<'_>, " };
        format!("pub fn send{i}({to}array: &{array}) {{\n    {body}\n}}\n")
    });
    format!("{import}{}", functions.collect::<String>())
}

/// Returns one of five kinds of structs, as they occur in codes: particles, cells that hold particles, mixed
/// fields in the compiler's order, tensors, and headers.
fn typical(i: usize, derive: &str) -> String {
    let (repr, fields) = match i % 5 {
        0 => (
            "#[repr(C)] ",
            "pub position: [f64; 3], pub velocity: [f64; 3], pub id: u64, pub kind: u8".into(),
        ),
        1 => ("#[repr(C)] ", format!("pub particles: [S{}; 2], pub level: u8", i - 1)),
        2 => {
            ("", "pub a: u8, pub b: f64, pub c: i16, pub d: f32, pub e: bool, pub f: u32, pub g: i64".into())
        }
        3 => ("", "pub stress: [[f64; 3]; 3], pub strain: [[f64; 3]; 3], pub energy: f64".into()),
        _ => {
            ("#[repr(C)] ", "pub name: [u8; 32], pub count: u64, pub flags: (u8, bool), pub time: f64".into())
        }
    };
    format!("#[derive({derive}Clone, Copy)]\n{repr}pub struct S{i} {{ {fields} }}\n")
}
