//! A Fortran subroutine that makes the calls, with the module `mpi_f08`, or with `mpi`, where handles are
//! integers.

use std::fmt::{self, Write};

use dtype_core::{OldType, Step};

use super::emitted::{self, Emitted, List, Of, WIDTH, Written, literal};

/// The kind suffix of strides, displacements and bounds in bytes.
const KIND: &str = "_MPI_ADDRESS_KIND";
/// The kind suffix of sizes and true bounds in bytes.
const COUNT: &str = "_MPI_COUNT_KIND";

/// A Fortran module of MPI.
pub(super) struct Module {
    name: &'static str,
    /// The type of a datatype's handle.
    datatype: &'static str,
}

/// The module for Fortran 2008 and newer.
pub(super) const F08: Module = Module { name: "mpi_f08", datatype: "type(MPI_Datatype)" };
/// The module for older programs.
pub(super) const OLD: Module = Module { name: "mpi", datatype: "integer" };

/// Writes a module with one subroutine that builds the datatype.
pub(super) fn write(f: &mut String, emitted: &Emitted<'_>, module: &Module) -> fmt::Result {
    let Module { name: mpi, datatype } = module;
    let Emitted { name, program, bounds, measure, .. } = emitted;
    emitted.comment.lines().try_for_each(|line| writeln!(f, "{}", format!("! {line}").trim_end()))?;
    let last = program.steps.len().max(1) - 1;
    writeln!(
        f,
        "\
module {name}_datatype
  implicit none
  private
  public :: {name}_create
contains
  ! Makes the datatype, committed. `ierror` is MPI_SUCCESS, or the code of the call that failed;
  ! then `newtype` is MPI_DATATYPE_NULL. Free it with MPI_Type_free.
  subroutine {name}_create(newtype, ierror)
    use {mpi}
    {datatype}, intent(out) :: newtype
    integer, intent(out) :: ierror
    {datatype} :: t(0:{last})
    integer(kind=MPI_ADDRESS_KIND) :: lower_bound, extent
    integer(kind=MPI_COUNT_KIND) :: size, true_lower_bound, true_extent
    integer :: i, ignored"
    )?;
    for (i, step) in program.steps.iter().enumerate() {
        declare(f, i, step)?;
    }
    writeln!(f, "\n    t = MPI_DATATYPE_NULL")?;
    for (i, step) in program.steps.iter().enumerate() {
        assign(f, i, step)?;
    }
    writeln!(f, "    build: block")?;
    if let OldType::Base(base) = program.result {
        writeln!(f, "      call MPI_Type_dup({}, t(0), ierror)", base.mpi_name())?;
        leave(f)?;
    }
    for (i, step) in program.steps.iter().enumerate() {
        call(f, i, step, datatype)?;
        leave(f)?;
    }
    writeln!(f, "      call MPI_Type_commit(t({last}), ierror)")?;
    leave(f)?;
    writeln!(f, "      call MPI_Type_get_extent(t({last}), lower_bound, extent, ierror)")?;
    leave(f)?;
    writeln!(f, "      call MPI_Type_size_x(t({last}), size, ierror)")?;
    leave(f)?;
    writeln!(f, "      call MPI_Type_get_true_extent_x(t({last}), true_lower_bound, true_extent, ierror)")?;
    leave(f)?;
    for (name, value) in [("lower_bound", bounds.lower_bound), ("extent", bounds.extent)] {
        writeln!(f, "      if ({name} /= {}) ierror = MPI_ERR_TYPE", literal(value, KIND))?;
    }
    writeln!(f, "      if (size /= {}{COUNT}) ierror = MPI_ERR_TYPE", measure.size)?;
    let names = ["true_lower_bound", "true_extent"];
    for (name, value) in names.into_iter().zip(emitted.true_bounds().into_iter().flatten()) {
        writeln!(f, "      if ({name} /= {}) ierror = MPI_ERR_TYPE", literal(value, COUNT))?;
    }
    writeln!(
        f,
        "    end block build
    do i = 0, {last}
      if (t(i) == MPI_DATATYPE_NULL) cycle
      if (i == {last} .and. ierror == MPI_SUCCESS) cycle
      call MPI_Type_free(t(i), ignored)
    end do
    newtype = t({last})
  end subroutine {name}_create
end module {name}_datatype"
    )
}

/// Writes a statement that leaves the block if the call has failed.
fn leave(f: &mut String) -> fmt::Result {
    writeln!(f, "      if (ierror /= MPI_SUCCESS) exit build")
}

fn declare(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    for List { name, of, items } in emitted::lists(&arguments(i, step)) {
        let number = match of {
            Of::Numbers => "integer",
            Of::Addresses => "integer(kind=MPI_ADDRESS_KIND)",
            Of::Datatypes => continue,
        };
        writeln!(f, "    {number} :: {name}({})", items.len())?;
    }
    Ok(())
}

/// Writes the assignments to a step's lists, with one line per statement. A statement may have at most 256
/// lines.
fn assign(f: &mut String, i: usize, step: &Step) -> fmt::Result {
    let arguments = arguments(i, step);
    let mut numbers = emitted::lists(&arguments).filter(|list| list.of != Of::Datatypes);
    numbers.try_for_each(|List { name, items, .. }| pieces(f, name, items))
}

fn arguments(i: usize, step: &Step) -> Vec<Written> {
    emitted::arguments(i, step, KIND, of)
}

fn pieces(f: &mut String, name: &str, items: &[String]) -> fmt::Result {
    let mut begin = 0;
    while begin < items.len() {
        let mut text = String::new();
        let mut end = begin;
        while end < items.len() && (end == begin || text.len() < WIDTH - 60) {
            let comma = if end == begin { "" } else { ", " };
            write!(text, "{comma}{}", items[end])?;
            end += 1;
        }
        writeln!(f, "    {name}({}:{end}) = [{text}]", begin + 1)?;
        begin = end;
    }
    Ok(())
}

fn call(f: &mut String, i: usize, step: &Step, datatype: &str) -> fmt::Result {
    let arguments = arguments(i, step);
    let written = arguments.iter().map(|argument| match argument {
        Written::Item(item) => item,
        Written::List(List { of: Of::Datatypes, .. }) => "types",
        Written::List(List { name, .. }) => name,
    });
    let (call, written) = (step.kind().mpi_name(), written.collect::<Vec<_>>().join(", "));
    let Some(List { items, .. }) = emitted::lists(&arguments).find(|list| list.of == Of::Datatypes) else {
        // A line may have at most 132 columns.
        let blank = if written.len() < WIDTH - 40 { " " } else { " &\n        " };
        return writeln!(f, "      call {call}({written},{blank}t({i}), ierror)");
    };
    writeln!(f, "      block\n        {datatype} :: types({})", items.len())?;
    for (k, oldtype) in items.iter().enumerate() {
        writeln!(f, "        types({}) = {oldtype}", k + 1)?;
    }
    writeln!(f, "        call {call}({written}, t({i}), ierror)\n      end block")
}

fn of(oldtype: OldType) -> String {
    match oldtype {
        // The predefined datatypes of C also exist in Fortran (MPI 4.1 section 19.3.9).
        OldType::Base(base) => base.mpi_name().to_owned(),
        OldType::Step(step) => format!("t({step})"),
    }
}
