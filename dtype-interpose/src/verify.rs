//! Verification (`DTYPE_VERIFY`): the bytes that a plan packs are compared with those of `MPI_Pack`, and the
//! memory that it unpacks into with that of `MPI_Unpack`.
//!
//! The comparison of an unpacked message uses two shadows of the program's buffer, so that it also sees
//! writes into gaps. The padding of a `long double` is not compared, since libraries need not copy it.

use std::{
    ops::Range,
    os::raw::c_int,
    process,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use dtype_core::{BaseType, TypeTree};
use dtype_engine::{DataMut, PackBuffer, Plan};
use dtype_mpi::without_communicator;

use crate::{
    call::{SUCCESS, usable},
    lock::lock,
    mode::{self, Verify},
    native::{self, MPI_Aint, MPI_Datatype},
    policy::base_that,
    say::say,
};

/// The largest shadow in bytes. Messages that span more memory are not verified.
const MOST: usize = 1 << 30;

/// The numbers of messages of this process that were verified, that differed, and that could not be verified.
static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
const VERIFIED: usize = 0;
const DIFFERENT: usize = 1;
const UNVERIFIED: usize = 2;

/// The handle of a datatype that was made here.
struct Handle(MPI_Datatype);

// SAFETY: a handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Handle {}
// SAFETY: as for `Send`.
unsafe impl Sync for Handle {}

/// Handles that no engine uses any more. The thread that drops an engine may be in a callback of MPI, so they
/// are freed when a datatype is freed, when the next one is made, and before MPI is finalized.
static UNUSED: Mutex<Vec<Handle>> = Mutex::new(Vec::new());

/// The number of bytes that the displacements of an [`Original`] are less than those of the program's
/// datatype. Its buffers begin as many bytes later, since `MPI_Pack` of MPICH refuses a buffer at address 0
/// (`MPI_BOTTOM`).
const SHIFT: MPI_Aint = 64;

/// A datatype with the type map of the program's datatype, but for [`SHIFT`], which the program cannot free.
pub(crate) struct Original {
    handle: Handle,
    padding: Padding,
    /// `true` if a difference has been printed.
    is_told: AtomicBool,
}

/// Frees the handles that no engine uses any more. No lock is held meanwhile: with the last handle, MPI calls
/// delete functions of the program's attributes, which may send.
pub(crate) fn free_unused() {
    let unused = std::mem::take(&mut *lock(&UNUSED));
    for Handle(mut unused) in unused {
        // SAFETY: promise 1; the handle was made here, and is freed once.
        unsafe { native::PMPI_Type_free(&raw mut unused) };
    }
}

impl Drop for Original {
    fn drop(&mut self) {
        lock(&UNUSED).push(Handle(self.handle.0));
    }
}

impl Original {
    /// Keeps the type map of a datatype with this type tree, if messages are to be verified.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    pub unsafe fn of(datatype: MPI_Datatype, tree: &TypeTree) -> Option<Self> {
        mode::verify()?;
        // SAFETY: promises 1 and 2 for the datatype.
        unsafe { Self::keep(datatype, tree) }
    }

    /// Keeps the type map of a datatype with this type tree.
    ///
    /// # Safety
    /// Promises 1 and 2 for the datatype.
    pub unsafe fn keep(datatype: MPI_Datatype, tree: &TypeTree) -> Option<Self> {
        let padding = Padding::of(tree)?;
        free_unused();
        let mut copy = datatype;
        // SAFETY: promises 1 and 2 for the datatype; there is room for a handle.
        let is_made = without_communicator(&unsafe { usable() }, || unsafe {
            native::PMPI_Type_create_hindexed(1, &1, &-SHIFT, datatype, &raw mut copy) == SUCCESS
                && native::PMPI_Type_commit(&raw mut copy) == SUCCESS
        });
        is_made.then(|| Self { handle: Handle(copy), padding, is_told: AtomicBool::new(false) })
    }

    /// Packs by the MPI library, and returns `true` if that succeeds.
    ///
    /// # Safety
    /// Promise 1, and promise 3 for `count` elements at `origin`, which have as many packed bytes as
    /// `packed`.
    pub unsafe fn pack(&self, origin: *const u8, count: c_int, packed: &mut [u8]) -> bool {
        // SAFETY: promises 1 and 3, by the caller; the handle is live, and its data lie `SHIFT` before.
        unsafe { pack(self.handle.0, origin.wrapping_add(SHIFT as usize), count, packed) }
    }

    /// Unpacks by the MPI library, and returns `true` if that succeeds.
    ///
    /// # Safety
    /// Promise 1, and promise 4 for `count` elements at `origin`, which have as many packed bytes as
    /// `packed`.
    unsafe fn unpack(&self, packed: &[u8], origin: *mut u8, count: c_int) -> bool {
        let Ok(length) = c_int::try_from(packed.len()) else { return false };
        let (mut position, from) = (0, packed.as_ptr().cast());
        let origin = origin.wrapping_add(SHIFT as usize);
        // SAFETY: promise 1; the handle is live; the elements and the bytes are as the caller says.
        let code = without_communicator(&unsafe { usable() }, || unsafe {
            let own = native::MPI_COMM_SELF();
            native::PMPI_Unpack(from, length, &raw mut position, origin.cast(), count, self.handle.0, own)
        });
        code == SUCCESS && position == length
    }

    /// Returns the displacements that elements span by the MPI library: the data and the extents.
    pub fn bounds(&self, count: usize) -> Option<Range<i64>> {
        let (least, span, extent) = self.span(count)?;
        let (least, span) = (least as i64, i64::try_from(span).ok()?);
        let extents = (extent as i64).checked_mul(i64::try_from(count).ok()?)?;
        Some(least.min(extents)..least.checked_add(span)?.max(extents))
    }

    /// Copies the padding of elements between packed bytes.
    pub fn copy_padding(&self, from: &[u8], to: &mut [u8], count: usize) {
        let size = from.len() / count.max(1);
        self.padding.copy(from, to, count, |i, padded| i * size + padded.packed);
    }

    /// Returns the least displacement of `count` elements, the number of bytes that they span, and the extent
    /// of one.
    fn span(&self, count: usize) -> Option<(MPI_Aint, usize, MPI_Aint)> {
        let (mut lower, mut extent, mut first, mut length) = (0, 0, 0, 0);
        // SAFETY: promise 1; the handle is live; there is room for a number each.
        unsafe {
            native::PMPI_Type_get_extent(self.handle.0, &raw mut lower, &raw mut extent);
            native::PMPI_Type_get_true_extent(self.handle.0, &raw mut first, &raw mut length);
        }
        let last = MPI_Aint::try_from(count.checked_sub(1)?).ok()?.checked_mul(extent)?;
        let least = first.checked_add(SHIFT)?.checked_add(last.min(0))?;
        Some((least, usize::try_from(length.checked_add(last.checked_abs()?)?).ok()?, extent))
    }
}

/// Packs `count` elements at `origin` by the MPI library, and returns `true` if that succeeds.
///
/// # Safety
/// Promises 1 and 2 for the datatype, and promise 3 for the elements, which have as many packed bytes as
/// `packed`.
pub(crate) unsafe fn pack(
    datatype: MPI_Datatype,
    origin: *const u8,
    count: c_int,
    packed: &mut [u8],
) -> bool {
    let Ok(length) = c_int::try_from(packed.len()) else { return false };
    let (mut position, to) = (0, packed.as_mut_ptr().cast());
    // SAFETY: promise 1; the datatype is live; the elements and the room are as the caller says.
    let code = without_communicator(&unsafe { usable() }, || unsafe {
        let own = native::MPI_COMM_SELF();
        native::PMPI_Pack(origin.cast(), count, datatype, to, length, &raw mut position, own)
    });
    code == SUCCESS && position == length
}

/// The padding in one element of a datatype: bytes of values that MPI libraries need not copy.
struct Padding(Vec<Padded>);

/// The padding of one value.
struct Padded {
    /// The number of packed bytes before it.
    packed: usize,
    /// The displacement of its first byte.
    displacement: MPI_Aint,
}

/// The number of bytes of data in a `long double` of x86, which has 16 bytes.
const DATA: usize = 10;
const LONG_DOUBLE: usize = 16;

impl Padding {
    /// Returns the padding of a datatype, or `None` if its type map is too large.
    fn of(tree: &TypeTree) -> Option<Self> {
        if base_that(tree, |base| long_doubles(base) > 0).is_none() {
            return Some(Self(Vec::new()));
        }
        let (mut found, mut size) = (Vec::new(), 0);
        for (base, at) in tree.flatten().ok()?.entries() {
            let starts = (0..long_doubles(base)).map(|i| i * LONG_DOUBLE + DATA);
            found.extend(starts.map(|start| Padded {
                packed: size + start,
                displacement: at as MPI_Aint + start as MPI_Aint,
            }));
            size += base.size() as usize;
        }
        Some(Self(found))
    }

    /// Copies the padding of `count` elements between two buffers. `place` returns the place of a padding in
    /// one of these elements.
    fn copy(&self, from: &[u8], to: &mut [u8], count: usize, place: impl Fn(usize, &Padded) -> usize) {
        for i in 0..count {
            for padded in &self.0 {
                let start = place(i, padded);
                let bytes = start..start + LONG_DOUBLE - DATA;
                to[bytes.clone()].copy_from_slice(&from[bytes]);
            }
        }
    }
}

/// Returns the number of values at the beginning of a base type that MPI libraries may copy as `long double`.
/// MPICH 5 copies all numbers of 16 bytes like that.
fn long_doubles(base: BaseType) -> usize {
    match base {
        _ if cfg!(not(target_arch = "x86_64")) => 0,
        BaseType::LongDouble
        | BaseType::LongDoubleInt
        | BaseType::Real16
        | BaseType::Integer16
        | BaseType::Logical16 => 1,
        BaseType::CLongDoubleComplex | BaseType::CxxLongDoubleComplex | BaseType::Complex32 => 2,
        _ => 0,
    }
}

/// A datatype whose messages are verified.
pub(crate) struct Verified<'a> {
    /// The datatype for the MPI library, or `None` if it could not be kept.
    pub original: Option<&'a Original>,
    /// The constructors of the datatype.
    pub built: &'a str,
    /// The place where the datatype was committed.
    pub place: &'a str,
}

/// The bytes of a shadow before it is unpacked into.
const GAP: u8 = 0xA5;

impl Verified<'_> {
    /// Compares the packed bytes of `count` elements with those of `MPI_Pack`. If they differ, prints the
    /// first difference; then ends the program, or replaces `packed` by the library's bytes, as
    /// `DTYPE_VERIFY` says.
    ///
    /// # Safety
    /// Promise 1, and promise 3 for `count` elements at `origin`, which have as many packed bytes as
    /// `packed`.
    pub unsafe fn packed(&self, origin: *const u8, count: usize, packed: &mut [u8]) {
        let by_library = self.original.and_then(|original| {
            let mut room = PackBuffer::with_room(packed.len()).ok()?;
            let room_for_all = &mut room[..packed.len()];
            room_for_all.fill(0);
            // SAFETY: the caller's condition.
            let is_packed = unsafe { original.pack(origin, c_int::try_from(count).ok()?, room_for_all) };
            original.copy_padding(packed, room_for_all, count);
            is_packed.then_some(room)
        });
        let Some(by_library) = by_library else { return noted(UNVERIFIED) };
        let by_library = &by_library[..packed.len()];
        let Some(byte) = first_difference(packed, by_library) else { return noted(VERIFIED) };
        self.differs(count, ("packed", "MPI_Pack"), byte, [packed[byte], by_library[byte]]);
        packed.copy_from_slice(by_library);
    }

    /// Unpacks into two shadows, by the plan and by `MPI_Unpack`, and compares them. If they differ, prints
    /// the first difference; then ends the program, or unpacks `bytes` by `MPI_Unpack`, as `DTYPE_VERIFY`
    /// says. Only whole elements are compared.
    ///
    /// # Safety
    /// Promise 1, and promise 4 for the elements at `origin` whose packed bytes are `bytes`.
    pub unsafe fn unpacked(&self, plan: &Plan, bytes: &[u8], origin: *mut u8) {
        let whole = bytes.len().checked_div(plan.packed_size()).unwrap_or(0);
        let bytes = &bytes[..whole * plan.packed_size()];
        if bytes.is_empty() {
            return;
        }
        let compared = self.original.zip(c_int::try_from(whole).ok()).and_then(|(original, count)| {
            let (least, span, extent) = original.span(whole).filter(|(_, span, _)| *span <= MOST)?;
            let mut shadows = [PackBuffer::with_room(span).ok()?, PackBuffer::with_room(span).ok()?];
            let [own, library] = shadows.each_mut().map(|shadow| {
                shadow[..span].fill(GAP);
                shadow.as_mut_ptr().wrapping_sub(least as usize)
            });
            // SAFETY: promise 1. From the least displacement on, each shadow has all bytes that `whole`
            // elements span, and nobody else uses the shadows.
            let is_unpacked = unsafe {
                DataMut::from_raw_parts(plan, whole, own).unpack_range(0, bytes).ok()?;
                original.unpack(bytes, library, count)
            };
            let [own, library] = &mut shadows;
            let place =
                |i: usize, padded: &Padded| (padded.displacement + i as MPI_Aint * extent - least) as usize;
            original.padding.copy(&own[..span], &mut library[..span], whole, place);
            is_unpacked.then_some((original, count, span, shadows))
        });
        let Some((original, count, span, [own, library])) = compared else { return noted(UNVERIFIED) };
        let Some(byte) = first_difference(&own[..span], &library[..span]) else { return noted(VERIFIED) };
        self.differs(whole, ("unpacked", "MPI_Unpack"), byte, [own[byte], library[byte]]);
        // SAFETY: promise 1, and promise 4 for the elements, as of the caller.
        unsafe { original.unpack(bytes, origin, count) };
    }

    /// Prints a difference, the first one of each datatype, and ends the program if the user wants that.
    fn differs(&self, count: usize, (done, by): (&str, &str), byte: usize, [own, library]: [u8; 2]) {
        noted(DIFFERENT);
        if self.original.is_some_and(|original| original.is_told.swap(true, Ordering::Relaxed)) {
            return;
        }
        let Self { built, place, .. } = self;
        let ends = mode::verify() == Some(Verify::Abort);
        let then = if ends {
            " The program ends. With DTYPE_VERIFY=plain it goes on with the library's bytes."
        } else {
            ""
        };
        say(format_args!(
            "DTYPE_VERIFY: {count} elements of {built}, committed in {place}, are {done} otherwise than by \
             {by}: byte {byte} is {own:#04x}, by {by} {library:#04x}.{then}"
        ));
        if ends {
            // Launchers may drop what a rank has printed just before the end.
            thread::sleep(Duration::from_millis(200));
            // SAFETY: promise 1.
            unsafe { native::PMPI_Abort(native::MPI_COMM_WORLD(), 1) };
            process::abort();
        }
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> Option<usize> {
    if one == other { None } else { one.iter().zip(other).position(|(one, other)| one != other) }
}

fn noted(what: usize) {
    COUNTS[what].fetch_add(1, Ordering::Relaxed);
}

/// The number of datatypes of this process that the MPI library packs otherwise than the standard says.
static FORWARDED: AtomicU64 = AtomicU64::new(0);

impl Verified<'_> {
    /// Says that messages are forwarded because the MPI library packs them otherwise than the standard says,
    /// for the first datatypes of a process.
    pub fn is_forwarded(&self, why: &str) {
        /// The largest number of datatypes that are named.
        const MOST_NAMED: u64 = 10;
        if FORWARDED.fetch_add(1, Ordering::Relaxed) < MOST_NAMED {
            let Self { built, place, .. } = self;
            say(format_args!(
                "DTYPE_VERIFY: messages of {built}, committed in {place}, are forwarded: {why}."
            ));
        }
    }
}

/// Prints the numbers of verified messages, on rank 0 for that rank.
pub(crate) fn end() {
    free_unused();
    if mode::verify().is_none() || mode::launched_rank().is_some_and(|rank| rank != 0) {
        return;
    }
    let [verified, different, unverified] =
        [VERIFIED, DIFFERENT, UNVERIFIED].map(|what| COUNTS[what].load(Ordering::Relaxed));
    say(format_args!(
        "DTYPE_VERIFY: rank 0 compared {} messages with MPI_Pack and MPI_Unpack: {different} differ. \
         {unverified} could not be compared.",
        verified + different
    ));
    let forwarded = FORWARDED.load(Ordering::Relaxed);
    if forwarded > 0 {
        say(format_args!(
            "DTYPE_VERIFY: the MPI library packs {forwarded} datatypes of rank 0 otherwise than the standard \
             says. Their messages were forwarded."
        ));
    }
}
