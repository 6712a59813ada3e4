//! Seals and descriptions, which are sent with packed bytes so that a receiver notices missing or wrong
//! bytes.
//!
//! - A message between two ranks has no seal. With `DTYPE_CHECK=1` it has a *description* of its values,
//!   which the receiver compares with its own values. On the wire of segments, the description is in the
//!   first piece. Otherwise it is a separate message (`descriptions.rs`), because a program may ask for the
//!   length of a message.
//! - Each part of a collective call ends with a *seal*, because MPI does not say how many bytes of a part
//!   have arrived. The receiver *breaks* the seal before the call: it overwrites the seal with other bytes.
//!   Afterwards the seal is intact only if all bytes before it have arrived, too. A seal is a number drawn at
//!   random for the call. So it differs from the seals of earlier calls, which may remain in buffers of the
//!   library. With `DTYPE_CHECK=1` the description is the seal.

use std::{
    env,
    hash::{BuildHasher, Hasher, RandomState},
    ops::Range,
    sync::OnceLock,
};

use super::{address::Address, sendable::sealed::Read};
use crate::{
    Error,
    message::{is_message, malformed},
};

/// The environment variable of the checked mode.
const VARIABLE: &str = "DTYPE_CHECK";

/// Returns `true` in the checked mode: if `DTYPE_CHECK` is set, and is neither empty nor `0`. Only the first
/// call reads the variable.
#[inline]
pub(crate) fn checks() -> bool {
    static CHECKS: OnceLock<bool> = OnceLock::new();
    *CHECKS.get_or_init(|| env::var_os(VARIABLE).is_some_and(|value| !value.is_empty() && value != "0"))
}

/// The size of a description in bytes.
pub(crate) const DESCRIPTION: usize = 256;

/// The size of a seal without description in bytes.
const SEAL: usize = 8;

/// Returns the size in bytes of the description in the first piece of a message.
#[inline]
pub(crate) fn description_size() -> usize {
    if checks() { DESCRIPTION } else { 0 }
}

/// Returns the size in bytes of the seal behind a part of a collective call.
#[inline]
pub(crate) fn seal_size() -> usize {
    if checks() { DESCRIPTION } else { SEAL }
}

/// The first number in the description of a message.
const MARK: u64 = u64::from_ne_bytes(*b"\xD7ype\x02sig");

/// Draws a random number for the seals of one call.
pub(crate) fn draw() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the first number of a seal. It is never zero, whatever number a rank announces, because unwritten
/// memory is zero.
fn mark_of(drawn: u64) -> u64 {
    drawn | 1
}

/// Writes the seal behind the given packed bytes of a message.
pub(crate) fn seal<M: Read + ?Sized>(message: &M, bytes: Range<usize>, drawn: u64, into: &mut [u8]) {
    if checks() {
        describe_with(mark_of(drawn), message, bytes, into);
    } else {
        into[..SEAL].copy_from_slice(&mark_of(drawn).to_ne_bytes());
    }
}

/// Breaks a seal: overwrites its place with bytes that are not the seal, and erases what was there before.
pub(crate) fn break_seal(drawn: u64, at: &mut [u8]) {
    at[..seal_size()].fill(0);
    at[..SEAL].copy_from_slice(&(!mark_of(drawn)).to_ne_bytes());
}

/// Checks the seal of a rank's part, which is received as the given packed bytes of a message.
pub(crate) fn unseal<M: Read + ?Sized>(
    message: &M,
    bytes: Range<usize>,
    drawn: u64,
    seal: &[u8],
    rank: i32,
) -> Result<(), Error> {
    let announced = Error::Announced { rank, bytes: bytes.len() };
    if checks() {
        return compare(seal, mark_of(drawn), message, bytes, (rank, None)).unwrap_or(Err(announced));
    }
    if seal.first_chunk() == Some(&mark_of(drawn).to_ne_bytes()) { Ok(()) } else { Err(announced) }
}

/// Writes numbers into the first bytes, in the byte order of the machine.
pub(crate) fn write_numbers<const N: usize>(numbers: [u64; N], into: &mut [u8]) {
    into[..size_of_val(&numbers)].copy_from_slice(numbers.map(u64::to_ne_bytes).as_flattened());
}

/// Reads the numbers in the first bytes, of which there must be enough.
pub(crate) fn read_numbers<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let (numbers, _) = bytes.as_chunks::<8>();
    std::array::from_fn(|i| u64::from_ne_bytes(numbers[i]))
}

/// Writes the description of the given packed bytes of a message.
pub(crate) fn describe<M: Read + ?Sized>(message: &M, bytes: Range<usize>, into: &mut [u8]) {
    describe_with(MARK, message, bytes, into);
}

fn describe_with<M: Read + ?Sized>(mark: u64, message: &M, bytes: Range<usize>, into: &mut [u8]) {
    let plan = message.plan();
    let mut text = plan.signature_text(bytes.len());
    if text.len() > TEXT {
        text.truncate(text.floor_char_boundary(TEXT - '…'.len_utf8()));
        text.push('…');
    }
    into[..DESCRIPTION].fill(0);
    write_numbers([mark, bytes.len() as u64, plan.fingerprint(bytes), text.len() as u64], into);
    into[NUMBERS..NUMBERS + text.len()].copy_from_slice(text.as_bytes());
}

const NUMBERS: usize = 32;
const TEXT: usize = DESCRIPTION - NUMBERS;

/// Compares a description with the given packed bytes of the destination. Returns `None` if `description` is
/// none, or has another mark.
fn compare<M: Read + ?Sized>(
    description: &[u8],
    mark: u64,
    message: &M,
    bytes: Range<usize>,
    (rank, tag): (i32, Option<i32>),
) -> Option<Result<(), Error>> {
    let [its_mark, its_size, its_fingerprint, length] = read_numbers(description.get(..NUMBERS)?);
    let end = NUMBERS + usize::try_from(length).ok().filter(|length| *length <= TEXT)?;
    let text = str::from_utf8(description.get(NUMBERS..end)?).ok()?;
    if its_mark != mark {
        return None;
    }
    let (plan, size) = (message.plan(), bytes.len());
    if its_size == size as u64 && its_fingerprint == plan.fingerprint(bytes) {
        return Some(Ok(()));
    }
    let expected = format!("{} ({size} packed bytes)", plan.signature_text(size));
    let found = format!("{text} ({its_size} packed bytes)");
    Some(Err(Error::Mismatch { rank, tag, expected, found }))
}

/// Compares the description of a message, if there is one, with the destination of the message.
pub(crate) fn compare_described<M: Read + ?Sized>(
    message: &M,
    description: &[u8],
    sender: Address,
) -> Result<(), Error> {
    let from = (sender.rank, Some(sender.tag));
    compare(description, MARK, message, 0..message.packed_size(), from).unwrap_or(Ok(()))
}

/// Checks that `length` bytes for a message of plain values, whose last ones are `end`, are not an owned
/// message. Values of single bytes may be those of a message that the program has made.
#[inline]
pub(crate) fn are_plain<M: Read + ?Sized>(message: &M, end: &[u8], length: usize) -> Result<(), Error> {
    let are_bytes = || message.plan().one_type().is_some_and(|base| base.size() == 1);
    if is_message(end, length) && !are_bytes() {
        let reason = "it holds an owned value, such as a `String` or an `Option`: receive that type";
        return Err(malformed(reason));
    }
    Ok(())
}

/// Checks that `found` packed bytes fit a message. `sender` is `None` in a collective call.
pub(crate) fn fits<M: Read + ?Sized>(
    message: &M,
    found: usize,
    sender: Option<Address>,
) -> Result<(), Error> {
    let expected = message.packed_size();
    if found == expected {
        return Ok(());
    }
    let from = sender.map(|Address { rank, tag, .. }| (rank, tag));
    Err(Error::Fit { value: message.step(), expected, found: Some(found), from })
}
