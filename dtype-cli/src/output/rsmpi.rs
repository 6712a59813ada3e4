//! A Rust function that makes the calls, with rsmpi alone.

use std::fmt::{self, Write};

use dtype_core::{BaseType, ConstructorKind, OldType, Step};

use super::emitted::{self, Emitted, List, WIDTH, Written, wrapped};

/// Writes a module with one function that builds the datatype.
pub(super) fn write(f: &mut String, emitted: &Emitted<'_>) -> fmt::Result {
    let Emitted { name, program, bounds, measure, .. } = emitted;
    emitted.comment.lines().try_for_each(|line| writeln!(f, "{}", format!("// {line}").trim_end()))?;
    if emitted.has_complex() {
        writeln!(f, "// Complex numbers need the crate `num-complex`, and the feature `complex` of `mpi`.")?;
    }
    let is_resized = program.steps.iter().any(|step| matches!(step, Step::Resized { .. }));
    let is_struct =
        program.steps.iter().any(|step| !step.oldtypes().is_empty() && matches!(step, Step::Struct { .. }));
    let reference = if is_struct { "UncommittedDatatypeRef, " } else { "" };
    writeln!(
        f,
        "use mpi::{{
    Address,
    datatype::{{{reference}UncommittedUserDatatype, UserDatatype}},
    ffi,
    traits::*,
}};

/// Makes the datatype, committed. It is freed when it is dropped.
#[allow(non_snake_case)]
pub fn {name}_create() -> UserDatatype {{"
    )?;
    if let OldType::Base(base) = program.result {
        writeln!(f, "    let t0 = UncommittedUserDatatype::contiguous(1, &{});", of_base(base))?;
    }
    for (i, step) in program.steps.iter().enumerate() {
        call(f, i, step)?;
    }
    let last = program.steps.len().max(1) - 1;
    writeln!(
        f,
        "    let newtype = t{last}.commit();
    // SAFETY: the handle is that of a datatype, and the places are those of numbers.
    let (size, bounds, true_bounds) = unsafe {{
        let (mut size, mut bounds, mut true_bounds) = (0, [0; 2], [0; 2]);
        let [lower_bound, extent] = &mut bounds;
        let [true_lower_bound, true_extent] = &mut true_bounds;
        ffi::MPI_Type_size_x(newtype.as_raw(), &mut size);
        ffi::MPI_Type_get_extent(newtype.as_raw(), lower_bound, extent);
        ffi::MPI_Type_get_true_extent_x(newtype.as_raw(), true_lower_bound, true_extent);
        (size, bounds, true_bounds)
    }};
    assert_eq!(size, {});",
        measure.size
    )?;
    match emitted.true_bounds() {
        Some(bounds) => writeln!(f, "    assert_eq!(true_bounds, {bounds:?});")?,
        None => writeln!(f, "    let _: [ffi::MPI_Count; 2] = true_bounds;")?,
    }
    writeln!(
        f,
        "    let bounds: [Address; 2] = bounds;
    assert_eq!(bounds, [{}, {}]);
    newtype
}}",
        bounds.lower_bound, bounds.extent
    )?;
    if is_resized {
        f.push_str(
            "
/// A datatype with other bounds, for which rsmpi has no call.
fn resized(oldtype: &UncommittedUserDatatype, bounds: [Address; 2]) -> UncommittedUserDatatype {
    // SAFETY: the handle is that of a datatype, and the new one is nobody else's.
    unsafe {
        let mut newtype = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_create_resized(oldtype.as_raw(), bounds[0], bounds[1], &mut newtype);
        UncommittedUserDatatype::from_raw(newtype)
    }
}
",
        );
    }
    Ok(())
}

/// Returns rsmpi's function for a call, or `None` if it has none.
fn function(kind: ConstructorKind) -> Option<&'static str> {
    match kind {
        ConstructorKind::Contiguous => Some("contiguous"),
        ConstructorKind::Vector => Some("vector"),
        ConstructorKind::Hvector => Some("heterogeneous_vector"),
        ConstructorKind::Indexed => Some("indexed"),
        ConstructorKind::Hindexed => Some("heterogeneous_indexed"),
        ConstructorKind::IndexedBlock => Some("indexed_block"),
        ConstructorKind::HindexedBlock => Some("heterogeneous_indexed_block"),
        ConstructorKind::Struct => Some("structured"),
        ConstructorKind::Dup
        | ConstructorKind::Subarray
        | ConstructorKind::Darray
        | ConstructorKind::Resized => None,
    }
}

fn call(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let start = format!("    let t{i} = UncommittedUserDatatype::");
    match step {
        Step::Struct { oldtypes, .. } if oldtypes.is_empty() => {
            return writeln!(f, "{start}contiguous(0, &u8::equivalent_datatype());");
        }
        Step::Resized { lower_bound, extent, oldtype } => {
            let old = match oldtype {
                OldType::Step(old) => format!("t{old}"),
                OldType::Base(base) => {
                    writeln!(f, "{start}contiguous(1, &{});", of_base(*base))?;
                    format!("t{i}")
                }
            };
            return writeln!(f, "    let t{i} = resized(&{old}, [{lower_bound}, {extent}]);");
        }
        _ => {}
    }
    let of = if matches!(step, Step::Struct { .. }) { as_reference } else { borrowed };
    let arguments = emitted::arguments(i, step, "", of);
    let function = function(step.kind()).ok_or(fmt::Error)?;
    if emitted::lists(&arguments).next().is_none() {
        let items = arguments.iter().map(|argument| match argument {
            Written::Item(item) => &**item,
            Written::List(_) => "",
        });
        let items = items.collect::<Vec<_>>().join(", ");
        let line = format!("{start}{function}({items});");
        let lines = || format!("{start}{function}(\n        {items},\n    );");
        return writeln!(f, "{}", if line.len() > WIDTH { lines() } else { line });
    }
    writeln!(f, "{start}{function}(")?;
    // The first argument is the length of the lists, which know it.
    for argument in &arguments[1..] {
        match argument {
            Written::Item(item) => writeln!(f, "        {item},")?,
            Written::List(List { items, .. }) => wrapped(f, "        &[", items, "],\n")?,
        }
    }
    writeln!(f, "    );")
}

fn borrowed(oldtype: OldType) -> String {
    match oldtype {
        OldType::Base(base) => format!("&{}", of_base(base)),
        OldType::Step(step) => format!("&t{step}"),
    }
}

/// Returns the old type as a reference, as rsmpi's constructor of structs requires.
fn as_reference(oldtype: OldType) -> String {
    match oldtype {
        OldType::Base(base) => format!("UncommittedDatatypeRef::from({})", of_base(base)),
        OldType::Step(step) => format!("UncommittedDatatypeRef::from(&t{step})"),
    }
}

fn of_base(base: BaseType) -> String {
    format!("{}::equivalent_datatype()", base.rust_type().unwrap_or("?"))
}
