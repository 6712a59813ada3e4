//! Messages where names mean something else, of all forms of types.
#![deny(warnings)]
#![allow(non_camel_case_types, dead_code, non_upper_case_globals)]

use dtype_runtime::{MpiDatatype, MpiMessage, message::from_bytes, message::to_bytes};

/// Names of the prelude that mean something else here.
mod shadowed {
    pub struct Option;
    pub struct Result;
    pub struct Default;
    pub struct Vec;
    pub struct Ok;
    pub struct Err;
    pub struct Some;
    pub struct None;
    pub mod core {}
    pub mod std {}

    #[derive(dtype_runtime::MpiMessage, Debug, PartialEq)]
    pub enum Choice {
        Ok(::std::string::String),
        None,
        r#match { r#type: u8, #[mpi(skip)] skipped: u16 },
    }

    #[derive(dtype_runtime::MpiMessage, Debug, PartialEq)]
    pub struct r#struct {
        pub r#fn: ::std::vec::Vec<Choice>,
    }
}

/// Methods of the names that the expansion calls.
trait Calls {
    fn write(&self) {}
    fn read(&self) {}
    fn bytes(&self) {}
    fn add(&self) {}
    fn array(&self) {}
    fn check(&self) {}
}
impl<T> Calls for T {}

#[derive(MpiMessage, Debug, PartialEq)]
struct Shadowing {
    text: String,
    values: Vec<f64>,
}

#[allow(unused)]
impl Shadowing {
    const LEAST: u8 = 7;
    const KEPT: u8 = 3;
    const SLICES: u8 = 0;
    fn write() {}
    fn read() {}
    fn describe() {}
    fn check() {}
    fn lend() {}
    fn read_into() {}
}

#[derive(MpiMessage, Debug, PartialEq)]
struct Unit;

#[derive(MpiMessage, Debug, PartialEq)]
struct Tuple(String, #[mpi(skip)] u8, Unit);

#[derive(MpiMessage)]
enum Never {}

#[derive(MpiMessage, Debug, PartialEq)]
struct Grid<'a, T: Clone, const N: usize>
where
    T: PartialEq,
{
    rows: [Vec<T>; N],
    name: std::borrow::Cow<'a, str>,
    next: Option<Box<Grid<'a, T, N>>>,
}

struct Hidden(u8);

impl Default for Hidden {
    fn default() -> Self {
        Hidden(9)
    }
}

#[derive(MpiDatatype, Debug, PartialEq)]
struct Private {
    x: u16,
}

#[derive(MpiMessage)]
pub struct Public {
    #[mpi(skip)]
    hidden: Hidden,
    private: Private,
    never: Option<Never>,
}

#[derive(MpiDatatype)]
pub struct PublicNode {
    #[mpi(skip)]
    hidden: Hidden,
    private: Private,
}

#[derive(MpiMessage)]
pub struct Old {
    #[deprecated]
    pub x: String,
}

impl Drop for Old {
    fn drop(&mut self) {}
}

fn same<T: dtype_runtime::FromMessage + PartialEq + std::fmt::Debug>(value: T) {
    assert_eq!(from_bytes::<T>(&to_bytes(&value).unwrap()).unwrap(), value);
}

fn main() {
    use shadowed::Choice;
    same(shadowed::r#struct { r#fn: vec![Choice::None, Choice::Ok("a".into()), Choice::r#match { r#type: 1, skipped: 0 }] });
    same(Shadowing { text: "t".into(), values: vec![1.0] });
    same(Tuple("x".into(), 0, Unit));
    let grid = |next| Grid::<'static, u8, 2> { rows: [vec![1], vec![]], name: "g".into(), next };
    same(grid(Some(Box::new(grid(None)))));
    let public = Public { hidden: Hidden(1), private: Private { x: 4 }, never: None };
    let copy: Public = from_bytes(&to_bytes(&public).unwrap()).unwrap();
    assert_eq!((copy.hidden.0, copy.private.x), (9, 4));
    let nodes = [PublicNode { hidden: Hidden(1), private: Private { x: 4 } }];
    let copy: Vec<PublicNode> = from_bytes(&to_bytes(&nodes[..]).unwrap()).unwrap();
    assert_eq!((copy[0].hidden.0, copy[0].private.x), (9, 4));
    assert!(from_bytes::<Never>(&to_bytes(&Unit).unwrap()).is_err());
}
