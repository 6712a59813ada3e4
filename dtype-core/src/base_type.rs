//! The base types: the predefined MPI datatypes that can be leaves of a type tree.
//!
//! Fourteen of them have Rust names, such as `f64`. All others are predefined datatypes of C, C++ and Fortran
//! (MPI 4.1 sections 3.2.2 and 6.9.4) under MPI's names. Most of these hold the same values as a base type
//! with a Rust name ([`BaseType::plain`]), but are base types of their own. MPI tells them apart in type
//! signatures, in reductions, and in files, where `external32` gives `MPI_LONG` four bytes.

use core::{ffi, fmt, mem::size_of, str::FromStr};

/// The components of a base type.
#[derive(Clone, Copy)]
enum Made {
    /// One or two numbers in a standard format: the size of each in bytes, and their count.
    Numbers(u64, u64),
    /// Numbers like those of this base type, which has a Rust name.
    Like(BaseType),
    /// One or two numbers in a format of the C compiler: the size of each in bytes, and their count.
    Opaque(u64, u64),
    /// A value and an index, laid out as a C struct of both (MPI 4.1 section 6.9.4).
    Pair(BaseType, BaseType),
}

struct Row {
    base: BaseType,
    /// The name in type maps and JSON: Rust's name if there is one, otherwise MPI's.
    name: &'static str,
    /// The handle of the C binding.
    mpi_name: &'static str,
    /// The name of the variant.
    variant: &'static str,
    made: Made,
}

macro_rules! base_types {
    ($($(#[$doc:meta])* $variant:ident $($name:literal)? = $mpi:literal $made:expr;)*) => {
        /// A predefined MPI datatype (MPI 4.1 section 3.2.2), under its Rust name if it has one.
        ///
        /// ```
        /// use dtype_core::BaseType;
        /// assert_eq!((BaseType::F64.mpi_name(), BaseType::F64.size()), ("MPI_DOUBLE", 8));
        /// assert_eq!("MPI_INT".parse(), Ok(BaseType::Int));
        /// assert_eq!(BaseType::Int.plain(), Some(BaseType::I32));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum BaseType {
            $($(#[$doc])* #[doc = concat!("`", $mpi, "`")] $variant,)*
        }

        /// The rows of all base types, in the order of the variants.
        const TABLE: &[Row] = &[$(Row {
            base: BaseType::$variant,
            name: [$($name,)? $mpi][0],
            mpi_name: $mpi,
            variant: stringify!($variant),
            made: $made,
        },)*];
    };
}

use BaseType::{
    Bool, Byte, C32, C64, F32, F64, I8, I16, I32, I64, Int, Integer, Long, LongDouble, Real, Short, U8, U16,
    U32, U64,
};
use Made::{Like, Numbers, Opaque, Pair};

base_types! {
    /// `i8`,
    I8 "i8" = "MPI_INT8_T" Numbers(1, 1);
    /// `i16`,
    I16 "i16" = "MPI_INT16_T" Numbers(2, 1);
    /// `i32`,
    I32 "i32" = "MPI_INT32_T" Numbers(4, 1);
    /// `i64`,
    I64 "i64" = "MPI_INT64_T" Numbers(8, 1);
    /// `u8`,
    U8 "u8" = "MPI_UINT8_T" Numbers(1, 1);
    /// `u16`,
    U16 "u16" = "MPI_UINT16_T" Numbers(2, 1);
    /// `u32`,
    U32 "u32" = "MPI_UINT32_T" Numbers(4, 1);
    /// `u64`,
    U64 "u64" = "MPI_UINT64_T" Numbers(8, 1);
    /// `f32`,
    F32 "f32" = "MPI_FLOAT" Numbers(4, 1);
    /// `f64`,
    F64 "f64" = "MPI_DOUBLE" Numbers(8, 1);
    /// `bool`, a restricted type: only 0 and 1 are valid,
    Bool "bool" = "MPI_C_BOOL" Numbers(1, 1);
    /// Two `f32`, real part first,
    C32 "c32" = "MPI_C_FLOAT_COMPLEX" Numbers(4, 2);
    /// Two `f64`, real part first,
    C64 "c64" = "MPI_C_DOUBLE_COMPLEX" Numbers(8, 2);
    /// An uninterpreted byte,
    Byte "byte" = "MPI_BYTE" Numbers(1, 1);
    Char = "MPI_CHAR" Like(if ffi::c_char::MIN == 0 { U8 } else { I8 });
    SignedChar = "MPI_SIGNED_CHAR" Like(I8);
    Short = "MPI_SHORT" Like(I16);
    Int = "MPI_INT" Like(I32);
    Long = "MPI_LONG" Like(if size_of::<ffi::c_long>() == 8 { I64 } else { I32 });
    LongLong = "MPI_LONG_LONG_INT" Like(I64);
    UnsignedChar = "MPI_UNSIGNED_CHAR" Like(U8);
    UnsignedShort = "MPI_UNSIGNED_SHORT" Like(U16);
    Unsigned = "MPI_UNSIGNED" Like(U32);
    UnsignedLong = "MPI_UNSIGNED_LONG" Like(if size_of::<ffi::c_long>() == 8 { U64 } else { U32 });
    UnsignedLongLong = "MPI_UNSIGNED_LONG_LONG" Like(U64);
    LongDouble = "MPI_LONG_DOUBLE" Opaque(LONG_DOUBLE, 1);
    WChar = "MPI_WCHAR" Like(if cfg!(windows) { U16 } else { I32 });
    Aint = "MPI_AINT" Like(if size_of::<usize>() == 8 { I64 } else { I32 });
    Offset = "MPI_OFFSET" Like(I64);
    Count = "MPI_COUNT" Like(I64);
    CComplex = "MPI_C_COMPLEX" Like(C32);
    CLongDoubleComplex = "MPI_C_LONG_DOUBLE_COMPLEX" Opaque(LONG_DOUBLE, 2);
    CxxBool = "MPI_CXX_BOOL" Like(Bool);
    CxxFloatComplex = "MPI_CXX_FLOAT_COMPLEX" Like(C32);
    CxxDoubleComplex = "MPI_CXX_DOUBLE_COMPLEX" Like(C64);
    CxxLongDoubleComplex = "MPI_CXX_LONG_DOUBLE_COMPLEX" Opaque(LONG_DOUBLE, 2);
    Character = "MPI_CHARACTER" Like(U8);
    Logical = "MPI_LOGICAL" Like(I32);
    Logical1 = "MPI_LOGICAL1" Like(I8);
    Logical2 = "MPI_LOGICAL2" Like(I16);
    Logical4 = "MPI_LOGICAL4" Like(I32);
    Logical8 = "MPI_LOGICAL8" Like(I64);
    Logical16 = "MPI_LOGICAL16" Numbers(16, 1);
    Integer = "MPI_INTEGER" Like(I32);
    Real = "MPI_REAL" Like(F32);
    DoublePrecision = "MPI_DOUBLE_PRECISION" Like(F64);
    Complex = "MPI_COMPLEX" Like(C32);
    DoubleComplex = "MPI_DOUBLE_COMPLEX" Like(C64);
    Integer1 = "MPI_INTEGER1" Like(I8);
    Integer2 = "MPI_INTEGER2" Like(I16);
    Integer4 = "MPI_INTEGER4" Like(I32);
    Integer8 = "MPI_INTEGER8" Like(I64);
    Integer16 = "MPI_INTEGER16" Numbers(16, 1);
    Real2 = "MPI_REAL2" Numbers(2, 1);
    Real4 = "MPI_REAL4" Like(F32);
    Real8 = "MPI_REAL8" Like(F64);
    Real16 = "MPI_REAL16" Opaque(16, 1);
    Complex4 = "MPI_COMPLEX4" Numbers(2, 2);
    Complex8 = "MPI_COMPLEX8" Like(C32);
    Complex16 = "MPI_COMPLEX16" Like(C64);
    Complex32 = "MPI_COMPLEX32" Opaque(16, 2);
    FloatInt = "MPI_FLOAT_INT" Pair(F32, Int);
    DoubleInt = "MPI_DOUBLE_INT" Pair(F64, Int);
    LongInt = "MPI_LONG_INT" Pair(Long, Int);
    TwoInt = "MPI_2INT" Pair(Int, Int);
    ShortInt = "MPI_SHORT_INT" Pair(Short, Int);
    LongDoubleInt = "MPI_LONG_DOUBLE_INT" Pair(LongDouble, Int);
    TwoReal = "MPI_2REAL" Pair(Real, Real);
    TwoDoublePrecision = "MPI_2DOUBLE_PRECISION" Pair(BaseType::DoublePrecision, BaseType::DoublePrecision);
    TwoInteger = "MPI_2INTEGER" Pair(Integer, Integer);
    Packed = "MPI_PACKED" Numbers(1, 1);
}

/// The size of C's `long double` in bytes.
const LONG_DOUBLE: u64 = if cfg!(any(windows, all(target_vendor = "apple", target_arch = "aarch64"))) {
    8
} else if cfg!(target_arch = "x86") {
    12
} else {
    16
};

/// The size and the extent of each base type in bytes, computed at compile time because they are read often.
const SIZES: [(u8, u8); TABLE.len()] = {
    let (mut sizes, mut i) = ([(0, 0); TABLE.len()], 0);
    while i < TABLE.len() {
        let base = TABLE[i].base;
        let extent = base.span().next_multiple_of(base.alignment());
        sizes[i] = (base.made_size() as u8, extent as u8);
        i += 1;
    }
    sizes
};

impl BaseType {
    /// Returns all base types, in the order of the variants.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.base)
    }

    /// Returns the base types with a Rust name, in the order of the variants.
    pub fn all_plain() -> impl Iterator<Item = Self> {
        Self::all().take_while(|base| *base <= Byte)
    }

    /// The number of base types.
    pub(crate) const COUNT: usize = TABLE.len();

    /// Returns the variant with this number.
    pub(crate) const fn nth(variant: u8) -> Self {
        TABLE[variant as usize].base
    }

    /// Returns the table row of this base type.
    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// Returns the bytes of data in one value, without gaps.
    pub const fn size(self) -> u64 {
        SIZES[self as usize].0 as u64
    }

    /// Computes [`size`](Self::size) from the components.
    const fn made_size(self) -> u64 {
        match self.row().made {
            Numbers(size, count) | Opaque(size, count) => size * count,
            Like(base) => base.made_size(),
            Pair(value, index) => value.made_size() + index.made_size(),
        }
    }

    /// Returns the number of bytes from the first to the last byte of one value. Only pairs have gaps, such
    /// as the two bytes in `MPI_SHORT_INT`.
    pub const fn span(self) -> u64 {
        match self.pair() {
            Some([_, (at, index)]) => at + index.made_size(),
            None => self.made_size(),
        }
    }

    /// Returns the bytes from one value to the next in an array: the extent of MPI's handle.
    pub const fn extent(self) -> u64 {
        SIZES[self as usize].1 as u64
    }

    /// Returns the natural alignment in bytes. A complex number is aligned like one of its components, and a
    /// pair like the component with the larger alignment.
    pub const fn alignment(self) -> u64 {
        match self.row().made {
            // 32-bit x86 aligns a `long double` of 12 bytes to 4 bytes.
            Opaque(12, _) => 4,
            Numbers(size, _) | Opaque(size, _) => size,
            Like(base) => base.alignment(),
            Pair(value, index) => {
                let (value, index) = (value.alignment(), index.alignment());
                if value > index { value } else { index }
            }
        }
    }

    /// Returns the base type with a Rust name that has the same values in the same bytes: `I32` for
    /// `MPI_INT`. Returns `None` for pairs and for values without a Rust name.
    pub const fn plain(self) -> Option<Self> {
        match self.row().made {
            Like(base) => Some(base),
            _ if self as u8 <= Byte as u8 => Some(self),
            _ => None,
        }
    }

    /// Returns the name in C, or `None` if C++ does not have the same name.
    ///
    /// ```
    /// use dtype_core::BaseType;
    /// assert_eq!(BaseType::I32.c_name(), Some("int32_t"));
    /// assert_eq!(BaseType::C64.c_name(), None);
    /// ```
    pub fn c_name(self) -> Option<&'static str> {
        IN_C.iter().find(|(name, base)| *base == self && *name != "_Bool").map(|(name, _)| *name)
    }

    /// Returns the value and the index of a pair (MPI 4.1 section 6.9.4), each with its offset in bytes.
    /// Returns `None` for other base types.
    pub const fn pair(self) -> Option<[(u64, Self); 2]> {
        match self.row().made {
            Pair(value, index) => {
                Some([(0, value), (value.made_size().next_multiple_of(index.alignment()), index)])
            }
            _ => None,
        }
    }

    /// Returns the number of bytes of one value in `external32` (MPI 4.1 section 14.5.2). It is at most
    /// [`size`](Self::size). Returns `None` if the numbers may have another format in memory: for
    /// `long double`, `MPI_REAL16` and types made of them.
    pub const fn external_size(self) -> Option<u64> {
        match self.row().made {
            Opaque(..) => None,
            Pair(value, index) => match (value.external_size(), index.external_size()) {
                (Some(value), Some(index)) => Some(value + index),
                _ => None,
            },
            _ => Some(match self {
                Self::Long | Self::UnsignedLong => 4,
                Self::WChar => 2,
                _ => self.size(),
            }),
        }
    }

    /// Returns the name used in type maps, trees and JSON: `f64`, `c32`, `byte`, `MPI_LONG`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the predefined handle of the C binding: `MPI_DOUBLE`.
    pub const fn mpi_name(self) -> &'static str {
        self.row().mpi_name
    }

    /// Returns the name of the variant, for emitted Rust code: `F64`.
    pub const fn variant_name(self) -> &'static str {
        self.row().variant
    }
}

impl fmt::Display for BaseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Serialization of base types by their names.
#[cfg(feature = "serde")]
mod by_name {
    use alloc::borrow::Cow;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::BaseType;

    impl Serialize for BaseType {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_str(self.name())
        }
    }

    impl<'de> Deserialize<'de> for BaseType {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let name = Cow::<str>::deserialize(deserializer)?;
            name.parse().map_err(|error| D::Error::custom(alloc::format!("`{name}` is {error}")))
        }
    }
}

/// The error for a name that no base type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownBaseType;

impl fmt::Display for UnknownBaseType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a base type; the base types are")?;
        BaseType::all_plain().try_for_each(|base| write!(f, " {base}"))?;
        f.write_str(", MPI's predefined datatypes, such as MPI_LONG, and C's types, such as double")
    }
}

impl core::error::Error for UnknownBaseType {}

/// Parses the name in Rust, MPI or C.
impl FromStr for BaseType {
    type Err = UnknownBaseType;

    fn from_str(name: &str) -> Result<Self, UnknownBaseType> {
        // The standard has two names for this one (MPI 4.1 table 3.2).
        let name = if name == "MPI_LONG_LONG" { "MPI_LONG_LONG_INT" } else { name };
        let named = |row: &&Row| row.name == name || row.mpi_name == name;
        let in_c = || IN_C.iter().find(|(known, _)| *known == name).map(|(_, base)| *base);
        TABLE.iter().find(named).map(|row| row.base).or_else(in_c).ok_or(UnknownBaseType)
    }
}

/// Names in C that are not names in Rust or MPI (MPI 4.1 table 3.2).
const IN_C: [(&str, BaseType); 26] = [
    ("char", BaseType::Char),
    ("signed char", BaseType::SignedChar),
    ("unsigned char", BaseType::UnsignedChar),
    ("short", Short),
    ("unsigned short", BaseType::UnsignedShort),
    ("int", Int),
    ("unsigned", BaseType::Unsigned),
    ("unsigned int", BaseType::Unsigned),
    ("long", Long),
    ("unsigned long", BaseType::UnsignedLong),
    ("long long", BaseType::LongLong),
    ("unsigned long long", BaseType::UnsignedLongLong),
    ("float", F32),
    ("double", F64),
    ("long double", LongDouble),
    ("wchar_t", BaseType::WChar),
    ("_Bool", Bool),
    ("int8_t", I8),
    ("int16_t", I16),
    ("int32_t", I32),
    ("int64_t", I64),
    ("uint8_t", U8),
    ("uint16_t", U16),
    ("uint32_t", U32),
    ("uint64_t", U64),
    ("size_t", if size_of::<usize>() == 8 { BaseType::UnsignedLong } else { BaseType::Unsigned }),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_variants() {
        for (row, base) in BaseType::all().enumerate() {
            assert_eq!(base as usize, row);
            assert_eq!(base.name().parse(), Ok(base));
            assert_eq!(base.mpi_name().parse(), Ok(base));
            assert_eq!(alloc::format!("{base:?}"), base.variant_name());
        }
        assert_eq!(BaseType::all_plain().count(), 14);
        assert_eq!("double".parse(), Ok(F64));
        assert_eq!("unsigned long".parse(), Ok(BaseType::UnsignedLong));
        assert_eq!("MPI_LONG_LONG".parse(), Ok(BaseType::LongLong));
        assert_eq!("doubles".parse::<BaseType>(), Err(UnknownBaseType));
    }

    #[test]
    fn pairs_are_laid_out_as_c_structs() {
        #[repr(C)]
        struct LongInt(ffi::c_long, ffi::c_int);
        #[repr(C)]
        struct ShortInt(ffi::c_short, ffi::c_int);
        let sizes = |base: BaseType| [base.size(), base.span(), base.extent(), base.alignment()];
        assert_eq!(sizes(BaseType::LongInt)[2], size_of::<LongInt>() as u64);
        assert_eq!(sizes(BaseType::ShortInt)[2], size_of::<ShortInt>() as u64);
        assert_eq!(sizes(BaseType::ShortInt), [6, 8, 8, 4]);
        assert_eq!(sizes(BaseType::DoubleInt), [12, 12, 16, 8]);
        assert_eq!(sizes(BaseType::C64), [16, 16, 16, 8]);
    }

    #[test]
    fn external32_has_sizes_of_its_own() {
        let sizes = [BaseType::Long, BaseType::LongInt, BaseType::WChar, BaseType::I64, BaseType::C32];
        assert_eq!(sizes.map(BaseType::external_size), [Some(4), Some(8), Some(2), Some(8), Some(8)]);
        assert_eq!(BaseType::LongDoubleInt.external_size(), None);
        assert!(BaseType::all().all(|base| base.external_size().is_none_or(|size| size <= base.size())));
    }
}
