//! The build script: it writes and compiles the loops by hand in C. These are the loops for the generated
//! layouts, and those in the folder `c`.

use std::{env, fs, path::PathBuf};

mod by_hand;
#[path = "../src/generate/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the library needs the rest")]
mod generate;

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/generate");
    println!("cargo::rerun-if-env-changed=DTYPE_LAYOUTS_SEED");
    let seed = env::var("DTYPE_LAYOUTS_SEED").unwrap_or_else(|_| "1".to_owned());
    println!("cargo::rustc-env=DTYPE_LAYOUTS_SEED={seed}");
    let seed = seed.parse().expect("DTYPE_LAYOUTS_SEED is a number");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let drawn = folder.join("drawn.c");
    fs::write(&drawn, by_hand::source(&generate::measured(seed))).expect("OUT_DIR can be written");
    cc::Build::new().files(["c/user.c".into(), drawn]).opt_level(3).warnings(true).compile("written");
}
