//! Datatypes that a user of MPI would write for parts of arrays of numbers.

use dtype_core::BaseType;
use dtype_guidelines::description::Description;

/// The datatype that a user would write, with the count to send.
#[cfg_attr(not(feature = "mpi"), allow(dead_code, reason = "only MPI makes datatypes"))]
pub struct User {
    pub datatype: Description,
    pub count: usize,
}

/// The base type of all cases.
pub const DOUBLE: Description = Description::Base(BaseType::F64);

impl User {
    pub fn one(datatype: Description) -> Self {
        Self { datatype, count: 1 }
    }

    /// Returns a list of single numbers.
    pub fn listed(places: Vec<i64>) -> Self {
        Self::one(DOUBLE.indexed_block(1, places))
    }

    /// Returns the face of a cube at index 0 of a dimension.
    pub fn face(n: usize, dimension: usize) -> Self {
        let length = |k| if k == dimension { 1 } else { n as u64 };
        Self::one(DOUBLE.subarray(vec![n as u64; 3], (0..3).map(length).collect(), vec![0; 3]))
    }

    /// Returns the faces of a four-dimensional box, on all eight sides.
    pub fn halo(n: usize) -> Self {
        let n = n as u64;
        let faces = (0..4).flat_map(|dimension| [0, n - 1].map(|end| (dimension, end)));
        let face = |(dimension, end): (usize, u64)| {
            let choose = |face, inner| (0..4).map(|k| if k == dimension { face } else { inner }).collect();
            (0, DOUBLE.subarray(vec![n; 4], choose(1, n - 2), choose(end, 1)))
        };
        Self::one(Description::structure(faces.map(face)))
    }
}
