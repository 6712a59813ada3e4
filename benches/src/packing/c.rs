//! The loops in C of `benches/c/loops.c`.

use std::ffi::c_char;

use dtype_guidelines::way::Way;

macro_rules! loops {
    ($($way:ident: $pack:ident $unpack:ident ($($name:ident: $type:ty),*);)*) => {
        unsafe extern "C" {$(
            fn $pack(memory: *const u8, $($name: $type,)* packed: *mut c_char);
            fn $unpack(memory: *mut u8, $($name: $type,)* packed: *const c_char);
        )*}

        $(pub fn $way<'a, T: 'a>(memory: *mut T, $($name: $type),*) -> Way<'a> {
            Way::new(
                move |packed| unsafe { $pack(memory.cast(), $($name,)* packed.as_mut_ptr().cast()) },
                move |packed| unsafe { $unpack(memory.cast(), $($name,)* packed.as_ptr().cast()) },
            )
        })*
    };
}

loops! {
    contiguous: c_pack_contiguous c_unpack_contiguous (n: usize);
    strided: c_pack_strided c_unpack_strided (n: usize, stride: usize);
    blocks: c_pack_blocks c_unpack_blocks (n: usize, length: usize, stride: usize);
    indexed: c_pack_indexed c_unpack_indexed (indices: *const i32, n: usize);
    flash: c_pack_flash c_unpack_flash (blocks: usize);
    particle: c_pack_particle c_unpack_particle (n: usize);
    mixed: c_pack_mixed c_unpack_mixed (n: usize);
    twelve: c_pack_twelve c_unpack_twelve (n: usize);
    packed: c_pack_packed c_unpack_packed (n: usize);
    nested: c_pack_nested c_unpack_nested (n: usize);
    row_column: c_pack_row_column c_unpack_row_column (n: usize);
    triangle: c_pack_triangle c_unpack_triangle (n: usize);
    transpose: c_pack_transpose c_unpack_transpose (n: usize);
    lengths: c_pack_lengths c_unpack_lengths (starts: *const i32, lengths: *const i32, n: usize);
    halo: c_pack_halo c_unpack_halo (n: usize);
}
