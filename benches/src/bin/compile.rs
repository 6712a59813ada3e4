//! `cargo xtask bench compile`: what the derive adds to the compilation of a crate, against rsmpi's `Equivalence` and
//! against none. Each crate is compiled alone, its dependencies being there, without incremental compilation.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use dtype_benches::measure::{Contender, Options, print, row};

/// Times the compilation of a crate of structs, for each derive in turn.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// Who derives, by name in the results: the derive, and what the crate depends on.
const CONTENDERS: [(&str, &str); 3] = [("ours", "MpiDatatype"), ("rsmpi", "Equivalence"), ("none", "")];

fn main() -> Result<()> {
    let Options { quick, json } = Arguments::parse().options;
    let (structs, runs) = if quick { (100, 2) } else { (500, 5) };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let target = root.join(target).join("bench-compile");
    for (name, derive) in CONTENDERS {
        write_crate(&target.join(name), root, name, derive, structs)?;
    }
    for action in ["check", "build"] {
        // The first time compiles the dependencies.
        CONTENDERS.iter().try_for_each(|(name, _)| compile(&target, name, action))?;
        let contenders = CONTENDERS.map(|(name, _)| {
            let target = &target;
            Contender::new(name, move || {
                compile(target, name, action).expect("it has been compiled before");
                None
            })
        });
        let row = row("compile", format!("{action}/{structs}"), contenders.into(), runs, Duration::ZERO);
        print(&row, json);
    }
    Ok(())
}

/// Compiles one of the crates, which has changed.
fn compile(target: &Path, name: &str, action: &str) -> Result<()> {
    let source = target.join(name).join("src/lib.rs");
    let now = fs::File::options().append(true).open(&source)?;
    now.set_modified(SystemTime::now())?;
    let mut cargo = Command::new("cargo");
    cargo.args([action, "--quiet"]).current_dir(target.join(name));
    cargo.env("CARGO_TARGET_DIR", target.join("target")).env("CARGO_INCREMENTAL", "0").stdout(Stdio::null());
    ensure!(cargo.status()?.success(), "`cargo {action}` fails for the crate `structs-{name}`");
    Ok(())
}

fn write_crate(folder: &Path, root: &Path, name: &str, derive: &str, structs: usize) -> Result<()> {
    let runtime = root.join("dtype-runtime");
    let dependency = match name {
        "ours" => format!("dtype-runtime = {{ path = \"{}\" }}", runtime.display()),
        "rsmpi" => r#"mpi = { version = "0.8.2", default-features = false, features = ["derive"] }"#.into(),
        _ => String::new(),
    };
    let manifest = format!(
        "[package]\nname = \"structs-{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependency}\n\n\
         [workspace]\n"
    );
    let import = match name {
        "ours" => "use dtype_runtime::MpiDatatype;\n",
        "rsmpi" => "use mpi::traits::Equivalence;\n",
        _ => "",
    };
    let derive = if derive.is_empty() { String::new() } else { format!("{derive}, ") };
    let source = (0..structs).map(|i| typical(i, &derive)).collect::<String>();
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/lib.rs"), format!("{import}{source}"))?;
    Ok(())
}

/// Five kinds of structs in turn, as they occur in codes: particles, cells that hold them, mixed fields left to the compiler,
/// tensors, headers.
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
