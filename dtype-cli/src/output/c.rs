//! A C or C++ function that makes the calls.

use std::fmt::{self, Write};

use dtype_core::{BaseType, OldType, Step};

use super::emitted::{Emitted, literal, numbers, wrapped};
use crate::record::{Field, FieldPlace, Language, Record};

/// Writes a translation unit with one function that builds the datatype.
pub(super) fn write(f: &mut String, emitted: &Emitted<'_>) -> fmt::Result {
    let Emitted { name, program, bounds, measure, .. } = emitted;
    writeln!(f, "/*")?;
    emitted.comment.lines().try_for_each(|line| writeln!(f, "{}", format!(" * {line}").trim_end()))?;
    writeln!(
        f,
        " */
#include <assert.h>
#include <stdint.h>
#include <mpi.h>

#if !defined(__cplusplus) && __STDC_VERSION__ < 201112L
#define static_assert(condition, text) extern int dtype_checked[(condition) ? 1 : -1]
#endif
"
    )?;
    for (c, base) in types_of(emitted) {
        writeln!(f, "static_assert(sizeof({c}) == {}, \"{c} has another size here\");", base.size())?;
    }
    if let Some(record) = emitted.record {
        layout_of(f, record)?;
    }
    writeln!(
        f,
        "
/* Makes the datatype, committed. Returns MPI_SUCCESS, or the code of the call that failed; then
   *newtype is MPI_DATATYPE_NULL. Free it with MPI_Type_free. Declare this function where it is called:
   int {name}_create(MPI_Datatype *newtype); */
int {name}_create(MPI_Datatype *newtype)
{{"
    )?;
    for (i, step) in program.steps.iter().enumerate() {
        lists(f, i, step)?;
    }
    let made = program.steps.len().max(1);
    let names: Vec<_> = (0..made).map(|i| format!("t{i} = MPI_DATATYPE_NULL")).collect();
    wrapped(f, "    MPI_Datatype ", &names, ";\n")?;
    writeln!(
        f,
        "    MPI_Aint lower_bound, extent;
    MPI_Count size, true_lower_bound, true_extent;
    int error;
"
    )?;
    if let OldType::Base(base) = program.result {
        writeln!(f, "    error = MPI_Type_dup({}, &t0);", base.mpi_name())?;
    }
    for (i, step) in program.steps.iter().enumerate() {
        call(f, i, step)?;
    }
    let result = format!("t{}", made - 1);
    let true_bounds_differ = emitted.true_bounds().map_or(String::new(), |bounds| {
        let [lower_bound, extent] = bounds.map(|bytes| literal(bytes, ""));
        format!("\n            || true_lower_bound != {lower_bound} || true_extent != {extent}")
    });
    writeln!(
        f,
        "    if (error == MPI_SUCCESS) error = MPI_Type_commit(&{result});
    if (error == MPI_SUCCESS) error = MPI_Type_get_extent({result}, &lower_bound, &extent);
    if (error == MPI_SUCCESS) error = MPI_Type_size_x({result}, &size);
    if (error == MPI_SUCCESS)
        error = MPI_Type_get_true_extent_x({result}, &true_lower_bound, &true_extent);
    if (error == MPI_SUCCESS
        && (lower_bound != {} || extent != {} || size != {}{true_bounds_differ})) {{
        error = MPI_ERR_TYPE;
    }}
",
        literal(bounds.lower_bound, ""),
        literal(bounds.extent, ""),
        measure.size
    )?;
    for i in 0..made - 1 {
        writeln!(f, "    if (t{i} != MPI_DATATYPE_NULL) MPI_Type_free(&t{i});")?;
    }
    writeln!(
        f,
        "    if (error != MPI_SUCCESS && {result} != MPI_DATATYPE_NULL) MPI_Type_free(&{result});
    *newtype = {result};
    return error;
}}"
    )
}

/// Writes checks that a struct has the described layout, if the header that declares the struct is known.
fn layout_of(f: &mut String, record: &Record) -> fmt::Result {
    let Record { name, language, header: Some(header), size, fields, .. } = record else { return Ok(()) };
    if !matches!(language, Language::C | Language::Cxx) {
        return Ok(());
    }
    writeln!(f, "\n#include <stddef.h>\n#include \"{}\"\n", header.replace(['"', '\n'], "_"))?;
    writeln!(f, "static_assert(sizeof({name}) == {size}, \"{name} has another size here\");")?;
    // In C++, fields may be private, and not every class allows `offsetof`.
    if *language == Language::Cxx {
        return Ok(());
    }
    let is_name = |field: &&Field| {
        field.place == FieldPlace::Free
            && !field.name.is_empty()
            && field.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for Field { name: field, offset, .. } in fields.iter().filter(is_name) {
        writeln!(f, "static_assert(offsetof({name}, {field}) == {offset}, \"{field} is elsewhere here\");")?;
    }
    Ok(())
}

/// Returns the C types of the program's predefined datatypes, each once.
fn types_of(emitted: &Emitted<'_>) -> Vec<(&'static str, BaseType)> {
    let mut found = Vec::new();
    for base in emitted.bases() {
        if let Some(c) = base.c_name()
            && !found.contains(&(c, base))
        {
            found.push((c, base));
        }
    }
    found
}

/// Writes the lists of a step as constants.
fn lists(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let (lengths, displacements) = numbers(step);
    if !lengths.is_empty() {
        wrapped(f, &format!("    static const int blocklengths{i}[] = {{"), lengths, "};\n")?;
    }
    if !displacements.is_empty() {
        let displacements: Vec<_> = displacements.iter().map(|at| literal(*at, "")).collect();
        wrapped(f, &format!("    static const MPI_Aint displacements{i}[] = {{"), &displacements, "};\n")?;
    }
    Ok(())
}

fn call(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let lengths =
        |lengths: &[u64]| if lengths.is_empty() { "NULL".into() } else { format!("blocklengths{i}") };
    let places = |places: &[i64]| if places.is_empty() { "NULL".into() } else { format!("displacements{i}") };
    if i > 0 {
        f.push_str("    if (error == MPI_SUCCESS) ");
    } else {
        f.push_str("    ");
    }
    match step {
        Step::Contiguous { count, oldtype } => {
            writeln!(f, "error = MPI_Type_contiguous({count}, {oldtype}, &t{i});")
        }
        Step::Hvector { count, blocklength, stride, oldtype } => {
            writeln!(
                f,
                "error = MPI_Type_create_hvector({count}, {blocklength}, {stride}, {oldtype}, &t{i});"
            )
        }
        Step::HindexedBlock { blocklength, displacements, oldtype } => {
            let (count, places) = (displacements.len(), places(displacements));
            writeln!(
                f,
                "error = MPI_Type_create_hindexed_block({count}, {blocklength}, {places}, {oldtype}, &t{i});"
            )
        }
        Step::Hindexed { blocklengths, displacements, oldtype } => {
            let (count, lengths, places) =
                (displacements.len(), lengths(blocklengths), places(displacements));
            writeln!(f, "error = MPI_Type_create_hindexed({count}, {lengths}, {places}, {oldtype}, &t{i});")
        }
        Step::Struct { blocklengths, displacements, oldtypes } => {
            let (count, lengths, places) =
                (displacements.len(), lengths(blocklengths), places(displacements));
            if oldtypes.is_empty() {
                return writeln!(f, "error = MPI_Type_create_struct(0, NULL, NULL, NULL, &t{i});");
            }
            f.push_str("{\n");
            wrapped(f, "        const MPI_Datatype types[] = {", oldtypes, "};\n")?;
            writeln!(
                f,
                "        error = MPI_Type_create_struct({count}, {lengths}, {places}, types, &t{i});\n    }}"
            )
        }
        Step::Resized { lower_bound, extent, oldtype } => {
            let [lower_bound, extent] = [lower_bound, extent].map(|bytes| literal(*bytes, ""));
            writeln!(f, "error = MPI_Type_create_resized({oldtype}, {lower_bound}, {extent}, &t{i});")
        }
    }
}
