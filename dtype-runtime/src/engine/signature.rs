//! Signatures: the base types of packed bytes, in order (MPI 4.1 section 5.1: type signature). Where units
//! end, in which a value of another byte order is turned round; and whether two layouts hold the same values.

#[cfg(feature = "mpi")]
use std::fmt;

use dtype_core::BaseType;

use super::node::{Bytes, overlapping};

/// What follows what in packed bytes.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// Bytes of all of it.
    pub size: usize,
    /// Bytes of all of it in `external32`, if that is known of all that is in it.
    pub external: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Values of one base type.
    Run(BaseType),
    /// Another signature again and again.
    Repeat(Box<Signature>),
    /// Different ones, each with where it begins.
    Sequence(Box<[(usize, Signature)]>),
}

/// Bytes that change places together in another byte order: those of a number, of which a complex value has
/// two.
pub(crate) const fn unit(base: BaseType) -> usize {
    base.alignment() as usize
}

/// A number among packed bytes.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// Which bytes it has in the representation that was asked for, and among the packed ones of this
    /// machine.
    pub bytes: Bytes,
    pub native: Bytes,
    /// What it is, or a component of.
    pub base: BaseType,
}

impl Unit {
    fn moved(self, bytes: usize, native: usize) -> Self {
        let by = |range: Bytes, by: usize| range.start + by..range.end + by;
        Self { bytes: by(self.bytes, bytes), native: by(self.native, native), ..self }
    }
}

/// The base type that stands for all with the same values.
fn plain(base: BaseType) -> BaseType {
    base.plain().unwrap_or(base)
}

/// The same in `external32`, where that is known.
pub(crate) fn external_unit(base: BaseType) -> usize {
    base.external_size().map_or(unit(base), |size| unit(base) * size as usize / base.size() as usize)
}

impl Signature {
    pub fn run(base: BaseType, count: usize) -> Self {
        let external = base.external_size().map(|size| size as usize * count);
        Self { size: base.size() as usize * count, external, kind: Kind::Run(base) }
    }

    /// Bytes of all of it, in `external32` if that is known.
    pub fn size_in(&self, external: bool) -> usize {
        self.external.filter(|_| external).unwrap_or(self.size)
    }

    pub fn repeated(self, count: usize) -> Self {
        // Nothing may be there more often than can be counted.
        let (size, external) =
            (self.size.wrapping_mul(count), self.external.map(|external| external.wrapping_mul(count)));
        match self.kind {
            Kind::Sequence(_) if count > 1 && self.size > 0 => {
                Self { size, external, kind: Kind::Repeat(Box::new(self)) }
            }
            _ => Self { size, external, ..self },
        }
    }

    pub fn sequence(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts = parts.into_iter();
        let mut all: Vec<(usize, Self)> = Vec::with_capacity(parts.size_hint().0);
        let (mut size, mut external) = (0, Some(0));
        for part in parts.filter(|part| part.size > 0) {
            size += part.size;
            external = external.zip(part.external).map(|(all, part)| all + part);
            if let (Some((_, last)), Kind::Run(base)) = (all.last_mut(), &part.kind)
                && matches!(&last.kind, Kind::Run(before) if before == base)
            {
                last.size += part.size;
                last.external = last.external.zip(part.external).map(|(all, part)| all + part);
                continue;
            }
            all.push((size - part.size, part));
        }
        match <[(usize, Self); 1]>::try_from(all) {
            Ok([(_, only)]) => only,
            Err(all) => Self { size, external, kind: Kind::Sequence(all.into()) },
        }
    }

    /// A base type in it of which it is not known how `external32` has it.
    pub fn opaque(&self) -> Option<BaseType> {
        match &self.kind {
            Kind::Run(base) => base.external_size().is_none().then_some(*base),
            Kind::Repeat(child) => child.opaque(),
            Kind::Sequence(parts) => parts.iter().find_map(|(_, part)| part.opaque()),
        }
    }

    /// Whether all values are of one base type.
    #[cfg(feature = "mpi")]
    pub fn is_of_one_type(&self) -> bool {
        matches!(self.kind, Kind::Run(_))
    }

    /// After how many bytes it repeats itself.
    fn period(&self) -> usize {
        match &self.kind {
            Kind::Run(base) => base.size() as usize,
            Kind::Repeat(child) => child.size,
            Kind::Sequence(_) => self.size,
        }
    }

    /// Calls back for the runs of values of which these bytes of `self`, again and again, hold something:
    /// with the base type and which of those bytes.
    pub fn for_each_run(&self, bytes: Bytes, visit: &mut impl FnMut(BaseType, Bytes)) {
        self.runs_of(0, bytes, visit);
    }

    fn runs_of(&self, start: usize, bytes: Bytes, visit: &mut impl FnMut(BaseType, Bytes)) {
        if bytes.is_empty() || self.size == 0 {
            return;
        }
        match &self.kind {
            Kind::Run(base) => visit(*base, start + bytes.start..start + bytes.end),
            Kind::Repeat(child) => child.runs_of(start, bytes, visit),
            Kind::Sequence(parts) => {
                for (begin, part, bytes) in in_turn(parts, self.size, bytes) {
                    part.runs_of(start + begin, bytes, visit);
                }
            }
        }
    }

    /// The unit that a byte of `self`, again and again, belongs to; the byte is counted in `external32` if
    /// that is asked for.
    pub fn unit_at(&self, byte: usize, external: bool) -> Unit {
        match &self.kind {
            Kind::Run(base) => {
                let native = unit(*base);
                let size = if external { external_unit(*base) } else { native };
                let nth = byte / size;
                Unit {
                    bytes: nth * size..(nth + 1) * size,
                    native: nth * native..(nth + 1) * native,
                    base: *base,
                }
            }
            Kind::Repeat(child) => child.unit_at(byte, external),
            Kind::Sequence(parts) => {
                let (size, mut begin) = (self.size_in(external), 0);
                let (turn, within) = (byte / size, byte % size);
                let part = if external {
                    let mut before = parts.iter().map(|(_, part)| {
                        begin += part.size_in(true);
                        begin
                    });
                    before.position(|end| within < end).unwrap_or(0)
                } else {
                    parts.partition_point(|(begin, _)| *begin <= within) - 1
                };
                let (native, part) = &parts[part];
                let begin = if external { begin - part.size_in(true) } else { *native };
                part.unit_at(within - begin, external).moved(turn * size + begin, turn * self.size + native)
            }
        }
    }

    /// Returns the first of `bytes` bytes at which `self` and `other`, each again and again, hold different
    /// base types, and both types. Those with the same values count as one.
    pub fn difference(&self, other: &Self, bytes: usize) -> Option<(usize, BaseType, BaseType)> {
        difference((self, 0), (other, 0), bytes)
    }

    /// Returns a number that is the same for the same base types in the same order, of these bytes of `self`,
    /// again and again; for others it is another one but by chance (FNV-1a of the runs of base types that
    /// have the same values).
    #[cfg(feature = "mpi")]
    pub fn fingerprint(&self, bytes: Bytes) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |(base, length): (BaseType, usize)| {
            for byte in [base as u8].into_iter().chain((length as u64).to_le_bytes()) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        let mut joined: Option<(BaseType, usize)> = None;
        self.for_each_run(bytes, &mut |base, run| match &mut joined {
            Some((before, length)) if *before == plain(base) => *length += run.len(),
            _ => joined.replace((plain(base), run.len())).into_iter().for_each(&mut add),
        });
        joined.into_iter().for_each(add);
        hash
    }
}

/// Lists the parts of a sequence of `size` bytes, again and again, that hold some of these bytes: where each
/// begins, and which bytes of its own.
fn in_turn(
    parts: &[(usize, Signature)],
    size: usize,
    bytes: Bytes,
) -> impl Iterator<Item = (usize, &Signature, Bytes)> {
    (bytes.start / size..bytes.end.div_ceil(size)).flat_map(move |copy| {
        let at = copy * size;
        let within = bytes.start.saturating_sub(at)..(bytes.end - at).min(size);
        overlapping(parts, |(begin, part)| (*begin, part.size), within)
            .map(move |((begin, part), bytes)| (at + begin, part, bytes))
    })
}

/// Returns where the next `bytes` bytes of two signatures, each again and again and from a byte on, differ.
///
/// Nothing is listed: of two that repeat themselves only as much is compared as shows that they always agree,
/// and the one that takes longer to repeat itself is taken apart first.
fn difference(
    (one, from): (&Signature, usize),
    (other, other_from): (&Signature, usize),
    bytes: usize,
) -> Option<(usize, BaseType, BaseType)> {
    if bytes == 0 {
        return None;
    }
    let (period, other_period) = (one.period(), other.period());
    // Two sequences with periods p and q that agree on p + q bytes agree for ever (Fine and Wilf).
    let bytes = bytes.min(period.saturating_add(other_period));
    let (from, other_from) = (from % period, other_from % other_period);
    match (&one.kind, &other.kind) {
        (Kind::Run(base), Kind::Run(other)) => {
            let (base, other) = (plain(*base), plain(*other));
            (base != other).then_some((0, base, other))
        }
        (Kind::Repeat(child), kind) if period >= other_period || matches!(kind, Kind::Run(_)) => {
            difference((child, from), (other, other_from), bytes)
        }
        (Kind::Sequence(parts), kind) if period >= other_period || matches!(kind, Kind::Run(_)) => {
            in_turn(parts, one.size, from..from + bytes).find_map(|(begin, part, within)| {
                let at = begin + within.start - from;
                difference((part, within.start), (other, other_from + at), within.len())
                    .map(|(byte, base, other)| (at + byte, base, other))
            })
        }
        _ => {
            difference((other, other_from), (one, from), bytes).map(|(byte, other, base)| (byte, base, other))
        }
    }
}

/// As it is read: `3 × {f64, 2 × u8}`.
#[cfg(feature = "mpi")]
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |f: &mut fmt::Formatter<'_>, count: usize| {
            if count == 1 { Ok(()) } else { write!(f, "{count} × ") }
        };
        match &self.kind {
            Kind::Run(base) => {
                times(f, self.size / base.size() as usize)?;
                write!(f, "{base}")
            }
            Kind::Repeat(child) => {
                times(f, self.size / child.size)?;
                write!(f, "{child}")
            }
            Kind::Sequence(parts) => {
                f.write_str("{")?;
                for (i, (_, part)) in parts.iter().enumerate() {
                    write!(f, "{}{part}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("}")
            }
        }
    }
}
