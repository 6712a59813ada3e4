//! Values of the published serialization benchmark (rust_serialization_benchmark): a log with many short
//! texts, and a mesh of triangles.

use dtype_runtime::{MpiDatatype, MpiMessage};

/// A pseudorandom number generator (xorshift*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % limit
    }

    fn number(&mut self) -> f32 {
        self.below(1 << 24) as f32 / (1 << 24) as f32
    }

    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }
}

/// Derives all codecs for a type of a shape.
macro_rules! shape {
    ($($(#[$attribute:meta])* struct $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {$(
        $(#[$attribute])*
        #[derive(
            Clone, Debug, PartialEq, bitcode::Encode, bitcode::Decode, wincode::SchemaRead,
            wincode::SchemaWrite, rkyv::Archive, rkyv::Serialize, rkyv::Deserialize, serde::Serialize,
            serde::Deserialize,
        )]
        #[allow(missing_docs)]
        pub struct $name { $(pub $field: $type),* }
    )*};
}

shape! {
    /// An IP address.
    #[derive(MpiDatatype, Copy)]
    #[repr(C)]
    struct Address { x0: u8, x1: u8, x2: u8, x3: u8 }

    /// A line of a log.
    #[derive(MpiMessage)]
    struct Line {
        address: Address,
        identity: String,
        user: String,
        date: String,
        request: String,
        code: u16,
        size: u64,
    }

    /// A log.
    #[derive(MpiMessage)]
    struct Log { lines: Vec<Line> }

    /// A point.
    #[derive(MpiDatatype, Copy)]
    #[repr(C)]
    struct Vector { x: f32, y: f32, z: f32 }

    /// A triangle and its normal.
    #[derive(MpiDatatype, Copy)]
    #[repr(C)]
    struct Triangle { v0: Vector, v1: Vector, v2: Vector, normal: Vector }

    /// A mesh.
    #[derive(MpiMessage)]
    struct Mesh { triangles: Vec<Triangle> }
}

/// Returns a log of `lines` lines.
pub fn log(lines: usize, seed: u64) -> Log {
    let mut random = Random(seed | 1);
    let mut line = || {
        let users = ["-", "alice", "bob", "carmen", "david", "eric", "frank", "george", "harry"];
        let requests =
            ["favicon.ico", "css/index.css", "css/font-awesome.min.css", "img/logo-full.svg", "api/login"];
        let (method, path) = (random.one_of(&["GET", "POST", "PUT", "HEAD"]), random.one_of(&requests));
        Line {
            address: Address {
                x0: random.below(256) as u8,
                x1: random.below(256) as u8,
                x2: random.below(256) as u8,
                x3: random.below(256) as u8,
            },
            identity: "-".to_owned(),
            user: random.one_of(&users).to_owned(),
            date: format!(
                "{}/Oct/{}:{}:{}:{} +{}000",
                random.below(28),
                1970 + random.below(50),
                random.below(24),
                random.below(60),
                random.below(60),
                random.below(24)
            ),
            request: format!("{method} /{path} HTTP/1.{}", random.below(2)),
            code: [200, 200, 301, 404, 500][random.below(5) as usize],
            size: random.below(100_000_000),
        }
    };
    Log { lines: (0..lines).map(|_| line()).collect() }
}

/// Returns a mesh of `triangles` triangles.
pub fn mesh(triangles: usize, seed: u64) -> Mesh {
    let mut random = Random(seed | 1);
    let mut vector = || Vector { x: random.number(), y: random.number(), z: random.number() };
    let mut triangle = || Triangle { v0: vector(), v1: vector(), v2: vector(), normal: vector() };
    Mesh { triangles: (0..triangles).map(|_| triangle()).collect() }
}
