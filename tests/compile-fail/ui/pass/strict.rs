//! Code that must compile in a crate that denies all warnings and forbids unsafe code.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use dtype_runtime::{MpiDatatype, MpiMessage, layout, pack};

#[derive(MpiDatatype)]
struct Empty;

#[derive(MpiDatatype)]
#[repr(C)]
struct Raw {
    r#type: u8,
    r#fn: f64,
}

#[derive(MpiDatatype)]
struct Bounded<T: Copy, const N: usize>
where
    T: PartialEq,
{
    /// Names that the expansion uses itself.
    visitor: [T; N],
    lazy: (T, u8),
}

#[derive(MpiMessage)]
#[allow(dead_code)]
enum Owned<'a> {
    Text(String, #[mpi(skip)] u8),
    Borrowed { text: &'a str, r#type: Option<Box<Owned<'a>>> },
    Nothing,
}

mod library {
    use dtype_runtime::MpiDatatype;

    #[derive(MpiDatatype)]
    struct Private(f32);

    #[derive(MpiDatatype)]
    pub struct Public {
        private: Private,
        pub pairs: [(u8, u8); 2],
    }

    impl Public {
        pub fn new(value: f32) -> Self {
            Self { private: Private(value), pairs: [(1, 2); 2] }
        }
    }
}

fn main() {
    #[derive(MpiDatatype)]
    struct Local(bool, Raw);

    let raw = || Raw { r#type: 1, r#fn: 2.0 };
    assert_eq!(pack(&[Empty, Empty]).len(), 0);
    assert_eq!(pack(&[Local(true, raw())]).len(), 10);
    assert_eq!(pack(&[Bounded { visitor: [1u16; 3], lazy: (2, 3) }]).len(), 9);
    assert_eq!(layout!(Raw[4] => [..;3]).of(&[raw(), raw(), raw(), raw()]).pack().len(), 18);
    assert_eq!(pack(&[library::Public::new(1.0)]).len(), 8);
    assert_eq!(Empty::cost(), 5);
    assert!(dtype_runtime::message::to_bytes(&Owned::Text(String::new(), 1)).is_ok());
}
