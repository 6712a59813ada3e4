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
    use BaseType::{Byte, Char, I64, U32};
    if let Some(base) = BaseType::all().find(|base| base.numpy_names().contains(&name)) {
        return Some((base, 1));
    }
    match name {
        _ if ["M8", "m8", "datetime64", "timedelta64"].iter().any(|time| name.starts_with(time)) => {
            Some((I64, 1))
        }
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
