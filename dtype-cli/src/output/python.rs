//! A Python function that makes the calls, with mpi4py.

use std::fmt::{self, Write};

use dtype_core::{BaseType, ConstructorKind, OldType, Step};

use super::emitted::{self, Emitted, List, Written, wrapped};

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
    let (kind, arguments) = (step.kind(), emitted::arguments(0, step, "", of));
    // A method of the old type has no such argument. Lists know their lengths.
    let has_lists = emitted::lists(&arguments).next().is_some();
    let is_passed = |name: &str| name != "oldtype" && !(has_lists && matches!(name, "count" | "ndims"));
    let named = kind.arguments().iter().zip(&arguments);
    let passed = named.filter(|(name, _)| is_passed(name)).map(|(_, argument)| argument);
    let old = match step {
        Step::Struct { .. } => "MPI.Datatype".to_owned(),
        other => other.oldtypes().iter().map(|oldtype| of(*oldtype)).collect(),
    };
    let method = match kind {
        ConstructorKind::Dup => "Dup".to_owned(),
        kind => format!("Create_{}", kind.name().trim_start_matches("create_")),
    };
    let constant =
        |item: &String| item.strip_prefix("MPI_").map_or(item.clone(), |name| format!("MPI.{name}"));
    write!(f, "        made.append({old}.{method}(")?;
    if !has_lists {
        let items = passed.map(|argument| match argument {
            Written::Item(item) => constant(item),
            Written::List(_) => String::new(),
        });
        return writeln!(f, "{}))", items.collect::<Vec<_>>().join(", "));
    }
    f.push('\n');
    for argument in passed {
        match argument {
            Written::Item(item) => writeln!(f, "            {},", constant(item))?,
            Written::List(List { items, .. }) => {
                let items: Vec<_> = items.iter().map(constant).collect();
                wrapped(f, "            [", &items, "],\n")?;
            }
        }
    }
    writeln!(f, "        ))")
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
