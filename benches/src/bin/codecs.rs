//! `cargo xtask bench messages`, without MPI: values of the published serialization benchmark to bytes and
//! back, validated, against other codecs.

use clap::Parser;
use dtype_benches::{
    measure::{Contender, Effort, Options, print, row},
    shapes::{Log, Mesh, log, mesh},
};
use dtype_runtime::message::{from_bytes, to_bytes};

/// Times codecs.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    options: Options,
    /// The seed of the values.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// wincode's default, without its limit of 4 MiB.
macro_rules! configuration {
    () => {
        wincode::config::Configuration::default().disable_preallocation_size_limit()
    };
}

/// Measures a shape with each codec, to bytes and back.
macro_rules! measure {
    ($options:expr, $effort:expr, $name:literal, $type:ty, $value:expr) => {{
        let value: $type = $value;
        let ours = to_bytes(&value).expect("the value is not deep");
        let wincode = wincode::config::serialize(&value, configuration!()).expect("wincode writes it");
        let bitcode = bitcode::encode(&value);
        let rkyv = rkyv::to_bytes::<rkyv::rancor::Error>(&value).expect("rkyv writes it");
        let postcard = postcard::to_allocvec(&value).expect("postcard writes it");
        let contenders = vec![
            Contender::new("ours", || Some(length(to_bytes(&value).unwrap()))),
            Contender::new("wincode", || {
                Some(length(wincode::config::serialize(&value, configuration!()).unwrap()))
            }),
            Contender::new("bitcode", || Some(length(bitcode::encode(&value)))),
            Contender::new("rkyv", || Some(length(rkyv::to_bytes::<rkyv::rancor::Error>(&value).unwrap()))),
            Contender::new("postcard", || Some(length(postcard::to_allocvec(&value).unwrap()))),
        ];
        print(&row("messages", concat!($name, "/to-bytes").to_owned(), contenders, $effort), $options);
        let same = |read: $type| {
            assert!(read == value, "the value comes back");
            read
        };
        same(from_bytes(&ours).unwrap());
        same(wincode::config::deserialize(&wincode, configuration!()).unwrap());
        same(bitcode::decode(&bitcode).unwrap());
        same(postcard::from_bytes(&postcard).unwrap());
        let contenders = vec![
            Contender::new("ours", || {
                taken(from_bytes::<$type>(&ours).unwrap());
                None
            }),
            Contender::new("wincode", || {
                taken(wincode::config::deserialize::<$type, _>(&wincode, configuration!()).unwrap());
                None
            }),
            Contender::new("bitcode", || {
                taken(bitcode::decode::<$type>(&bitcode).unwrap());
                None
            }),
            Contender::new("rkyv", || {
                taken(rkyv::from_bytes::<$type, rkyv::rancor::Error>(&rkyv).unwrap());
                None
            }),
            Contender::new("postcard", || {
                taken(postcard::from_bytes::<$type>(&postcard).unwrap());
                None
            }),
        ];
        print(&row("messages", concat!($name, "/from-bytes").to_owned(), contenders, $effort), $options);
    }};
}

/// Returns the length of a message that has been written: the compiler must not leave out what is not used.
fn length(bytes: impl std::ops::Deref<Target = [u8]>) -> u64 {
    std::hint::black_box(&bytes[..]);
    bytes.len() as u64
}

/// Uses a value that has been read.
fn taken<T>(value: T) {
    drop(std::hint::black_box(value));
}

fn main() {
    let Command { options, seed } = Command::parse();
    let effort = if options.quick { Effort::new(9, 300) } else { Effort::new(51, 2000) };
    let effort = Effort { warm: true, ..effort };
    measure!(&options, &effort, "log/10000", Log, log(10_000, seed));
    measure!(&options, &effort, "log/100", Log, log(100, seed));
    measure!(&options, &effort, "mesh/125000", Mesh, mesh(125_000, seed));
    measure!(&options, &effort, "mesh/100", Mesh, mesh(100, seed));
    measure!(&options, &effort, "vectors/1024", Vec<Vec<f64>>, vec![vec![0.5; 128]; 1024]);
}
