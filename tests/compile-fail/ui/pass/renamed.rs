//! With the runtime crate under other names.
#![deny(warnings)]

mod vendor {
    pub use dtype_runtime as data;
}

use vendor::data::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(crate = "crate::vendor::data")]
struct Particle {
    position: [f64; 3],
    kind: u8,
}

#[derive(MpiDatatype)]
#[mpi(crate = "vendor::data")]
#[repr(u8)]
enum Kind {
    Gas,
}

#[derive(MpiDatatype)]
#[mpi(crate = "self::vendor::data", bound = "T: MpiDatatype")]
struct Pair<T>(T, T);

vendor::data::layout!(type Last = u8[3] => [-1]);

fn main() {
    let particle = Particle { position: [0.0; 3], kind: Kind::Gas as u8 };
    assert_eq!(vendor::data::pack(&[particle]).len(), 25);
    assert_eq!(vendor::data::pack(&[Pair(1u8, 2)]), [1, 2]);
    let n = 3;
    assert_eq!(vendor::data::layout!(u8[3] => [1..]).of(&[1, 2, 3]).pack(), [2, 3]);
    assert_eq!(vendor::data::layout!(u8[n] => [1..]).unwrap().of(&[1, 2, 3]).unwrap().pack(), [2, 3]);
    assert_eq!(Last.of(&[1, 2, 3]).pack(), [3]);
}
