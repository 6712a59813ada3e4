//! The predefined datatypes of a language's base types, as debug information describes them.

use dtype_core::{BaseType, NumberKind};
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
    match name {
        // A program's `byte` is a type of its own.
        "byte" => None,
        // The datatypes of MPI's own types have their names.
        "MPI_Aint" | "MPI_Offset" | "MPI_Count" => name.to_ascii_uppercase().parse().ok(),
        _ => name.parse().ok(),
    }
}

fn by_encoding(name: &str, encoding: gimli::DwAte, size: u64) -> Option<BaseType> {
    match kind(encoding)? {
        // clang's name for the complex type of `long double`.
        NumberKind::Complex if name == "complex" && size > 16 => Some(BaseType::CLongDoubleComplex),
        kind => BaseType::of_number(kind, size).filter(|base| base.plain().is_some()),
    }
}

/// Returns the predefined datatype of a Fortran type.
fn in_fortran(name: &str, encoding: gimli::DwAte, size: u64) -> Option<BaseType> {
    let is_quadruple = name.contains("16");
    match (kind(encoding)?, size) {
        (NumberKind::Real, 16) if is_quadruple => Some(BaseType::Real16),
        (NumberKind::Real, 16) => Some(BaseType::LongDouble),
        (NumberKind::Complex, 32) if is_quadruple => Some(BaseType::Complex32),
        (NumberKind::Complex, 32) => Some(BaseType::CLongDoubleComplex),
        (NumberKind::Unsigned, size) => BaseType::of_fortran(NumberKind::Character, size),
        (kind, size) => BaseType::of_fortran(kind, size),
    }
}

/// Returns the kind of number that an encoding means.
fn kind(encoding: gimli::DwAte) -> Option<NumberKind> {
    Some(match encoding {
        dw::DW_ATE_float => NumberKind::Real,
        dw::DW_ATE_complex_float => NumberKind::Complex,
        dw::DW_ATE_boolean => NumberKind::Logical,
        dw::DW_ATE_signed | dw::DW_ATE_signed_char => NumberKind::Signed,
        dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF => NumberKind::Unsigned,
        dw::DW_ATE_ASCII => NumberKind::Character,
        _ => return None,
    })
}
