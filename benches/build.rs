//! Compiles the loops in C that `bench-pack` measures against.

fn main() {
    println!("cargo::rerun-if-changed=c/loops.c");
    cc::Build::new().file("c/loops.c").opt_level(3).warnings(true).compile("loops");
}
