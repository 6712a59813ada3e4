//! Compares layouts of ndarray's and nalgebra's arrays and views, without MPI, with the elements that
//! indexing finds.
#![cfg(all(feature = "ndarray", feature = "nalgebra"))]

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Error, layout,
    layout::split,
    pack,
    pack::{Data, DataMut},
};
use nalgebra::{Matrix3x4, Vector6};
use ndarray::{Array1, Array2, Array3, ArrayD, ArrayView2, Axis, ShapeBuilder, s};

#[test]
fn arrays_of_ndarray_lie_as_their_strides_say() {
    let block = layout!(u16[3][4] => [1.., ..;2]);
    let expected = |a: &dyn Fn(usize, usize) -> u16| pack(&[a(1, 0), a(1, 2), a(2, 0), a(2, 2)]);
    let cell = |(i, j): (usize, usize)| (10 * i + j) as u16;
    let rows = Array2::from_shape_fn((3, 4), cell);
    let columns = Array2::from_shape_fn((3, 4).f(), cell);
    let large = Array2::from_shape_fn((9, 9), cell);
    let mut turned = Array2::from_shape_fn((4, 3), cell).reversed_axes();
    turned.invert_axis(Axis(0));
    assert_eq!(block.of(&rows).unwrap().pack(), expected(&|i, j| rows[[i, j]]));
    assert_eq!(block.of(&columns).unwrap().pack(), expected(&|i, j| columns[[i, j]]));
    assert_eq!(block.of(&turned).unwrap().pack(), expected(&|i, j| turned[[i, j]]));
    let window = large.slice(s![2..8;2, 1..;2]);
    assert_eq!(block.of(&window).unwrap().pack(), expected(&|i, j| window[[i, j]]));
    assert_eq!(block.of(&window).unwrap().tree().to_string(), "idx 4 at [0, 8, 36, 44]\n└─ u16\n");
    // One row stands for all rows, and is read once for each selected row.
    let line = Array1::from_iter([1u16, 2, 3, 4]);
    let broadcast = line.broadcast((3, 4)).unwrap();
    assert_eq!(block.of(&broadcast).unwrap().pack(), pack(&[1u16, 3, 1, 3]));
    // The source must have the right dimensions.
    assert_eq!(block.of(&line).unwrap_err(), Error::Shape { expected: vec![3, 4], found: vec![4] });
    assert!(block.of(&ArrayD::<u16>::zeros(vec![3, 4])).is_ok());
    assert!(block.of(&Array3::<u16>::zeros((3, 4, 1))).is_err());
}

#[test]
fn what_is_received_into_a_part_of_an_array_stays_in_it() {
    let n = 3;
    let diagonal = layout!(u8[n][n] => [i, i] for i in 0..n).unwrap();
    let mut large = Array2::<u8>::zeros((7, 7));
    let mut window = large.slice_mut(s![1..6;2, 1..6;2]);
    window.invert_axis(Axis(1));
    diagonal.of_mut(&mut window).unwrap().unpack(&[1, 2, 3]).unwrap();
    assert_eq!((large[[1, 5]], large[[3, 3]], large[[5, 1]]), (1, 2, 3));
    assert_eq!(large.sum(), 6);
    // Read and written at once.
    let (top, bottom) = (layout!(u8[7][7] => [1, ..]), layout!(u8[7][7] => [6, ..]));
    let (reads, mut writes) = split(&mut large, &[top], &[bottom]).unwrap();
    writes[0].unpack(&reads[0].pack()).unwrap();
    assert_eq!(large.row(6), large.row(1));
    // Shared data is copied before it is written.
    let (mut one, other) = (large.clone().into_shared(), large.clone().into_shared());
    let third = one.clone();
    bottom.of_mut(&mut one).unwrap().unpack(&[9; 7]).unwrap();
    assert_eq!((one[[6, 0]], third[[6, 0]]), (9, other[[6, 0]]));
}

#[test]
fn the_plan_of_a_strided_view_reaches_as_far_as_its_elements() {
    let wide = Array2::from_shape_fn((3, 1000), |(i, j)| (1000 * i + j) as u64);
    let all = layout!(u64[3][3] => [.., ..]);
    let bytes = 2 * 8000 + 3 * 8;
    let plan = all.of(&wide.slice(s![0..3, 0..3])).unwrap().data().plan().clone();
    let too_short = PackError::Reach { first: 0, end: bytes as i128, found: 72 };
    assert_eq!(Data::new(&plan, 1, &[0; 72], 0).unwrap_err(), too_short);
    assert_eq!(DataMut::new(&plan, 1, &mut [0; 72], 0).unwrap_err(), too_short);
    let memory = vec![7; bytes];
    assert_eq!(Data::new(&plan, 1, &memory, 0).unwrap().pack(), [7; 72]);
    assert!(Data::new(&plan, 1, &memory[..bytes - 1], 0).is_err());
    // From the last element to the first.
    let plan = all.of(&wide.slice(s![..;-1, 0..3;-1])).unwrap().data().plan().clone();
    assert_eq!(
        Data::new(&plan, 1, &memory, 0).unwrap_err(),
        PackError::Reach { first: 8 - bytes as i128, end: 8, found: bytes }
    );
    assert_eq!(Data::new(&plan, 1, &memory, bytes - 8).unwrap().pack(), [7; 72]);
    assert!(Data::new(&plan, 1, &memory, bytes - 7).is_err());
    // Elements without bytes may have any stride.
    let nothing = Array2::from_elem((3, 1000), ());
    let all = layout!(()[3][3] => [.., ..]);
    let plan = all.of(&nothing.slice(s![0..3, 0..3])).unwrap().data().plan().clone();
    assert!(Data::new(&plan, 5, &[], 0).is_ok());
}

/// ndarray accepts any stride of a dimension with one element, and keeps it.
#[test]
fn strides_of_single_elements_may_be_any() {
    let line = [1.0, 2.0, 3.0, 4.0];
    let ends = layout!(f64[1][4] => [0, ..;3]);
    for stride in [0, 1, 1 << 61, isize::MAX as usize] {
        let Ok(row) = ArrayView2::from_shape((1, 4).strides((stride, 1)), &line) else { continue };
        assert_eq!(ends.of(&row).unwrap().pack(), pack(&[1.0, 4.0]), "{stride}");
    }
    assert!(ArrayView2::from_shape((1, 4).strides((1 << 61, 1)), &line).is_ok());
}

#[test]
fn matrices_of_nalgebra_lie_by_columns() {
    let mut matrix = Matrix3x4::from_fn(|i, j| (10 * i + j) as u16);
    let row = layout!(u16[3][4] => [1, ..]);
    assert_eq!(row.of(&matrix).unwrap().pack(), pack(&[10u16, 11, 12, 13]));
    assert_eq!(row.of(&matrix).unwrap().tree().to_string(), "vec 4, stride 6\n└─ u16\n");
    // If the layout has the order of the matrix, its tree stays the same.
    let columns = layout!(column_major u16[3][4] => [.., 1..3]);
    assert_eq!(columns.of(&matrix).unwrap().pack(), pack(&[1u16, 11, 21, 2, 12, 22]));
    assert_eq!(columns.of(&matrix).unwrap().tree(), *columns.tree());
    // A view of a part, with steps; and a vector, with one dimension or two.
    let mut part = matrix.view_with_steps_mut((0, 1), (2, 2), (1, 1));
    layout!(u16[2][2] => [1, ..]).of_mut(&mut part).unwrap().unpack(&pack(&[7u16, 8])).unwrap();
    assert_eq!((matrix[(2, 1)], matrix[(2, 3)]), (7, 8));
    let vector = Vector6::from_fn(|i, _| i as u16);
    assert_eq!(layout!(u16[6] => [..;-2]).of(&vector).unwrap().pack(), pack(&[5u16, 3, 1]));
    assert_eq!(layout!(u16[6][1] => [2.., 0]).of(&vector).unwrap().packed_size(), 8);
    assert!(layout!(u16[1][6] => [0, ..]).of(&vector).is_err());
    assert!(layout!(u16[1][6] => [0, ..]).of(&vector.transpose()).is_ok());
}

#[cfg(feature = "nalgebra-0_34")]
#[test]
fn matrices_of_two_versions_of_nalgebra_lie_by_columns() {
    use dtype_runtime::message::{from_bytes, to_bytes};
    use nalgebra_0_34::{DMatrix, Matrix2x3};

    let matrix = Matrix2x3::new(1u8, 2, 3, 4, 5, 6);
    let mut heap = DMatrix::from_fn(2, 3, |i, j| matrix[(i, j)]);
    assert_eq!(pack(&[matrix]), [1, 4, 2, 5, 3, 6]);
    let row = layout!(u8[2][3] => [1, ..]);
    assert_eq!(row.of(&matrix).unwrap().pack(), [4, 5, 6]);
    row.of_mut(&mut heap).unwrap().unpack(&[7, 8, 9]).unwrap();
    assert_eq!(row.of(&heap).unwrap().pack(), [7, 8, 9]);
    // A message of one version is one of the other.
    let other: nalgebra::DMatrix<u8> = from_bytes(&to_bytes(&heap).unwrap()).unwrap();
    assert_eq!((other.shape(), other.as_slice()), ((2, 3), heap.as_slice()));
    assert_eq!(from_bytes::<Matrix2x3<u8>>(&to_bytes(&matrix).unwrap()), Ok(matrix));
}

/// Checks that the predicted times are those of this source, whose rows are far apart. The memory of an array
/// without gaps is at most its own.
#[test]
fn a_view_of_a_source_with_gaps_is_explained_with_its_own_memory() {
    let wide = Array2::<f64>::zeros((100, 20));
    let column = layout!(f64[100][2] => [.., 1]);
    let narrow = wide.slice(s![.., ..2]);
    let text = column.of(&narrow).unwrap().explain();
    assert!(text.contains("800 bytes in 100 strided blocks of 6400 in memory"), "{text}");
    assert!(column.explain().contains("800 bytes in 100 strided blocks of 1600 in memory"));
}
