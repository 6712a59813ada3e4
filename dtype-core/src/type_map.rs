//! Type maps: the explicit lists of entries that all other representations describe.

use alloc::{vec, vec::Vec};
use core::fmt;

use crate::{BaseType, Error, Run, Runs};

/// A sequence of base types with byte displacements (MPI 4.1 section 5.1, thesis section 2.1).
///
/// The order is significant: data is transferred in this order. Displacements may repeat, decrease and be
/// negative. `Display` writes the map in short form, run by run.
///
/// ```
/// use dtype_core::{BaseType::*, TypeMap};
/// let map = TypeMap::new(vec![U8, F64, F64, F64], vec![0, 8, 16, 24])?;
/// assert_eq!(map.to_string(), "u8 @ 0, 3 × f64 @ 8 stride 8");
/// # Ok::<(), dtype_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "Unchecked"))]
pub struct TypeMap {
    types: Vec<BaseType>,
    displacements: Vec<i64>,
    /// The index of the first entry whose base type is not that of entry 0.
    #[cfg_attr(feature = "serde", serde(skip_serializing))]
    differs: Option<usize>,
}

impl TypeMap {
    /// Returns a map of the given base types at the given displacements, in bytes.
    ///
    /// # Errors
    /// Fails if the lengths differ, if there is no entry, or if the displacements are too large or too far
    /// apart: `greatest + 16` and `greatest + 16 - least` must fit `i64`.
    pub fn new(types: Vec<BaseType>, displacements: Vec<i64>) -> Result<Self, Error> {
        if types.len() != displacements.len() {
            return Err(Error::LengthsDiffer { types: types.len(), displacements: displacements.len() });
        }
        let (Some(least), Some(greatest)) = (displacements.iter().min(), displacements.iter().max()) else {
            return Err(Error::EmptyMap);
        };
        // After this check, no difference of two displacements can overflow in the algorithms.
        let past_the_end = greatest.checked_add(16).and_then(|end| end.checked_sub(*least));
        if past_the_end.is_none() {
            return Err(Error::Overflow { node: "map" });
        }
        let differs = types.iter().position(|base| *base != types[0]);
        Ok(Self { types, displacements, differs })
    }

    /// Returns a map of one base type at the given displacements, in bytes.
    ///
    /// # Errors
    /// The errors of [`TypeMap::new`].
    pub fn homogeneous(base: BaseType, displacements: Vec<i64>) -> Result<Self, Error> {
        Self::new(vec![base; displacements.len()], displacements)
    }

    /// Returns the base types. Without the displacements, they are the *type signature*.
    pub fn types(&self) -> &[BaseType] {
        &self.types
    }

    /// Returns the displacements, in bytes.
    pub fn displacements(&self) -> &[i64] {
        &self.displacements
    }

    /// Returns the number of entries, at least one.
    #[allow(clippy::len_without_is_empty)] // a type map is never empty
    pub fn len(&self) -> usize {
        self.types.len()
    }

    /// Returns the entries in order: base type and displacement in bytes.
    pub fn entries(&self) -> impl Iterator<Item = (BaseType, i64)> {
        self.types.iter().copied().zip(self.displacements.iter().copied())
    }

    /// Returns the base type that all entries share.
    ///
    /// # Errors
    /// [`Error::Heterogeneous`] names the first entry that differs.
    pub fn single_type(&self) -> Result<BaseType, Error> {
        self.differs.map_or(Ok(self.types[0]), |entry| Err(Error::Heterogeneous { entry }))
    }
}

/// A type map as it is deserialized: with `types`, one base type for each entry, or with `type`, one for all.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    types: Option<Vec<BaseType>>,
    r#type: Option<BaseType>,
    displacements: Vec<i64>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for TypeMap {
    type Error = alloc::string::String;

    fn try_from(map: Unchecked) -> Result<Self, Self::Error> {
        use alloc::string::ToString;
        match (map.types, map.r#type) {
            (Some(types), None) => Self::new(types, map.displacements).map_err(|error| error.to_string()),
            (None, Some(base)) => {
                Self::homogeneous(base, map.displacements).map_err(|error| error.to_string())
            }
            _ => {
                Err("a type map has either `types`, one for each displacement, or `type`, one for all".into())
            }
        }
    }
}

impl fmt::Display for TypeMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs = Runs::default();
        for (base, displacement) in self.entries() {
            runs.push(Run::single(base, displacement));
        }
        runs.fmt(f)
    }
}
