//! The macro `layout!`. Its language is described here and parsed in dtype-derive.

/// Names a part of an array in the notation of an index: `layout!(f64[100][100] => [.., 3])` is column 3 of a
/// matrix.
///
/// The result is a layout. Its methods `of(&source)` and `of_mut(&mut source)` return views of that part of
/// an array. Views are buffers for every rsmpi call, and can be packed and unpacked without MPI. They need no
/// `unsafe` code: bounds, element types and overlaps are checked, at compile time if the compiler knows them.
///
/// ```
/// use dtype_runtime::layout;
///
/// let mut grid = [[[0u16; 8]; 8]; 8];
/// let face = layout!(u16[8][8][8] => [1..7, 1..=6, -1]); // a face without its rim
/// face.of_mut(&mut grid).unpack(&[1; 72])?;
/// assert_eq!(grid[1][1][7], u16::from_ne_bytes([1, 1]));
/// assert_eq!(grid[0][1][7], 0);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # The language
///
/// ```text
/// input     := layout | attribute* [visibility] "type" name "=" layout [";"]
/// layout    := ["column_major"] element dimension* "=>" part ("+" part)* ["for" loop ("," loop)*]
///            | "<" element "@" number ("," element "@" number)* ">"
/// element   := a type that implements MpiDatatype
/// dimension := "[" number "]"                        its length; up to eight of them
/// part      := "[" item ("," item)* "]" path*        an item for each dimension
///            | "{" list "}" path*                    short for [{list}]
///            | path+                                 of a single element
/// path      := "." field ("[" item ("," item)* "]")* from an element to a part of it
/// item      := number | range [";" number] | "{" list "}"
/// range     := [number] ".." [number] | [number] "..=" number
/// loop      := name "in" number ".." number | name "in" number "..=" number
/// number    := an expression of any integer type but u128
/// list      := an expression of type &[usize], &Vec<i32>, [u64; 4], …, of the same integer types
/// ```
///
/// As in ndarray's `s![]`, a negative index or bound counts from the end, a range may be empty, and a range
/// with a negative step goes from its last index to its first. The entries of a list count from the
/// beginning.
///
/// *Parts* are packed one after another. Within a part, the last index runs fastest. A *loop* packs all parts
/// in each iteration. Of several loops, the last one runs fastest:
///
/// ```
/// # use dtype_runtime::layout;
/// let a = [[1u8, 2, 3], [4, 5, 6], [7, 8, 9]];
/// assert_eq!(layout!(u8[3][3] => [..;2, 1..]).of(&a).pack(), [2, 3, 8, 9]);
/// assert_eq!(layout!(u8[3][3] => [.., ..;-1]).of(&a).pack(), [3, 2, 1, 6, 5, 4, 9, 8, 7]);
/// assert_eq!(layout!(u8[3][3] => [0, ..] + [1.., 0]).of(&a).pack(), [1, 2, 3, 4, 7]);
/// assert_eq!(layout!(u8[3][3] => [i, i..] for i in 0..3).of(&a).pack(), [1, 2, 3, 5, 6, 9]); // a triangle
/// let transposed = layout!(u8[3][3] => [.., j] for j in 0..3);
/// assert_eq!(transposed.of(&a).pack(), [1, 4, 7, 2, 5, 8, 3, 6, 9]);
/// ```
///
/// *Paths* lead to fields and into arrays within an element:
///
/// ```
/// # use dtype_runtime::{MpiDatatype, layout};
/// #[derive(MpiDatatype, Clone, Copy)]
/// struct Particle { position: [f32; 3], id: u32 }
///
/// let particles = [Particle { position: [1.0, 2.0, 3.0], id: 4 }; 500];
/// assert_eq!(layout!(Particle[500] => [..].position[0..2]).of(&particles).pack().len(), 500 * 8);
/// assert_eq!(layout!(Particle => .position + .id).of(&particles[0]).pack().len(), 16);
/// ```
///
/// With `column_major`, the first index runs fastest, in memory and in packed bytes, as in Fortran and
/// nalgebra. Nested arrays are then nested in the reverse order:
///
/// ```
/// # use dtype_runtime::layout;
/// let a = [[1u8, 2], [3, 4], [5, 6]]; // three columns of two
/// assert_eq!(layout!(column_major u8[2][3] => [1, ..]).of(&a).pack(), [2, 4, 6]);
/// ```
///
/// A *type map* lists types and displacements in bytes, as in MPI, and applies to a source of bytes:
///
/// ```
/// # use dtype_runtime::layout;
/// let header = layout!(<i32 @ 0, f64 @ 8, f64 @ 16>);
/// assert_eq!(header.type_map().unwrap().to_string(), "i32 @ 0, 2 × f64 @ 8 stride 8");
/// assert_eq!(header.of(&[0u8; 24])?.pack().len(), 20);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Literals, constants, values
///
/// The kind of the numbers in a layout determines when the layout is known:
///
/// - The macro itself computes with *literals*, also with the operators `+`, `-`, `*`, `/` and `%`. It solves
///   the layout, and its errors point at the wrong bound.
/// - Names in upper case are *constants*, by Rust's convention, and so are blocks `const { … }`. The compiler
///   solves such a layout in constant evaluation.
/// - Any other number is a *value*. The layout is solved at its first use, and cached. A layout with a list
///   of indices is of this kind, too.
///
/// With literals and constants the macro returns a `StaticLayout`, which takes no space. With values it
/// returns a `Result` of a `DynamicLayout`. The errors of this `Result` have the same words as the compile
/// errors of static layouts.
///
/// ```
/// # use dtype_runtime::layout;
/// const N: usize = 4;
/// let matrix = [[1u8, 2, 3, 4]; N];
/// assert_eq!(layout!(u8[N][N] => [1..N - 1, 0]).of(&matrix).pack(), [1, 1]);
///
/// let (n, j) = (4, 2);
/// assert_eq!(layout!(u8[n][n] => [1..n - 1, j])?.of(&matrix)?.pack(), [3, 3]);
/// assert!(layout!(u8[n][n] => [.., j + 2]).is_err());
///
/// let nodes = vec![3, 0, 2];
/// assert_eq!(layout!(u8[n] => {nodes})?.of(&matrix[0])?.pack(), [4, 1, 3]);
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// A static layout expands to an item. So it cannot name the generic parameters of the function around it. If
/// such a parameter is bound to a value, as in `let n = N;`, the layout is dynamic and can name the value.
///
/// # Names
///
/// A layout with a name is a type, and a value of that name:
///
/// ```
/// use dtype_runtime::{View, layout};
///
/// layout!(pub type Column = f64[100][100] => [.., 3]);
///
/// fn send(column: View<'_, Column>) { /* … */ }
/// send(Column.of(&[[0.0; 100]; 100]));
/// ```
///
/// The macro shares its name with the module [`mod@crate::layout`], and `use dtype_runtime::layout` imports
/// both. Beside a `mod layout` of your own, write the path: `dtype_runtime::layout!(…)`.
#[macro_export]
macro_rules! layout {
    ($($input:tt)*) => {
        $crate::__private::layout! { $crate; $($input)* }
    };
}
