//! Messages whose types are written in unusual ways.
#![deny(warnings)]

use std::{borrow::Cow, marker::PhantomData};

use dtype_runtime::{
    FromMessage, MpiMessage,
    message::{from_bytes, to_bytes},
};

/// A name that the expansion must not take for its own.
#[allow(non_upper_case_globals)]
pub const lent: u8 = 3;

/// Types with a lifetime that contain each other.
#[derive(MpiMessage)]
#[mpi(bound = "")]
pub struct Expression<'a> {
    pub name: Cow<'a, str>,
    pub body: Vec<Statement<'a>>,
}

#[derive(MpiMessage)]
#[mpi(bound = "")]
pub struct Statement<'a> {
    pub expressions: Vec<Expression<'a>>,
}

/// Types that borrow where their definition does not show it.
pub type Name = &'static str;

#[derive(MpiMessage)]
#[mpi(send_only)]
pub struct Named {
    pub name: Name,
}

#[derive(MpiMessage)]
#[mpi(send_only)]
pub struct Holder {
    pub named: Vec<Named>,
}

/// Marks that are no values.
#[derive(MpiMessage)]
pub struct Marked<'a, T> {
    pub id: u64,
    pub of: PhantomData<&'a Marked<'a, T>>,
    pub pair: (PhantomData<fn(&'a T) -> T>, u8),
}

macro_rules! with_type {
    ($type:ty) => {
        #[derive(MpiMessage)]
        pub struct ByMacro<T> {
            pub of: $type,
            pub more: Vec<u8>,
        }
    };
}
with_type!(PhantomData<T>);

pub struct NoMessage;

fn received<T: FromMessage>(value: &T) {
    let bytes = to_bytes(value).expect("it can be sent");
    assert!(from_bytes::<T>(&bytes).is_ok());
}

fn main() {
    received(&Expression { name: "f".into(), body: vec![Statement { expressions: Vec::new() }] });
    received(&Marked::<NoMessage> { id: 1, of: PhantomData, pair: (PhantomData, lent) });
    received(&ByMacro::<NoMessage> { of: PhantomData, more: vec![1] });
    assert!(to_bytes(&Holder { named: vec![Named { name: "n" }] }).is_ok());
}
