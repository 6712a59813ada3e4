//! The build script: it compiles the loops in C that `bench-pack` measures against.

fn main() {
    println!("cargo::rerun-if-changed=c");
    cc::Build::new().file("c/loops.c").opt_level(3).warnings(true).compile("loops");
}
