//! A Python function that makes the calls, with mpi4py.

use std::fmt::{self, Write};

use dtype_core::{BaseType, OldType, Step};

use super::emitted::{Emitted, wrapped};

/// Writes a module with one function that builds the datatype.
pub(super) fn write(f: &mut String, emitted: &Emitted<'_>) -> fmt::Result {
    let Emitted { name, program, bounds, measure, .. } = emitted;
    emitted.comment.lines().try_for_each(|line| writeln!(f, "{}", format!("# {line}").trim_end()))?;
    writeln!(
        f,
        "\
from mpi4py import MPI


def create_{name}():
    \"\"\"The datatype, committed. Free it with its method `Free`.\"\"\"
    made = []
    try:"
    )?;
    match program.result {
        OldType::Base(base) => writeln!(f, "        made.append({}.Dup())", of_base(base))?,
        OldType::Step(_) => program.steps.iter().try_for_each(|step| call(f, step))?,
    }
    writeln!(
        f,
        "        result = made.pop().Commit()
    finally:
        for datatype in made:
            datatype.Free()
    assert result.Get_extent() == ({}, {}), result.Get_extent()
    assert result.Get_size() == {}, result.Get_size()",
        bounds.lower_bound, bounds.extent, measure.size
    )?;
    if let Some([lower_bound, extent]) = emitted.true_bounds() {
        writeln!(
            f,
            "    assert result.Get_true_extent() == ({lower_bound}, {extent}), result.Get_true_extent()"
        )?;
    }
    writeln!(f, "    return result")
}

fn call(f: &mut String, step: &Step) -> fmt::Result {
    let list = |f: &mut String, items: &[i64], end: &str| wrapped(f, "            [", items, end);
    let lengths = |f: &mut String, items: &[u64]| wrapped(f, "            [", items, "],\n");
    match step {
        Step::Contiguous { count, oldtype } => {
            writeln!(f, "        made.append({}.Create_contiguous({count}))", of(*oldtype))
        }
        Step::Hvector { count, blocklength, stride, oldtype } => writeln!(
            f,
            "        made.append({}.Create_hvector({count}, {blocklength}, {stride}))",
            of(*oldtype)
        ),
        Step::HindexedBlock { blocklength, displacements, oldtype } => {
            writeln!(f, "        made.append({}.Create_hindexed_block(", of(*oldtype))?;
            writeln!(f, "            {blocklength},")?;
            list(
                f,
                displacements,
                "\
],
        ))
",
            )
        }
        Step::Hindexed { blocklengths, displacements, oldtype } => {
            writeln!(f, "        made.append({}.Create_hindexed(", of(*oldtype))?;
            lengths(f, blocklengths)?;
            list(
                f,
                displacements,
                "\
],
        ))
",
            )
        }
        Step::Struct { blocklengths, displacements, oldtypes } => {
            writeln!(f, "        made.append(MPI.Datatype.Create_struct(")?;
            lengths(f, blocklengths)?;
            list(f, displacements, "],\n")?;
            let oldtypes: Vec<_> = oldtypes.iter().map(|oldtype| of(*oldtype)).collect();
            wrapped(
                f,
                "            [",
                &oldtypes,
                "\
],
        ))
",
            )
        }
        Step::Resized { lower_bound, extent, oldtype } => {
            writeln!(f, "        made.append({}.Create_resized({lower_bound}, {extent}))", of(*oldtype))
        }
    }
}

fn of(oldtype: OldType) -> String {
    match oldtype {
        OldType::Base(base) => of_base(base),
        OldType::Step(step) => format!("made[{step}]"),
    }
}

/// Returns mpi4py's name of a predefined datatype.
fn of_base(base: BaseType) -> String {
    format!("MPI.{}", base.mpi4py_name().unwrap_or("?"))
}
