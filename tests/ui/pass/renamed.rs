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

fn main() {
    let particle = Particle { position: [0.0; 3], kind: Kind::Gas as u8 };
    assert_eq!(vendor::data::pack(&[particle]).len(), 25);
    assert_eq!(vendor::data::pack(&[Pair(1u8, 2)]), [1, 2]);
}
