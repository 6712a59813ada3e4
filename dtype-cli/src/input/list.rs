//! An index list: indices of elements of one base type, one per line or separated by blanks or commas.

use anyhow::{Context, Result, bail};
use dtype_core::{BaseType, TypeMap};

/// Reads the index list in `text`. An index is a displacement in elements of `base`. Brackets, and the text
/// after a `#`, are ignored.
pub(super) fn read(text: &[u8], base: Option<BaseType>) -> Result<TypeMap> {
    let Some(base) = base else {
        bail!("a list of indices has no base type: add `--type`, as in `--type double`");
    };
    let extent = base.extent() as i64;
    let mut displacements = Vec::new();
    for (line, text) in text.split(|byte| *byte == b'\n').enumerate() {
        let text = text.split(|byte| *byte == b'#').next().unwrap_or_default();
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || b",;[]".contains(byte);
        for index in text.split(is_between).filter(|index| !index.is_empty()) {
            let found = || String::from_utf8_lossy(index).into_owned();
            let number = number(index)
                .with_context(|| format!("line {}: expected an index, found `{}`", line + 1, found()))?;
            let displacement = number.checked_mul(extent).with_context(|| {
                format!("line {}: index {number} of {extent} bytes each is beyond the limit of i64", line + 1)
            })?;
            displacements.push(displacement);
        }
    }
    Ok(TypeMap::homogeneous(base, displacements)?)
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
