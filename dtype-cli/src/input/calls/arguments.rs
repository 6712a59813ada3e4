//! The arguments of MPI's constructors in a call.

use anyhow::{Error, Result, bail};
use dtype_core::{
    ArgumentReader, ArrayOrder, BaseType, Constructor, ConstructorKind, Datatype, Distributed, Distribution,
    grid_size,
};

/// The value of an argument or of a variable.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i64),
    List(Vec<Value>),
    Datatype(Datatype),
    /// A name without a value: of a constant, or of a variable.
    Name(String),
}

/// Returns the constructor with these arguments. Values after the last argument are ignored.
pub(super) fn constructor(
    call: &str,
    known: ConstructorKind,
    values: Vec<Value>,
) -> Result<Constructor<Datatype>> {
    known.read(&mut Arguments { call, known, values: values.into_iter(), next: 0 })
}

/// The requirement for a datatype, as messages name it.
const OLDTYPE: &str = "a datatype: a predefined one, or the result of an earlier call";

/// Returns `true` for the marks that set the bounds of a struct before MPI 3.0.
fn is_bound(name: &str) -> bool {
    ["MPI_UB", "MPI_LB"].iter().any(|bound| name.eq_ignore_ascii_case(bound))
}

/// The arguments of a call, which are taken one after the other.
struct Arguments<'a> {
    call: &'a str,
    known: ConstructorKind,
    values: std::vec::IntoIter<Value>,
    next: usize,
}

impl Arguments<'_> {
    fn take(&mut self) -> (&'static str, Value) {
        let name = self.known.arguments().get(self.next).copied().unwrap_or("");
        self.next += 1;
        (name, self.values.next().unwrap_or(Value::Number(0)))
    }

    fn refused<T>(&self, name: &str, value: &Value, expected: &str) -> Result<T> {
        let found = match value {
            Value::Number(number) => number.to_string(),
            Value::List(items) => format!("a list of length {}", items.len()),
            Value::Datatype(_) => "a datatype".to_owned(),
            Value::Name(bound) if is_bound(bound) => bail!(
                "{}: `{name}` is `{bound}`, which MPI 3.0 has removed: leave it out, and set the bounds with \
                 MPI_Type_create_resized(oldtype, lb, extent)",
                self.call
            ),
            Value::Name(name) => match name.parse::<BaseType>() {
                Ok(base) => format!("`{name}`, whose datatype is {}", base.mpi_name()),
                Err(_) => format!("`{name}`, which has no value"),
            },
        };
        bail!("{}: `{name}` is {found}, but must be {expected}", self.call)
    }

    fn integral<T: TryFrom<i64>>(&mut self, expected: &str) -> Result<T> {
        let (name, value) = self.take();
        match &value {
            Value::Number(number) => match T::try_from(*number) {
                Ok(number) => Ok(number),
                Err(_) => self.refused(name, &value, expected),
            },
            _ => self.refused(name, &value, expected),
        }
    }

    /// Takes a list of `count` items, each of which `item` converts.
    fn list<T>(&mut self, count: u64, expected: &str, item: impl Fn(Value) -> Option<T>) -> Result<Vec<T>> {
        let (name, value) = self.take();
        match value {
            Value::List(items) if items.len() as u64 == count => {
                let read: Option<Vec<T>> = items.iter().cloned().map(item).collect();
                read.map_or_else(|| self.refused(name, &Value::List(items), expected), Ok)
            }
            value => self.refused(name, &value, &format!("a list of length {count}")),
        }
    }
}

impl ArgumentReader for Arguments<'_> {
    type Datatype = Datatype;
    type Error = Error;

    fn count(&mut self) -> Result<u64> {
        self.integral("a number, 0 or more")
    }

    fn counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.list(count, "a list of numbers, 0 or more each", |value| match value {
            Value::Number(number) => u64::try_from(number).ok(),
            _ => None,
        })
    }

    fn number(&mut self) -> Result<i64> {
        self.integral("a number")
    }

    fn numbers(&mut self, count: u64) -> Result<Vec<i64>> {
        self.list(count, "a list of numbers", |value| match value {
            Value::Number(number) => Some(number),
            _ => None,
        })
    }

    fn order(&mut self) -> Result<ArrayOrder> {
        let (name, value) = self.take();
        match &value {
            Value::Name(order) if order.eq_ignore_ascii_case("MPI_ORDER_C") => Ok(ArrayOrder::RowMajor),
            Value::Name(order) if order.eq_ignore_ascii_case("MPI_ORDER_FORTRAN") => {
                Ok(ArrayOrder::ColumnMajor)
            }
            _ => self.refused(name, &value, "MPI_ORDER_C or MPI_ORDER_FORTRAN"),
        }
    }

    fn distributed(&mut self, size: u64, count: u64) -> Result<Vec<Distributed>> {
        let sizes = self.counts(count)?;
        let name = |value| match value {
            Value::Name(name) => Some(name),
            _ => None,
        };
        let kinds = self.list(count, "a list of MPI_DISTRIBUTE_…", name)?;
        let blocks =
            self.list(count, "a list of numbers and MPI_DISTRIBUTE_DFLT_DARG", |value| match value {
                Value::Number(number) => Some(Some(usize::try_from(number).ok()?)),
                Value::Name(name) if name.eq_ignore_ascii_case("MPI_DISTRIBUTE_DFLT_DARG") => Some(None),
                _ => None,
            })?;
        let processes = self.counts(count)?;
        let all = grid_size(processes.iter().copied());
        if all != size {
            bail!("{}: `size` is {size}, but must be {all}, the product of array_of_psizes", self.call);
        }
        let mut dimensions = Vec::new();
        for (k, kind) in kinds.iter().enumerate() {
            let kind = kind.to_ascii_uppercase();
            let Some(distribution) = Distribution::from_mpi(&kind, blocks[k]) else {
                bail!(
                    "{}: array_of_distribs[{k}] is `{kind}`, but must be MPI_DISTRIBUTE_BLOCK, \
                     MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE",
                    self.call
                );
            };
            dimensions.push(Distributed { size: sizes[k], distribution, processes: processes[k] });
        }
        Ok(dimensions)
    }

    fn datatype(&mut self) -> Result<Datatype> {
        let (name, value) = self.take();
        match value {
            Value::Datatype(datatype) => Ok(datatype),
            value => self.refused(name, &value, OLDTYPE),
        }
    }

    fn datatypes(&mut self, count: u64) -> Result<Vec<Datatype>> {
        let (name, value) = self.take();
        let items = match value {
            Value::List(items) if items.len() as u64 == count => items,
            value => return self.refused(name, &value, &format!("a list of length {count}")),
        };
        let mut datatypes = Vec::new();
        for (i, value) in items.into_iter().enumerate() {
            match value {
                Value::Datatype(datatype) => datatypes.push(datatype),
                value => return self.refused(&format!("{name}[{i}]"), &value, OLDTYPE),
            }
        }
        Ok(datatypes)
    }
}

/// Returns the constructor that a method or a function is named after: `Create_vector`, `create_struct`,
/// `Dup`.
pub(super) fn kind_of(name: &str) -> Option<ConstructorKind> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "dup" | "duplicate" => Some(ConstructorKind::Dup),
        name => {
            let short = name.strip_prefix("create_")?;
            ConstructorKind::from_name(name).or_else(|| ConstructorKind::from_name(short))
        }
    }
}
