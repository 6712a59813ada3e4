//! Writes random types of every form that the derives accept to `structs.rs` and `messages.rs`, for the
//! program `generated`, and random layouts to `layouts.rs`, for the scenario `random-layouts`.
//!
//! `DTYPE_SEED` chooses another seed. A scenario that fails prints its seed.

use std::{env, fs, path::Path};

mod layouts;
mod messages;
mod random;
mod structs;

use random::Random;

fn main() {
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-env-changed=DTYPE_SEED");
    println!("cargo::rerun-if-env-changed=DTYPE_BRIEF");
    println!("cargo::rerun-if-env-changed=DTYPE_LONG");
    let seed = env::var("DTYPE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(2026);
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    let write = |name: &str, text: String| {
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    let is_set = |name: &str| env::var(name).is_ok_and(|value| value == "1");
    // The structs take minutes to compile.
    let [structs, messages, layouts] = match () {
        () if is_set("DTYPE_BRIEF") => [100, 12, 22],
        () if is_set("DTYPE_LONG") => [400, 100, 90],
        () => [150, 40, 90],
    };
    write("structs.rs", Random(seed).structs(seed, structs));
    write("messages.rs", Random(seed).messages(messages));
    write("layouts.rs", Random(seed).layouts(seed, layouts));
}
