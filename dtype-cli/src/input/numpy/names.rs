//! The names of numpy's types, with shapes and lengths: `f8`, `float64`, `(2,3)i4`, `S10`.

use dtype_core::BaseType;

/// Splits a name such as `(2,3)f8` or `3f8` into the shape and the rest.
pub(super) fn shape_before(name: &str) -> (Option<Vec<u64>>, &str) {
    if let Some((lengths, rest)) = name.strip_prefix('(').and_then(|name| name.split_once(')')) {
        let lengths = lengths.split(',').map(str::trim).filter(|length| !length.is_empty());
        return (lengths.map(|length| length.parse().ok()).collect(), rest);
    }
    let digits = name.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    match name[..digits].parse() {
        Ok(length) => (Some(vec![length]), &name[digits..]),
        Err(_) => (None, name),
    }
}

/// Returns `true` if `name` is a type in numpy.
pub(crate) fn is_name(name: &str) -> bool {
    element(name).is_some()
}

/// Returns the base type and the count that a dtype's name stands for: `S10` is 10 characters. Without a
/// length, the count of characters or bytes is 0.
pub(super) fn element(name: &str) -> Option<(BaseType, u64)> {
    use BaseType::{Bool, Byte, C32, C64, Char, F32, F64, I8, I16, I32, I64, LongDouble, U8, U16, U32, U64};
    let one = |base| Some((base, 1));
    match name {
        "?" | "b1" | "bool" | "bool_" | "bool8" => one(Bool),
        "b" | "i1" | "int8" | "byte" => one(I8),
        "B" | "u1" | "uint8" | "ubyte" => one(U8),
        "h" | "i2" | "int16" | "short" => one(I16),
        "H" | "u2" | "uint16" | "ushort" => one(U16),
        "i" | "i4" | "int32" | "intc" => one(I32),
        "I" | "u4" | "uint32" | "uintc" => one(U32),
        "l" | "q" | "p" | "i8" | "int64" | "int" | "int_" | "intp" | "long" | "longlong" => one(I64),
        "L" | "Q" | "P" | "u8" | "uint64" | "uint" | "uintp" | "ulong" | "ulonglong" => one(U64),
        "e" | "f2" | "float16" | "half" => one(BaseType::Real2),
        "f" | "f4" | "float32" | "single" => one(F32),
        "d" | "f8" | "float64" | "float" | "double" => one(F64),
        "g" | "f16" | "float128" | "longdouble" => one(LongDouble),
        "F" | "c8" | "complex64" | "csingle" => one(C32),
        "D" | "c16" | "complex128" | "complex" | "cdouble" => one(C64),
        "G" | "c32" | "complex256" | "clongdouble" => one(BaseType::CLongDoubleComplex),
        _ if name.starts_with("M8") || name.starts_with("m8") => one(I64),
        _ if name.starts_with("datetime64") || name.starts_with("timedelta64") => one(I64),
        "c" => one(Char),
        "bytes" | "bytes_" => Some((Char, 0)),
        "str" | "str_" => Some((U32, 0)),
        "void" => Some((Byte, 0)),
        _ => {
            let (base, length) = match name.split_at_checked(1)? {
                ("S" | "a", length) => (Char, length),
                // Each character has four bytes.
                ("U", length) => (U32, length),
                ("V", length) => (Byte, length),
                _ => return None,
            };
            Some((base, if length.is_empty() { 0 } else { length.parse().ok()? }))
        }
    }
}

/// The keys by which a description of an array is recognized.
pub(super) const KEYS: [&str; 8] =
    ["descr", "typestr", "fortran_order", "shape", "strides", "data", "version", "mask"];
