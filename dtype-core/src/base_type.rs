//! The base types: what a leaf of a type tree may be.

use core::{fmt, str::FromStr};

/// A predefined MPI datatype (MPI 4.1 section 3.2.2) under its Rust name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum BaseType {
    /// `i8`, `MPI_INT8_T`
    I8,
    /// `i16`, `MPI_INT16_T`
    I16,
    /// `i32`, `MPI_INT32_T`
    I32,
    /// `i64`, `MPI_INT64_T`
    I64,
    /// `u8`, `MPI_UINT8_T`
    U8,
    /// `u16`, `MPI_UINT16_T`
    U16,
    /// `u32`, `MPI_UINT32_T`
    U32,
    /// `u64`, `MPI_UINT64_T`
    U64,
    /// `f32`, `MPI_FLOAT`
    F32,
    /// `f64`, `MPI_DOUBLE`
    F64,
    /// `bool`, `MPI_C_BOOL`; the only base type with byte patterns that are no value
    Bool,
    /// Two `f32`, real part first, `MPI_C_FLOAT_COMPLEX`
    C32,
    /// Two `f64`, real part first, `MPI_C_DOUBLE_COMPLEX`
    C64,
    /// An uninterpreted byte, `MPI_BYTE`
    Byte,
}

/// Variant, name in type maps and JSON, bytes, MPI handle, Rust name of the variant: one row a base type.
const TABLE: [(BaseType, &str, u64, &str, &str); 14] = [
    (BaseType::I8, "i8", 1, "MPI_INT8_T", "I8"),
    (BaseType::I16, "i16", 2, "MPI_INT16_T", "I16"),
    (BaseType::I32, "i32", 4, "MPI_INT32_T", "I32"),
    (BaseType::I64, "i64", 8, "MPI_INT64_T", "I64"),
    (BaseType::U8, "u8", 1, "MPI_UINT8_T", "U8"),
    (BaseType::U16, "u16", 2, "MPI_UINT16_T", "U16"),
    (BaseType::U32, "u32", 4, "MPI_UINT32_T", "U32"),
    (BaseType::U64, "u64", 8, "MPI_UINT64_T", "U64"),
    (BaseType::F32, "f32", 4, "MPI_FLOAT", "F32"),
    (BaseType::F64, "f64", 8, "MPI_DOUBLE", "F64"),
    (BaseType::Bool, "bool", 1, "MPI_C_BOOL", "Bool"),
    (BaseType::C32, "c32", 8, "MPI_C_FLOAT_COMPLEX", "C32"),
    (BaseType::C64, "c64", 16, "MPI_C_DOUBLE_COMPLEX", "C64"),
    (BaseType::Byte, "byte", 1, "MPI_BYTE", "Byte"),
];

impl BaseType {
    /// All base types, in the order of the variants.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The variant with this number.
    pub(crate) const fn nth(variant: u8) -> Self {
        TABLE[variant as usize].0
    }

    /// Bytes one value takes.
    pub const fn size(self) -> u64 {
        TABLE[self as usize].2
    }

    /// Natural alignment in bytes: that of the number itself, or of one component of a complex number.
    pub const fn alignment(self) -> u64 {
        match self {
            Self::C32 => 4,
            Self::C64 => 8,
            _ => self.size(),
        }
    }

    /// The name used in type maps, trees and JSON: `f64`, `c32`, `byte`.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The predefined handle of the C binding: `MPI_DOUBLE`.
    pub const fn mpi_name(self) -> &'static str {
        TABLE[self as usize].3
    }

    /// The name of the variant, for emitted Rust code: `F64`.
    pub const fn variant_name(self) -> &'static str {
        TABLE[self as usize].4
    }
}

impl fmt::Display for BaseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name was none of the base types'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownBaseType;

impl fmt::Display for UnknownBaseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a base type; known are")?;
        TABLE.iter().try_for_each(|row| write!(f, " {}", row.1))
    }
}

impl core::error::Error for UnknownBaseType {}

impl FromStr for BaseType {
    type Err = UnknownBaseType;

    fn from_str(name: &str) -> Result<Self, UnknownBaseType> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0).ok_or(UnknownBaseType)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        for (row, base) in BaseType::all().enumerate() {
            assert_eq!(base as usize, row);
            assert_eq!(base.name().parse(), Ok(base));
            assert_eq!(alloc::format!("{base:?}"), base.variant_name());
        }
    }
}
