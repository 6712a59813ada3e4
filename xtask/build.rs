//! The build script: it passes the target triple on to the crate, as the environment variable `TARGET`.

fn main() {
    println!("cargo::rustc-env=TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
