//! Hands on what cargo calls the machine.

fn main() {
    println!("cargo::rustc-env=TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
