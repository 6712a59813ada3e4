//! The copies of single blocks, one way for each range of sizes.
//!
//! Safety conditions 1 to 3 are those of the [parent module](super).

/// A way to copy a block, which depends only on the size of the block.
pub(crate) trait Width {
    /// The size in bytes, if it is a constant.
    const SIZE: Option<usize> = None;

    /// Copies a block of `size` bytes.
    ///
    /// # Safety
    /// Conditions 1 to 3 hold for a block of `size` bytes.
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8);
}

/// The widest register type that every machine of the target has.
#[cfg(target_arch = "x86_64")]
type Wide = std::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
type Wide = u128;

/// Copies `size` bytes from the first to the last. The compiler must know `size`. (It compiles
/// `copy_nonoverlapping` to code that writes the last bytes first, which takes up to twice as long.)
///
/// # Safety
/// Conditions 1 to 3 hold for these bytes.
#[inline(always)]
pub unsafe fn copy_forward(size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: the caller guarantees 1 to 3, and all parts lie within the bytes.
    let part = |at: usize, width: usize| unsafe {
        let (from, to) = (from.add(at), to.add(at));
        match width {
            1 => copy_number::<u8>(from, to),
            2 => copy_number::<u16>(from, to),
            4 => copy_number::<u32>(from, to),
            8 => copy_number::<u64>(from, to),
            _ => copy_number::<Wide>(from, to),
        }
    };
    let (whole, rest) = (size / 16 * 16, size % 16);
    let mut at = 0;
    while at < whole {
        part(at, 16);
        at += 16;
    }
    match rest.count_ones() {
        0 => {}
        1 => part(whole, rest),
        2 if whole == 0 => {
            let first = 1 << rest.ilog2();
            part(0, first);
            part(first, rest - first);
        }
        // In all other cases, the last part overlaps the one before.
        _ => {
            let width = if rest > 8 { 16 } else { 8 } >> u32::from(whole == 0);
            if whole == 0 {
                part(0, width);
            }
            part(size - width, width);
        }
    }
}

/// Copies a number; its addresses need no alignment.
///
/// # Safety
/// Conditions 1 to 3 hold for the bytes of the number.
#[inline(always)]
unsafe fn copy_number<T>(from: *const u8, to: *mut u8) {
    // SAFETY: the caller guarantees 1 to 3. Every byte pattern is a valid number, and these accesses need no
    // alignment.
    unsafe { to.cast::<T>().write_unaligned(from.cast::<T>().read_unaligned()) };
}

/// A block of `N` bytes.
pub(crate) struct Exact<const N: usize>;

impl<const N: usize> Width for Exact<N> {
    const SIZE: Option<usize> = Some(N);

    #[inline(always)]
    unsafe fn copy(_size: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller guarantees 1 to 3: the size is `N`.
        unsafe { copy_forward(N, from, to) };
    }
}

/// A block of at least `N` and at most `2 * N` bytes, copied as its first `N` bytes and its last `N` bytes.
pub(crate) struct Ends<const N: usize>;

impl<const N: usize> Width for Ends<N> {
    #[inline(always)]
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
        let last = size - N;
        // SAFETY: 1 to 3 hold for both parts, which lie within the block.
        unsafe {
            copy_forward(N, from, to);
            copy_forward(N, from.add(last), to.add(last));
        }
    }
}

/// A block of more than `N` and at most `N + 32` bytes, copied as its first `N` bytes and its last 32 bytes.
pub(crate) struct Tail<const N: usize>;

impl<const N: usize> Width for Tail<N> {
    #[inline(always)]
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
        let last = size - 32;
        // SAFETY: 1 to 3 hold for both parts, which lie within the block.
        unsafe {
            copy_forward(N, from, to);
            copy_forward(32, from.add(last), to.add(last));
        }
    }
}

/// A block of any size.
pub(crate) struct Any;

impl Width for Any {
    #[inline(always)]
    unsafe fn copy(size: usize, from: *const u8, to: *mut u8) {
        // SAFETY: the caller guarantees 1 to 3 for the same block.
        unsafe { to.copy_from_nonoverlapping(from, size) };
    }
}

/// Calls the macro `$function` with the [`Width`] for a size.
macro_rules! with_width {
    ($size:expr, $function:ident) => {
        with_width!($size, $function,
            1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32
            33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64
            65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96
            97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120
            121 122 123 124 125 126 127 128)
    };
    ($size:expr, $function:ident, $($exact:literal)*) => {
        match $size {
            $($exact => $function!(Exact<$exact>),)*
            129..=160 => $function!(Tail<128>),
            161..=192 => $function!(Tail<160>),
            193..=224 => $function!(Tail<192>),
            225..=256 => $function!(Tail<224>),
            _ => $function!(Any),
        }
    };
}

/// Copies a block of `size` bytes.
///
/// # Safety
/// Conditions 1 to 3 hold for the block.
#[inline(always)]
pub(crate) unsafe fn copy_block(size: usize, from: *const u8, to: *mut u8) {
    // SAFETY: the caller guarantees 1 to 3 for the same block.
    unsafe {
        match size {
            0 => {}
            1 => Exact::<1>::copy(size, from, to),
            2..=4 => Ends::<2>::copy(size, from, to),
            5..=8 => Ends::<4>::copy(size, from, to),
            9..=16 => Ends::<8>::copy(size, from, to),
            17..=32 => Ends::<16>::copy(size, from, to),
            33..=64 => Ends::<32>::copy(size, from, to),
            _ => Any::copy(size, from, to),
        }
    }
}

pub(crate) use with_width;
