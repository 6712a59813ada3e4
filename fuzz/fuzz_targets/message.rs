//! Fuzzes messages with arbitrary bytes. The first byte chooses the type, and the trailer may be mended, so
//! that the bytes before it are read. What can be read must be the same message again, and a value that is
//! read into must then be equal, or else unchanged.
#![no_main]

use std::{collections::BTreeMap, fmt::Debug};

use dtype_runtime::{
    FromMessage, MpiDatatype, MpiMessage,
    message::{from_bytes, from_bytes_into, to_bytes},
};
use libfuzzer_sys::fuzz_target;

#[derive(MpiMessage, Clone, Debug, Default, PartialEq)]
struct Config {
    title: String,
    steps: Vec<u64>,
    names: BTreeMap<String, Vec<u16>>,
    tree: Option<Tree>,
    nodes: Vec<Node>,
}

#[derive(MpiMessage, Clone, Debug, PartialEq)]
enum Tree {
    Leaf(i128),
    Node { children: Vec<Tree>, next: Option<Box<Tree>>, flags: [bool; 3] },
}

#[derive(MpiDatatype, Clone, Debug, PartialEq)]
struct Node {
    letter: char,
    #[mpi(skip)]
    neighbours: Vec<usize>,
    flag: bool,
}

fn read<T: FromMessage + Clone + PartialEq + Debug>(bytes: &[u8], old: &T) {
    let mut mended = bytes.to_vec();
    let valid = to_bytes(old).unwrap();
    let trailer = &valid[valid.len() - 32..];
    if let [.., mend] = bytes
        && mend & 1 == 0
    {
        mended.extend_from_slice(&trailer[..8]);
        mended.extend([bytes.len() as u64, 0].map(u64::to_ne_bytes).as_flattened());
        mended.extend_from_slice(&trailer[24..]);
    }
    let mut into = old.clone();
    let outcome = from_bytes_into(&mended, &mut into);
    match from_bytes::<T>(&mended) {
        Ok(value) => {
            assert_eq!((outcome, &into), (Ok(()), &value));
            assert_eq!(from_bytes::<T>(&to_bytes(&value).unwrap()), Ok(value));
        }
        Err(_) => assert!(outcome.is_err() && into == *old),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match which % 5 {
        0 => read(bytes, &Config::default()),
        1 => read(bytes, &Tree::Leaf(1)),
        2 => read(bytes, &vec![vec![String::new()]; 2]),
        3 => read(bytes, &vec![(1u8, Some('x'))]),
        _ => read(bytes, &vec![[Node { letter: 'a', neighbours: Vec::new(), flag: true }].to_vec()]),
    }
});
