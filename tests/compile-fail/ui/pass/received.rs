//! Types that rsmpi's own calls may receive. Without MPI, another trait stands in for `Equivalence`.
#![deny(warnings)]

use std::{marker::PhantomData, num::Wrapping};

use dtype_runtime::{MpiDatatype, __private::Equivalence, types::AnyPattern};

#[derive(MpiDatatype)]
#[mpi(unsafe_equivalence)]
#[repr(u8)]
pub enum Phase {
    Solid,
}

struct Private(u8, bool);

// As in code that denies private types in public interfaces.
mod private {
    #![deny(private_bounds, private_interfaces)]

    #[derive(dtype_runtime::MpiDatatype)]
    #[allow(dead_code)]
    pub struct Public(super::Hidden, super::Phase);
}

#[derive(MpiDatatype)]
struct Hidden(u8);

#[derive(MpiDatatype)]
#[mpi(unsafe_equivalence)]
#[allow(dead_code)]
struct Letters([char; 3], PhantomData<Private>);

#[derive(MpiDatatype)]
#[allow(dead_code)]
struct Pair<T: Copy, const N: usize>
where
    T: PartialEq,
{
    items: [T; N],
    letters: Letters,
    number: Wrapping<u8>,
    tuple: (bool, (), f64),
}

fn receive_into<T: Equivalence + AnyPattern>() {}

fn of_any<T: MpiDatatype + AnyPattern>() {}

fn main() {
    receive_into::<Phase>();
    receive_into::<private::Public>();
    receive_into::<Letters>();
    receive_into::<Pair<u8, 3>>();
    of_any::<(u8, [Pair<f32, 2>; 4])>();
    let (private, hidden) = (Private(1, true), Hidden(1));
    assert_eq!((private.0, private.1, hidden.0), (1, true, 1));
}
