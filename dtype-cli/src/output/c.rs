//! A C or C++ function that makes the calls.

use std::fmt::{self, Write};

use dtype_core::{BaseType, OldType, Step};

use super::emitted::{self, Emitted, List, Of, Written, literal, wrapped};
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

/// Writes the lists of numbers of a step as constants.
fn lists(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    for List { name, of, items } in emitted::lists(&arguments(i, step)).filter(|list| !list.items.is_empty())
    {
        let number = match of {
            Of::Numbers => "int",
            Of::Addresses => "MPI_Aint",
            Of::Datatypes => continue,
        };
        wrapped(f, &format!("    static const {number} {name}[] = {{"), items, "};\n")?;
    }
    Ok(())
}

fn arguments(i: usize, step: &Step) -> Vec<Written> {
    emitted::arguments(i, step, "", |oldtype| oldtype.to_string())
}

fn call(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let arguments = arguments(i, step);
    let written = arguments.iter().map(|argument| match argument {
        Written::Item(item) => item,
        Written::List(List { items, .. }) if items.is_empty() => "NULL",
        Written::List(List { of: Of::Datatypes, .. }) => "types",
        Written::List(List { name, .. }) => name,
    });
    let call =
        format!("error = {}({}, &t{i});", step.kind().mpi_name(), written.collect::<Vec<_>>().join(", "));
    f.push_str(if i > 0 { "    if (error == MPI_SUCCESS) " } else { "    " });
    match emitted::lists(&arguments).find(|list| list.of == Of::Datatypes && !list.items.is_empty()) {
        None => writeln!(f, "{call}"),
        Some(List { items, .. }) => {
            f.push_str("{\n");
            wrapped(f, "        const MPI_Datatype types[] = {", items, "};\n")?;
            writeln!(f, "        {call}\n    }}")
        }
    }
}
