//! Types of serde as messages.

use std::any::type_name;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Fingerprint, FromMessage, MpiMessage, Reader, Writer,
    limits::{malformed, unsendable},
};
use crate::Error;

/// A value of a type with serde's `Serialize`, as a message or a part of one. It can be received if its type
/// has `DeserializeOwned`. The derive [`MpiMessage`](derive@crate::MpiMessage) is faster: it copies slices
/// whole.
///
/// The bytes are those of postcard, and its limits hold:
/// - They do not have the names of fields. So serde's attributes `tag`, `untagged` and `flatten` are errors,
///   some of them only on the receiving side. If a field is left out (`skip_serializing_if`), the receiver
///   may get *another value without an error*.
/// - Nothing limits how deep values are nested, nor the lengths of sequences of values without bytes. A value
///   of a hundred thousand levels overflows the stack. Receive only from ranks that you trust.
///
/// ```
/// use dtype_runtime::message::{Serde, from_bytes, to_bytes};
///
/// #[derive(serde::Serialize, serde::Deserialize, Debug, PartialEq)]
/// struct Job { name: String, priority: Option<i32> }
///
/// let job = Job { name: "mesh".to_owned(), priority: Some(-1) };
/// let Serde(copy) = from_bytes::<Serde<Job>>(&to_bytes(&Serde(&job))?)?;
/// assert_eq!(job, copy);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serde<T>(pub T);

/// The bytes of the size before the bytes of postcard.
const SIZE: usize = size_of::<u64>();

impl<T: Serialize> MpiMessage for Serde<T> {
    const LEAST: usize = SIZE;

    fn describe(of: &mut Fingerprint) {
        // A reference to a value is serialized as the value is.
        of.add("serde");
        of.add(type_name::<T>().trim_start_matches('&'));
    }

    fn write<'a>(&'a self, to: &mut Writer<'a>) -> Result<(), Error> {
        let start = to.in_band.len();
        to.bytes(&[0; SIZE]);
        if let Err(error) = postcard::to_extend(&self.0, Behind(&mut to.in_band)) {
            to.in_band.truncate(start);
            return Err(unsendable(format!("`{}` cannot be serialized: {error}", type_name::<T>())));
        }
        let size = (to.in_band.len() - start - SIZE) as u64;
        to.in_band[start..start + SIZE].copy_from_slice(&size.to_ne_bytes());
        Ok(())
    }
}

/// The bytes behind those that have been written.
struct Behind<'a>(&'a mut Vec<u8>);

impl Extend<u8> for Behind<'_> {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        self.0.extend(bytes);
    }
}

impl<T: Serialize + DeserializeOwned> FromMessage for Serde<T> {
    fn read(from: &mut Reader<'_>) -> Result<Self, Error> {
        let size = u64::from_ne_bytes(from.array()?);
        let bytes = from.bytes(usize::try_from(size).unwrap_or(usize::MAX))?;
        match postcard::take_from_bytes(bytes) {
            Ok((value, [])) => Ok(Self(value)),
            Ok((_, rest)) => Err(malformed(format!("{} bytes follow a value of serde", rest.len()))),
            Err(error) => Err(malformed(format!("`{}` cannot be deserialized: {error}", type_name::<T>()))),
        }
    }
}
