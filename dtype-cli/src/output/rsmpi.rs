//! A Rust function that makes the calls, with rsmpi alone.

use std::fmt::{self, Write};

use dtype_core::{BaseType, OldType, Step};

use super::emitted::{Emitted, numbers, wrapped};

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

fn call(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let (lengths, displacements) = numbers(step);
    let start = |f: &mut String, call: &str| writeln!(f, "    let t{i} = UncommittedUserDatatype::{call}(");
    let lists = |f: &mut String| {
        if !matches!(step, Step::HindexedBlock { .. }) {
            wrapped(f, "        &[", lengths, "],\n")?;
        }
        wrapped(f, "        &[", displacements, "],\n")
    };
    match step {
        Step::Contiguous { count, oldtype } => {
            writeln!(f, "    let t{i} = UncommittedUserDatatype::contiguous({count}, &{});", of(*oldtype))
        }
        Step::Hvector { count, blocklength, stride, oldtype } => writeln!(
            f,
            "    let t{i} = UncommittedUserDatatype::heterogeneous_vector(
        {count}, {blocklength}, {stride}, &{},
    );",
            of(*oldtype)
        ),
        Step::HindexedBlock { blocklength, oldtype, .. } => {
            start(f, "heterogeneous_indexed_block")?;
            writeln!(f, "        {blocklength},")?;
            lists(f)?;
            writeln!(f, "        &{},\n    );", of(*oldtype))
        }
        Step::Hindexed { oldtype, .. } => {
            start(f, "heterogeneous_indexed")?;
            lists(f)?;
            writeln!(f, "        &{},\n    );", of(*oldtype))
        }
        Step::Struct { oldtypes, .. } if oldtypes.is_empty() => {
            writeln!(f, "    let t{i} = UncommittedUserDatatype::contiguous(0, &u8::equivalent_datatype());")
        }
        Step::Struct { oldtypes, .. } => {
            start(f, "structured")?;
            lists(f)?;
            let oldtypes: Vec<_> = oldtypes.iter().map(|oldtype| as_reference(*oldtype)).collect();
            wrapped(f, "        &[", &oldtypes, "],\n")?;
            writeln!(f, "    );")
        }
        Step::Resized { lower_bound, extent, oldtype } => match oldtype {
            OldType::Step(old) => writeln!(f, "    let t{i} = resized(&t{old}, [{lower_bound}, {extent}]);"),
            OldType::Base(base) => writeln!(
                f,
                "    let t{i} = UncommittedUserDatatype::contiguous(1, &{});\n    \
                 let t{i} = resized(&t{i}, [{lower_bound}, {extent}]);",
                of_base(*base)
            ),
        },
    }
}

fn of(oldtype: OldType) -> String {
    match oldtype {
        OldType::Base(base) => of_base(base),
        OldType::Step(step) => format!("t{step}"),
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
