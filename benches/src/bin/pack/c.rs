//! The loops in C, `benches/c/loops.c`.

use std::ffi::c_char;

macro_rules! loops {
    ($($pack:ident $unpack:ident ($($name:ident: $type:ty),*);)*) => {
        unsafe extern "C" {
            $(
                pub fn $pack(memory: *const u8, $($name: $type,)* packed: *mut c_char);
                pub fn $unpack(memory: *mut u8, $($name: $type,)* packed: *const c_char);
            )*
        }
    };
}

loops! {
    c_pack_contiguous c_unpack_contiguous (n: usize);
    c_pack_strided c_unpack_strided (n: usize, stride: usize);
    c_pack_blocks c_unpack_blocks (n: usize, length: usize, stride: usize);
    c_pack_indexed c_unpack_indexed (indices: *const i32, n: usize);
    c_pack_flash c_unpack_flash (blocks: usize);
    c_pack_particle c_unpack_particle (n: usize);
    c_pack_mixed c_unpack_mixed (n: usize);
    c_pack_twelve c_unpack_twelve (n: usize);
    c_pack_packed c_unpack_packed (n: usize);
    c_pack_nested c_unpack_nested (n: usize);
    c_pack_row_column c_unpack_row_column (n: usize);
    c_pack_triangle c_unpack_triangle (n: usize);
    c_pack_transpose c_unpack_transpose (n: usize);
    c_pack_lengths c_unpack_lengths (starts: *const i32, lengths: *const i32, n: usize);
    c_pack_halo c_unpack_halo (n: usize);
}

/// A way to pack what is at `$memory` with these two functions.
#[macro_export]
macro_rules! c_way {
    ($memory:expr, $pack:ident, $unpack:ident $(, $argument:expr)*) => {{
        let memory: *mut u8 = $memory.cast();
        // SAFETY: the loops stay within the array that the case is made of, and within its packed bytes.
        $crate::Way::new(
            move |packed| unsafe { $crate::c::$pack(memory, $($argument,)* packed.as_mut_ptr().cast()) },
            move |packed| unsafe { $crate::c::$unpack(memory, $($argument,)* packed.as_ptr().cast()) },
        )
    }};
}
