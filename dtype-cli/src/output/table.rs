//! Tables of structs: one field per line, or one struct per line.

use std::fmt::{self, Write};

use crate::{
    input::Listed,
    record::{Record, Reordered},
};

/// Writes the fields of a struct, the padding between them, and a better order of the fields.
pub(crate) fn fields(f: &mut String, record: &Record) -> fmt::Result {
    let Record { name, declared, size, .. } = record;
    match declared {
        Some((file, line)) => writeln!(f, "{name}, {file}:{line}")?,
        None => writeln!(f, "{name}")?,
    }
    // The offset, size, name and type of each field and each gap.
    let mut rows: Vec<(u64, u64, String, &str)> = Vec::new();
    for field in &record.fields {
        rows.push((field.offset, field.size, field.label(), &field.type_name));
    }
    rows.extend(record.gaps().into_iter().map(|(at, size)| (at, size, String::new(), "padding")));
    rows.sort_by_key(|(at, ..)| *at);
    let width = rows.iter().map(|(_, _, name, _)| name.chars().count()).max().unwrap_or(0);
    let digits = size.to_string().len().max("offset".len());
    writeln!(f, "{:>digits$}  {:>digits$}", "offset", "size")?;
    for (at, size, name, type_name) in rows {
        writeln!(f, "{at:>digits$}  {size:>digits$}  {name:<width$}  {type_name}")?;
    }
    let padding = record.padding();
    write!(f, "{size} bytes, {} of padding", if padding == 0 { "none".into() } else { padding.to_string() })?;
    match record.reordered() {
        Some(Reordered { fields, size: less }) => {
            let names: Vec<_> = fields.iter().map(|(field, _)| field.label()).collect();
            writeln!(f, "; {} fewer in the order {}", size - less, names.join(", "))
        }
        None => writeln!(f),
    }
}

/// Writes the structs of a program, first those that another order of the fields would shrink the most.
pub(crate) fn structs(f: &mut String, all: &[Listed]) -> fmt::Result {
    let mut rows: Vec<_> = all
        .iter()
        .map(|Listed { record, refused, least }| {
            let saved = least.as_ref().map_or(0, |(size, _)| record.size - size);
            let at = record.declared.as_ref().map_or(String::new(), |(file, line)| format!("{file}:{line}"));
            (saved, record.padding(), record, at, refused)
        })
        .collect();
    rows.sort_by(|a, b| (b.0, b.1, &a.2.name).cmp(&(a.0, a.1, &b.2.name)));
    let longest = |least: &str, lengths: &mut dyn Iterator<Item = usize>| {
        lengths.max().unwrap_or(0).clamp(least.len(), 60)
    };
    let width = longest("struct", &mut rows.iter().map(|row| row.2.name.chars().count()));
    let at_width = longest("declared", &mut rows.iter().map(|row| row.3.chars().count()));
    let heading = format!(
        "{:>10}  {:>9}  {:>9}  {:<width$}  {:<at_width$}  {}",
        "bytes", "padding", "saved", "struct", "declared", "what MPI cannot carry"
    );
    writeln!(f, "{}", heading.trim_end())?;
    for (saved, padding, record, at, refused) in rows {
        let row = format!(
            "{:>10}  {padding:>9}  {saved:>9}  {:<width$}  {at:<at_width$}  {}",
            record.size,
            record.name,
            refused.as_deref().unwrap_or("")
        );
        writeln!(f, "{}", row.trim_end())?;
    }
    Ok(())
}
