//! The arguments of MPI's constructors in a call.

use anyhow::{Result, bail};
use dtype_core::{ArrayOrder, BaseType, Constructor, Datatype, Distributed, Distribution, Subdimension};

/// The value of an argument or of a variable.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Number(i64),
    List(Vec<Value>),
    Datatype(Datatype),
    /// A name without a value: of a constant, or of a variable.
    Name(String),
}

/// A constructor of datatypes.
#[derive(Clone, Copy)]
pub(super) enum ConstructorKind {
    Contiguous,
    Vector,
    Hvector,
    Indexed,
    Hindexed,
    IndexedBlock,
    HindexedBlock,
    Struct,
    Subarray,
    Darray,
    Resized,
    Dup,
}

impl ConstructorKind {
    /// Returns the constructor whose name after `MPI_Type_` is `name`. The names from before MPI 2 are known,
    /// too.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "contiguous" => Self::Contiguous,
            "vector" => Self::Vector,
            "create_hvector" | "hvector" => Self::Hvector,
            "indexed" => Self::Indexed,
            "create_hindexed" | "hindexed" => Self::Hindexed,
            "create_indexed_block" => Self::IndexedBlock,
            "create_hindexed_block" => Self::HindexedBlock,
            "create_struct" | "struct" => Self::Struct,
            "create_subarray" => Self::Subarray,
            "create_darray" => Self::Darray,
            "create_resized" => Self::Resized,
            "dup" => Self::Dup,
            _ => return None,
        })
    }

    /// Returns the standard's names of the arguments.
    pub(super) fn arguments(self) -> &'static [&'static str] {
        const LISTS: [&str; 4] = ["count", "array_of_blocklengths", "array_of_displacements", "oldtype"];
        const BLOCKS: [&str; 4] = ["count", "blocklength", "array_of_displacements", "oldtype"];
        const STRIDED: [&str; 4] = ["count", "blocklength", "stride", "oldtype"];
        match self {
            Self::Contiguous => &["count", "oldtype"],
            Self::Vector | Self::Hvector => &STRIDED,
            Self::Indexed | Self::Hindexed => &LISTS,
            Self::IndexedBlock | Self::HindexedBlock => &BLOCKS,
            Self::Struct => &["count", "array_of_blocklengths", "array_of_displacements", "array_of_types"],
            Self::Subarray => {
                &["ndims", "array_of_sizes", "array_of_subsizes", "array_of_starts", "order", "oldtype"]
            }
            Self::Darray => &[
                "size",
                "rank",
                "ndims",
                "array_of_gsizes",
                "array_of_distribs",
                "array_of_dargs",
                "array_of_psizes",
                "order",
                "oldtype",
            ],
            Self::Resized => &["oldtype", "lb", "extent"],
            Self::Dup => &["oldtype"],
        }
    }
}

/// Returns the constructor with these arguments. Values after the last argument are ignored.
pub(super) fn constructor(call: &str, known: ConstructorKind, values: Vec<Value>) -> Result<Constructor> {
    Arguments { call, known, values: values.into_iter(), next: 0 }.constructor()
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
            Value::Name(name) => match name.parse::<BaseType>() {
                Ok(base) => format!("`{name}`, whose datatype is {}", base.mpi_name()),
                Err(_) => format!("`{name}`, which has no value"),
            },
        };
        bail!("{}: `{name}` is {found}, but must be {expected}", self.call)
    }

    fn number<T: TryFrom<i64>>(&mut self, expected: &str) -> Result<T> {
        let (name, value) = self.take();
        match &value {
            Value::Number(number) => match T::try_from(*number) {
                Ok(number) => Ok(number),
                Err(_) => self.refused(name, &value, expected),
            },
            _ => self.refused(name, &value, expected),
        }
    }

    fn count(&mut self) -> Result<u64> {
        self.number("a number, 0 or more")
    }

    fn integer(&mut self) -> Result<i64> {
        self.number("a number")
    }

    fn datatype(&mut self) -> Result<Datatype> {
        let (name, value) = self.take();
        match value {
            Value::Datatype(datatype) => Ok(datatype),
            value => {
                self.refused(name, &value, "a datatype: a predefined one, or the result of an earlier call")
            }
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

    fn counts(&mut self, count: u64) -> Result<Vec<u64>> {
        self.list(count, "a list of numbers, 0 or more each", |value| match value {
            Value::Number(number) => u64::try_from(number).ok(),
            _ => None,
        })
    }

    fn integers(&mut self, count: u64) -> Result<Vec<i64>> {
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

    fn constructor(mut self) -> Result<Constructor> {
        Ok(match self.known {
            ConstructorKind::Contiguous => {
                Constructor::Contiguous { count: self.count()?, oldtype: self.datatype()? }
            }
            ConstructorKind::Vector => Constructor::Vector {
                count: self.count()?,
                blocklength: self.count()?,
                stride: self.integer()?,
                oldtype: self.datatype()?,
            },
            ConstructorKind::Hvector => Constructor::Hvector {
                count: self.count()?,
                blocklength: self.count()?,
                stride: self.integer()?,
                oldtype: self.datatype()?,
            },
            ConstructorKind::Indexed => {
                let count = self.count()?;
                let (blocklengths, displacements) = (self.counts(count)?, self.integers(count)?);
                Constructor::Indexed { blocklengths, displacements, oldtype: self.datatype()? }
            }
            ConstructorKind::Hindexed => {
                let count = self.count()?;
                let (blocklengths, displacements) = (self.counts(count)?, self.integers(count)?);
                Constructor::Hindexed { blocklengths, displacements, oldtype: self.datatype()? }
            }
            ConstructorKind::IndexedBlock => {
                let (count, blocklength) = (self.count()?, self.count()?);
                let displacements = self.integers(count)?;
                Constructor::IndexedBlock { blocklength, displacements, oldtype: self.datatype()? }
            }
            ConstructorKind::HindexedBlock => {
                let (count, blocklength) = (self.count()?, self.count()?);
                let displacements = self.integers(count)?;
                Constructor::HindexedBlock { blocklength, displacements, oldtype: self.datatype()? }
            }
            ConstructorKind::Struct => {
                let count = self.count()?;
                let (blocklengths, displacements) = (self.counts(count)?, self.integers(count)?);
                let oldtypes = self.list(count, "a list of datatypes", |value| match value {
                    Value::Datatype(datatype) => Some(datatype),
                    _ => None,
                })?;
                Constructor::Struct { blocklengths, displacements, oldtypes }
            }
            ConstructorKind::Subarray => {
                let count = self.count()?;
                let (sizes, subsizes, starts) =
                    (self.counts(count)?, self.counts(count)?, self.counts(count)?);
                let dimension =
                    |k: usize| Subdimension { size: sizes[k], subsize: subsizes[k], start: starts[k] };
                let dimensions = (0..sizes.len()).map(dimension).collect();
                Constructor::Subarray { dimensions, order: self.order()?, oldtype: self.datatype()? }
            }
            ConstructorKind::Darray => self.darray()?,
            ConstructorKind::Resized => {
                let oldtype = self.datatype()?;
                Constructor::Resized { lower_bound: self.integer()?, extent: self.integer()?, oldtype }
            }
            ConstructorKind::Dup => Constructor::Dup { oldtype: self.datatype()? },
        })
    }

    fn darray(&mut self) -> Result<Constructor> {
        let (processes_in_all, rank, count) = (self.count()?, self.count()?, self.count()?);
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
        let all = processes.iter().fold(1u64, |all, processes| all.saturating_mul(*processes));
        if all != processes_in_all {
            bail!(
                "{}: `size` is {processes_in_all}, but must be {all}, the product of array_of_psizes",
                self.call
            );
        }
        let mut dimensions = Vec::new();
        for (k, kind) in kinds.iter().enumerate() {
            let distribution = match kind.to_ascii_uppercase().as_str() {
                "MPI_DISTRIBUTE_BLOCK" => Distribution::Block(blocks[k]),
                "MPI_DISTRIBUTE_CYCLIC" => Distribution::Cyclic(blocks[k]),
                "MPI_DISTRIBUTE_NONE" => Distribution::None,
                kind => bail!(
                    "{}: array_of_distribs[{k}] is `{kind}`, but must be MPI_DISTRIBUTE_BLOCK, \
                     MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE",
                    self.call
                ),
            };
            dimensions.push(Distributed { size: sizes[k], distribution, processes: processes[k] });
        }
        Ok(Constructor::Darray { rank, dimensions, order: self.order()?, oldtype: self.datatype()? })
    }
}
