//! Type signatures: the base types of packed bytes, in order (MPI 4.1 section 5.1). A signature gives the
//! units that another byte order reverses, and shows whether two layouts hold the same values.
use std::fmt;

use dtype_core::BaseType;

use super::node::{Bytes, overlapping};

/// The sequence of base types of packed bytes.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    /// The size in bytes.
    pub size: usize,
    /// The size in bytes in `external32`; `None` if it is unknown for a base type in the signature.
    pub external: Option<usize>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Values of one base type.
    Run(BaseType),
    /// Another signature, repeated.
    Repeat(Box<Signature>),
    /// Different signatures, each with the position of its first byte.
    Sequence(Box<[(usize, Signature)]>),
}

/// Returns the size in bytes of a unit: a number, whose bytes another byte order reverses. A complex value
/// has two units.
pub(crate) const fn unit(base: BaseType) -> usize {
    base.alignment() as usize
}

/// A number among packed bytes.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    /// The range of the number's bytes in the requested representation.
    pub bytes: Bytes,
    /// The range of the number's bytes among the packed bytes of this machine.
    pub native: Bytes,
    /// The base type of the number, or of the complex value that it is a component of.
    pub base: BaseType,
}

impl Unit {
    fn moved(self, bytes: usize, native: usize) -> Self {
        let by = |range: Bytes, by: usize| range.start + by..range.end + by;
        Self { bytes: by(self.bytes, bytes), native: by(self.native, native), ..self }
    }
}

/// Returns the base type that represents all base types with the same values.
fn plain(base: BaseType) -> BaseType {
    base.plain().unwrap_or(base)
}

/// Returns the size in bytes of a unit in `external32`, or its size on this machine if the former is unknown.
pub(crate) fn external_unit(base: BaseType) -> usize {
    base.external_size().map_or(unit(base), |size| unit(base) * size as usize / base.size() as usize)
}

impl Signature {
    pub fn run(base: BaseType, count: usize) -> Self {
        let external = base.external_size().map(|size| size as usize * count);
        Self { size: base.size() as usize * count, external, kind: Kind::Run(base) }
    }

    /// Returns the size in bytes: in `external32` if `external` is `true` and this size is known, else on
    /// this machine.
    pub fn size_in(&self, external: bool) -> usize {
        self.external.filter(|_| external).unwrap_or(self.size)
    }

    pub fn repeated(self, count: usize) -> Self {
        // A signature without bytes may have more copies than can be counted.
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

    /// Returns a base type in the signature whose form in `external32` is unknown, if there is one.
    pub fn opaque(&self) -> Option<BaseType> {
        match &self.kind {
            Kind::Run(base) => base.external_size().is_none().then_some(*base),
            Kind::Repeat(child) => child.opaque(),
            Kind::Sequence(parts) => parts.iter().find_map(|(_, part)| part.opaque()),
        }
    }

    /// Returns the base type of all values, if they have the same one.
    pub fn one_type(&self) -> Option<BaseType> {
        if let Kind::Run(base) = self.kind { Some(base) } else { None }
    }

    /// Returns the number of bytes after which the signature repeats itself.
    fn period(&self) -> usize {
        match &self.kind {
            Kind::Run(base) => base.size() as usize,
            Kind::Repeat(child) => child.size,
            Kind::Sequence(_) => self.size,
        }
    }

    /// Calls `visit` for each run of values that these bytes overlap, with its base type and the range of the
    /// overlap. The signature is repeated endlessly.
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

    /// Returns the unit that contains a byte. The signature is repeated endlessly. If `external` is `true`,
    /// `byte` is a position in `external32`.
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

    /// Returns the first of `bytes` bytes at which `self` and `other` have different base types, and both
    /// types. Both signatures are repeated endlessly. Base types with the same values count as equal.
    pub fn difference(&self, other: &Self, bytes: usize) -> Option<(usize, BaseType, BaseType)> {
        difference((self, 0), (other, 0), bytes)
    }

    /// Returns a hash of the base types of these bytes (FNV-1a of their runs). The signature is repeated
    /// endlessly. Equal sequences of base types have equal hashes, and base types with the same values count
    /// as equal. Different sequences have different hashes, except by chance.
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

/// Returns the parts of a sequence that overlap `bytes`, each with its position and the range of the overlap,
/// counted from the first byte of the part. The sequence has `size` bytes, and is repeated endlessly.
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

/// Returns the first difference among the next `bytes` bytes of two signatures, and the base types there.
/// Both signatures are repeated endlessly. The first bytes to compare are `from` and `other_from`.
///
/// The signatures are not expanded into lists. Of two periodic signatures, only as many bytes are compared as
/// prove that they always agree. The signature with the longer period is taken apart first.
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

/// Writes the signature as text: `3 × {f64, 2 × u8}`.
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
