//! The predefined datatypes of a language's base types, as debug information describes them.

use dtype_core::BaseType;
use gimli::constants as dw;

use crate::record::Language;

/// Returns the predefined datatype of a base type. The name decides, or else the encoding (DWARF 5, section
/// 5.1.1) and the size in bytes.
pub(super) fn base_type(
    language: Language,
    name: &str,
    encoding: gimli::DwAte,
    size: u64,
) -> Option<BaseType> {
    let is_of_size = |base: &BaseType| base.size() == size;
    match language {
        Language::Fortran => in_fortran(name, encoding, size),
        // The size is compared because Rust's `char` has four bytes.
        _ => by_name(name).filter(is_of_size).or_else(|| by_encoding(name, encoding, size)),
    }
}

/// Returns the predefined datatype that a name implies. The name is that of a base type, or of a `typedef`
/// such as `int32_t` or `MPI_Aint`.
pub(super) fn by_name(name: &str) -> Option<BaseType> {
    Some(match name {
        "MPI_Aint" => BaseType::Aint,
        "MPI_Offset" => BaseType::Offset,
        "MPI_Count" => BaseType::Count,
        "byte" | "BYTE" => return None,
        "char32_t" => BaseType::U32,
        "char16_t" => BaseType::U16,
        "char8_t" => BaseType::U8,
        "long int" => BaseType::Long,
        "short int" => BaseType::Short,
        "long long int" => BaseType::LongLong,
        "long unsigned int" => BaseType::UnsignedLong,
        "short unsigned int" => BaseType::UnsignedShort,
        "long long unsigned int" => BaseType::UnsignedLongLong,
        "complex float" | "_Complex float" => BaseType::C32,
        "complex double" | "_Complex double" => BaseType::C64,
        "complex long double" | "_Complex long double" => BaseType::CLongDoubleComplex,
        _ => name.parse().ok()?,
    })
}

fn by_encoding(name: &str, encoding: gimli::DwAte, size: u64) -> Option<BaseType> {
    Some(match (encoding, size) {
        (dw::DW_ATE_float, 4) => BaseType::F32,
        (dw::DW_ATE_float, 8) => BaseType::F64,
        (dw::DW_ATE_complex_float, 8) => BaseType::C32,
        (dw::DW_ATE_complex_float, 16) => BaseType::C64,
        // clang's name for the complex type of `long double`.
        (dw::DW_ATE_complex_float, _) if name == "complex" => BaseType::CLongDoubleComplex,
        (dw::DW_ATE_boolean, 1) => BaseType::Bool,
        (dw::DW_ATE_signed | dw::DW_ATE_signed_char, 1) => BaseType::I8,
        (dw::DW_ATE_signed, 2) => BaseType::I16,
        (dw::DW_ATE_signed, 4) => BaseType::I32,
        (dw::DW_ATE_signed, 8) => BaseType::I64,
        (dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF, 1) => BaseType::U8,
        (dw::DW_ATE_unsigned | dw::DW_ATE_UTF, 2) => BaseType::U16,
        (dw::DW_ATE_unsigned | dw::DW_ATE_UTF, 4) => BaseType::U32,
        (dw::DW_ATE_unsigned, 8) => BaseType::U64,
        _ => return None,
    })
}

/// Returns the predefined datatype of a Fortran type. Default kinds have the names without a number.
fn in_fortran(name: &str, encoding: gimli::DwAte, size: u64) -> Option<BaseType> {
    Some(match (encoding, size) {
        (dw::DW_ATE_signed, 1) => BaseType::Integer1,
        (dw::DW_ATE_signed, 2) => BaseType::Integer2,
        (dw::DW_ATE_signed, 4) => BaseType::Integer,
        (dw::DW_ATE_signed, 8) => BaseType::Integer8,
        (dw::DW_ATE_float, 4) => BaseType::Real,
        (dw::DW_ATE_float, 8) => BaseType::DoublePrecision,
        (dw::DW_ATE_float, 16) if name.contains("16") => BaseType::Real16,
        (dw::DW_ATE_float, 16) => BaseType::LongDouble,
        (dw::DW_ATE_complex_float, 8) => BaseType::Complex,
        (dw::DW_ATE_complex_float, 16) => BaseType::DoubleComplex,
        (dw::DW_ATE_complex_float, 32) if name.contains("16") => BaseType::Complex32,
        (dw::DW_ATE_complex_float, 32) => BaseType::CLongDoubleComplex,
        (dw::DW_ATE_boolean, 1) => BaseType::Logical1,
        (dw::DW_ATE_boolean, 2) => BaseType::Logical2,
        (dw::DW_ATE_boolean, 4) => BaseType::Logical,
        (dw::DW_ATE_boolean, 8) => BaseType::Logical8,
        (dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_ASCII, 1) => BaseType::Character,
        _ => return None,
    })
}
