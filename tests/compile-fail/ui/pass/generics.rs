//! Generic structs of every form.
#![deny(warnings)]

use std::marker::PhantomData;

use dtype_runtime::{MpiDatatype, packed_size};

#[derive(MpiDatatype)]
#[allow(dead_code)]
struct Defaults<T = f64, const N: usize = 4> {
    items: [T; N],
}

#[derive(MpiDatatype)]
#[allow(dead_code)]
struct Bounded<T: Copy + PartialOrd, U>
where
    U: Clone,
{
    first: T,
    second: [(U, T); 2],
}

#[derive(MpiDatatype)]
#[allow(dead_code)]
#[repr(C)]
struct Nested<T: Copy + PartialOrd, Unit> {
    inner: Defaults<Bounded<T, T>, 2>,
    unit: PhantomData<Unit>,
    #[mpi(skip)]
    local: Option<Unit>,
}

struct Meters;

fn main() {
    assert_eq!(Defaults::<f64>::type_map().unwrap().to_string(), "4 × f64 @ 0 stride 8");
    assert_eq!(packed_size::<Nested<f32, Meters>>(2), 80);
}
