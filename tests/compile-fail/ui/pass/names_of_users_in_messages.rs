//! A user's own types may have the names of types of the standard library, and a wrapper may hold any type.

use std::path::PathBuf;

use dtype_runtime::{
    Error, MpiMessage,
    message::{Fingerprint, Writer, to_bytes},
};

#[derive(MpiMessage)]
struct Path {
    nodes: Vec<u32>,
}

#[derive(MpiMessage)]
struct Instant(f64);

mod path {
    #[derive(dtype_runtime::MpiMessage)]
    pub struct Path<T>(pub Vec<T>);
}

mod time {
    #[derive(dtype_runtime::MpiMessage)]
    pub struct Instant<T>(pub T);
}

#[derive(MpiMessage)]
struct Route {
    path: Path,
    paths: Vec<Path>,
    at: Instant,
    generic: (path::Path<u8>, time::Instant<u8>),
}

struct Wrapper<T>(T);

impl MpiMessage for Wrapper<PathBuf> {
    fn describe(of: &mut Fingerprint) {
        of.add("path");
    }

    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        let none = || Error::Unsendable { reason: "a path is no UTF-8".to_owned() };
        self.0.to_str().ok_or_else(none)?.write(to)
    }
}

#[derive(MpiMessage)]
struct Log {
    routes: Vec<Route>,
}

#[derive(MpiMessage)]
struct File<'a> {
    name: &'a Wrapper<PathBuf>,
    log: Log,
}

fn main() {
    let route = Route { path: Path { nodes: vec![1] }, paths: Vec::new(), at: Instant(0.5), generic: (path::Path(vec![2]), time::Instant(3)) };
    let file = File { name: &Wrapper("a/b".into()), log: Log { routes: vec![route] } };
    assert_eq!(to_bytes(&file).unwrap().len(), 4 + 3 + 4 + (4 + 4 + 4 + 8 + 4 + 1 + 1) + 32);
}
