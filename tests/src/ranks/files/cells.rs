//! Elements whose bytes in a file are known without the library.

use dtype_runtime::{Error, File, MpiDatatype, comm::FileView, layout};

use crate::redistribution::{Element, Mixed};

/// A value without padding that travels as its bytes.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[mpi(wire = "bytes")]
pub struct Dense {
    number: u32,
    low: u16,
    tags: [u8; 2],
}

impl Element for Dense {
    fn of(number: u64) -> Self {
        Self { number: number as u32, low: number as u16, tags: [number as u8, 3] }
    }
}

/// An element whose bytes in a file are written down here, without the library.
pub trait Cell: Element {
    /// The number of bytes.
    const SIZE: usize;

    fn bytes(&self) -> Vec<u8>;

    /// Returns the value with these bytes, unless there is none.
    fn of_bytes(bytes: &[u8]) -> Option<Self>;

    /// Sets the view of the listed elements of arrays of `n`.
    fn view<'f>(file: &'f mut File, at: u64, n: usize, list: &[usize]) -> Result<FileView<'f, Self>, Error>;
}

macro_rules! cell {
    ($type:ident, $size:literal, |$value:ident| $bytes:expr, |$read:ident| $from:expr) => {
        impl Cell for $type {
            const SIZE: usize = $size;

            fn bytes(&self) -> Vec<u8> {
                let $value = self;
                $bytes
            }

            fn of_bytes($read: &[u8]) -> Option<Self> {
                $from
            }

            fn view<'f>(
                file: &'f mut File,
                at: u64,
                n: usize,
                list: &[usize],
            ) -> Result<FileView<'f, Self>, Error> {
                file.view(at, &layout!($type[n] => [{list}])?)
            }
        }
    };
}

cell!(f64, 8, |value| value.to_ne_bytes().to_vec(), |bytes| Some(Self::from_ne_bytes(
    bytes.try_into().ok()?
)));
cell!(Mixed, 9, |value| [&[u8::from(value.is_odd)][..], &value.number.to_ne_bytes()].concat(), |bytes| {
    let number = u64::from_ne_bytes(bytes[1..].try_into().ok()?);
    (bytes[0] < 2).then_some(Self { is_odd: bytes[0] == 1, number })
});
cell!(
    Dense,
    8,
    |value| [&value.number.to_ne_bytes()[..], &value.low.to_ne_bytes(), &value.tags].concat(),
    |bytes| Some(Self {
        number: u32::from_ne_bytes(bytes[..4].try_into().ok()?),
        low: u16::from_ne_bytes(bytes[4..6].try_into().ok()?),
        tags: [bytes[6], bytes[7]],
    })
);
