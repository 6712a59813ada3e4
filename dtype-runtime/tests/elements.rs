//! Compares the elements that views lend with those that packing finds, and with indexing.
#![cfg(feature = "ndarray")]

use std::collections::BTreeSet;

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    DynamicLayout, Error, Layout, MpiDatatype, View, ViewMut, layout,
    layout::{Fields, WholeElements, split, split_mut},
    pack,
};
use ndarray::{Array3, Axis, ShapeBuilder, Slice};
use proptest::prelude::*;

/// Checks everything that a view lends against its packed bytes.
fn check<L: Layout<Element = u16, Selects: WholeElements>>(view: &View<'_, L>) {
    let elements = view.to_vec();
    assert_eq!(pack(&elements), view.pack());
    assert_eq!(view.iter().len(), elements.len());
    assert!(view.iter().eq(&elements) && view.into_iter().eq(&elements));
    for (i, element) in elements.iter().enumerate() {
        assert_eq!(view.get(i), Some(element));
    }
    assert_eq!(view.get(elements.len()), None);
    assert_eq!(view.get(usize::MAX), None);
    // Iteration from the outside first, and then from the inside.
    for taken in [1, 3, elements.len() / 2] {
        let mut iter = view.iter();
        let mut found: Vec<_> = iter.by_ref().take(taken).copied().collect();
        assert_eq!(iter.len(), elements.len() - found.len());
        assert!(iter.clone().eq(&elements[found.len()..]));
        iter.for_each(|element| found.push(*element));
        assert_eq!(found, elements);
    }
}

/// Adds 1 to every selected element, in each of the ways to write, and checks that nothing else changes.
fn check_mut<L: Layout<Element = u16, Selects: WholeElements>>(view: &mut ViewMut<'_, L>) {
    let before = view.as_view().to_vec();
    view.iter_mut().for_each(|element| *element += 1);
    view.for_each_mut(|element| *element += 1);
    for element in &mut *view {
        *element += 1;
    }
    for i in 0..before.len() {
        *view.get_mut(i).unwrap() += 1;
    }
    assert!(view.get_mut(before.len()).is_none());
    assert!(view.as_view().iter().eq(&before.iter().map(|element| element + 4).collect::<Vec<_>>()));
}

/// A selection in a dimension of this length: a range with a step of either sign, or a list.
fn indices(length: usize) -> impl Strategy<Value = Vec<usize>> {
    let range = (0..=length, 0..=length, 1..4usize, any::<bool>()).prop_map(|(a, b, step, reversed)| {
        let mut indices: Vec<_> = (a.min(b)..a.max(b)).step_by(step).collect();
        if reversed {
            indices.reverse();
        }
        indices
    });
    let list = Just((0..length).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_flat_map(move |all| proptest::sample::subsequence(all, 0..=length).prop_shuffle());
    prop_oneof![range, list]
}

/// An array of three dimensions, and pieces of it that do not overlap.
fn array_and_pieces() -> impl Strategy<Value = ([usize; 3], Vec<[Vec<usize>; 3]>)> {
    [1..5usize, 1..5usize, 1..5usize].prop_flat_map(|sizes| {
        let piece = (indices(sizes[0]), indices(sizes[1]), indices(sizes[2]));
        let pieces = proptest::collection::vec(piece, 1..4);
        pieces.prop_map(move |pieces| {
            let mut seen = BTreeSet::new();
            let new = |[a, b, c]: &[Vec<usize>; 3]| {
                let cells = a.iter().flat_map(|i| b.iter().map(move |j| (i, j)));
                let cells = cells.flat_map(|(i, j)| c.iter().map(move |k| (*i, *j, *k)));
                let cells: Vec<_> = cells.collect();
                let is_new = cells.iter().all(|cell| !seen.contains(cell));
                seen.extend(cells.into_iter().filter(|_| is_new));
                is_new
            };
            let pieces = pieces.into_iter().map(|(a, b, c)| [a, b, c]);
            (sizes, pieces.filter(new).collect())
        })
    })
}

proptest! {
    #[test]
    fn views_lend_the_elements_that_are_packed((sizes, pieces) in array_and_pieces(), order in 0..4u8) {
        let [l, m, n] = sizes;
        let (lists, all) = (&pieces, pieces.len());
        let layout = if order & 1 == 0 {
            layout!(u16[l][m][n] => [{&lists[p][0]}, {&lists[p][1]}, {&lists[p][2]}] for p in 0..all)
        } else {
            layout!(column_major u16[l][m][n] =>
                [{&lists[p][0]}, {&lists[p][1]}, {&lists[p][2]}] for p in 0..all)
        };
        let layout = layout.unwrap();
        let number = |(i, j, k): (usize, usize, usize)| (100 * i + 10 * j + k) as u16;
        let mut flat: Vec<u16> = (0..l * m * n).map(|i| i as u16).collect();
        check(&layout.of(&flat).unwrap());
        check_mut(&mut layout.of_mut(&mut flat).unwrap());
        let changed = flat.iter().enumerate().filter(|(i, element)| **element != *i as u16).count();
        prop_assert_eq!(changed, layout.count());

        // An array with gaps, in the other order, and backwards in one dimension.
        let mut large = Array3::from_shape_fn((2 * l, m, n + 1).f(), number);
        let mut window = large.slice_axis_mut(Axis(0), Slice::new(0, None, 2));
        window.slice_axis_inplace(Axis(2), Slice::new(0, Some(n as isize), 1));
        if order & 2 == 2 {
            window.invert_axis(Axis(1));
        }
        check(&layout.of(&window).unwrap());
        check_mut(&mut layout.of_mut(&mut window).unwrap());
        let cells = || (0..2 * l).flat_map(|i| (0..m).flat_map(move |j| (0..=n).map(move |k| (i, j, k))));
        let changed = cells().filter(|&cell| large[cell] != number(cell)).count();
        prop_assert_eq!(changed, layout.count());
    }
}

#[test]
fn static_layouts_and_several_arrays_lend_the_elements_that_are_packed() {
    let mut grids = [[[0u16; 5]; 4]; 3];
    grids.as_flattened_mut().as_flattened_mut().iter_mut().zip(0..).for_each(|(cell, i)| *cell = i);
    let mut many = vec![grids; 2];
    macro_rules! check_all {
        ($($layout:expr),*) => {$(
            check(&$layout.of(&grids));
            check(&$layout.of(&many));
            check_mut(&mut $layout.of_mut(&mut grids));
            check_mut(&mut $layout.of_mut(&mut many));
        )*};
    }
    check_all!(
        layout!(u16[3][4][5] => [.., .., ..]),
        layout!(u16[3][4][5] => [1, 2, 3]),
        layout!(u16[3][4][5] => [.., ..;-1, 2]),
        layout!(u16[3][4][5] => [..;2, 1..3, ..;3] + [1, .., 0]),
        layout!(u16[3][4][5] => [0..0, .., ..]),
        layout!(u16[3][4][5] => [i, j, ..] for i in 0..3, j in 0..=i),
        layout!(column_major u16[5][4][3] => [1..4, 1..3, ..])
    );
    let mut none: Vec<[[[u16; 5]; 4]; 3]> = Vec::new();
    check(&layout!(u16[3][4][5] => [.., .., ..]).of(&none));
    assert!(layout!(u16[3][4][5] => [.., .., ..]).of_mut(&mut none).get_mut(0).is_none());
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
struct Cell {
    pressure: f64,
    is_wall: bool,
}

#[test]
fn elements_may_be_structs_of_restricted_types() {
    let cell = |i: usize| Cell { pressure: i as f64, is_wall: i % 2 == 0 };
    let mut cells: [[Cell; 3]; 4] = std::array::from_fn(|i| std::array::from_fn(|j| cell(3 * i + j)));
    let column = layout!(Cell[4][3] => [.., 1]);
    assert_eq!(column.of(&cells).to_array().unwrap(), [1, 4, 7, 10].map(cell));
    column.of_mut(&mut cells).iter_mut().for_each(|cell| cell.is_wall = true);
    assert_eq!(column.of(&cells).iter().filter(|cell| cell.is_wall).count(), 4);
    let error = column.of(&cells).to_array::<3>().unwrap_err().to_string();
    assert_eq!(error, "to_array: N is 3, but must be 4, the number of selected elements");
    // Elements without bytes.
    let units = vec![(); 12];
    assert_eq!(layout!(()[4][3] => [.., 1]).of(&units).unwrap().iter().count(), 4);
    // A layout of fields has another type.
    let n = 4;
    let walls: DynamicLayout<Cell, 2, Fields> = layout!(Cell[n][3] => [.., ..].is_wall).unwrap();
    assert_eq!(walls.of(&cells).unwrap().pack(), pack(&cells.map(|row| row.map(|cell| cell.is_wall))));
    let walls: DynamicLayout<Cell, 2, Fields> = layout!(Cell[4][3] => [.., ..].is_wall).into();
    assert_eq!(walls.count(), 12);
}

/// All bytes of this element are skipped, so nothing of it is packed.
#[derive(MpiDatatype, Clone, Debug, PartialEq)]
struct Hidden {
    #[mpi(skip)]
    text: String,
}

#[test]
fn no_element_is_lent_twice_for_writing_even_if_nothing_of_it_is_packed() {
    let n = 70;
    let mut hidden = vec![Hidden { text: "own".into() }; n];
    let twice = layout!(Hidden[n] => [{[0, 0]}]).unwrap();
    assert_eq!(twice.of_mut(&mut hidden).unwrap_err(), Error::Pack(PackError::Overlap));
    let often = layout!(Hidden[n] => [i - i] for i in 0..65).unwrap();
    assert_eq!(often.of_mut(&mut hidden).unwrap_err(), Error::Pack(PackError::Overlap));
    let once = layout!(Hidden[n] => [{[0]}]).unwrap();
    let first = layout!(Hidden[n] => [0]).unwrap();
    for other in [&once, &first] {
        assert!(matches!(split_mut(&mut hidden, &[once.clone(), other.clone()]), Err(Error::Meet { .. })));
        let (rest, _lent) = split_mut(&mut hidden, std::slice::from_ref(other)).unwrap();
        assert!(rest.of(&layout!(Hidden[n] => [..]).unwrap()).is_err());
        assert!(rest.of(&layout!(Hidden[n] => [1..]).unwrap()).is_ok());
    }
    once.of_mut(&mut hidden).unwrap().fill(Hidden { text: "other".into() });
    assert_eq!(hidden.iter().filter(|one| one.text == "other").count(), 1);
    // Elements without bytes are places, too.
    let mut units = vec![(); n];
    assert_eq!(
        layout!(()[n] => [{[0, 0]}]).unwrap().of_mut(&mut units).unwrap_err(),
        Error::Pack(PackError::Overlap)
    );
    assert_eq!(
        layout!(()[n] => [1] + [..]).unwrap().of_mut(&mut units).unwrap_err(),
        Error::Pack(PackError::Overlap)
    );
    assert_eq!(layout!(()[n] => [{[1, 0]}]).unwrap().of_mut(&mut units).unwrap().iter_mut().count(), 2);
    let (one, two) = (layout!(()[n] => [0]).unwrap(), layout!(()[n] => [1..]).unwrap());
    assert!(split_mut(&mut units, &[one.clone(), two.clone()]).is_ok());
    assert!(split_mut(&mut units, &[one.clone(), one]).is_err());
    // More arrays than can be counted one by one.
    let many: Vec<[(); 3]> = vec![[(); 3]; usize::MAX];
    let view = layout!(()[3] => [..]);
    assert_eq!(view.of(&many[..]).get(usize::MAX), Some(&()));
}

#[test]
fn views_of_elements_outlive_the_layout() {
    let matrix = [[1, 2, 3], [4, 5, 6]];
    let (first, all): (&i32, Vec<&i32>) = {
        let n = 3;
        let column = layout!(i32[2][n] => [.., 1]).unwrap();
        let view = column.of(&matrix).unwrap();
        (view.get(0).unwrap(), view.iter().collect())
    };
    assert_eq!((first, all), (&2, vec![&2, &5]));
}

#[test]
fn the_rest_of_a_source_is_read_while_parts_of_it_are_written() {
    let n = 6;
    let column = |j: usize| layout!(u8[n][n] => [.., j]).unwrap();
    let row = |i: usize| layout!(u8[n][n] => [i, ..]).unwrap();
    let mut cells: Vec<u8> = (0..36).collect();
    let (rest, mut ends) = split_mut(&mut cells, &[column(0), column(5)]).unwrap();
    let [left, right] = &mut ends[..] else { unreachable!() };
    // Every kind of layout of the same shape reads from the rest, as often as one likes.
    let inner = rest.of(&column(1)).unwrap();
    let diagonal = rest.of(&layout!(u8[n][n] => [i, i] for i in 1..5).unwrap()).unwrap();
    left.iter_mut().zip(&inner).for_each(|(end, cell)| *end = *cell);
    right.fill(diagonal.iter().sum());
    assert_eq!(inner.get(5), Some(&31));
    let error = rest.of(&row(2)).unwrap_err();
    assert_eq!(error, Error::Meet { write: 0, other: 0, is_read: true });
    assert!(matches!(rest.of(&layout!(u8[2 * n][3] => [0, ..]).unwrap()), Err(Error::Shape { .. })));
    assert_eq!((cells[6], cells[11]), (7, 7 + 14 + 21 + 28));
    // A rank without neighbours writes to no part, and reads everything.
    let (rest, none) = split_mut(&mut cells, &[] as &[DynamicLayout<u8, 2>]).unwrap();
    assert!(none.is_empty());
    assert_eq!(rest.of(&row(1)).unwrap().to_vec()[..2], [7, 7]);
    assert!(rest.of(&layout!(u8[n][3] => [0, ..]).unwrap()).is_err());
    assert!(matches!(
        split_mut(&mut cells, &[row(0), column(0)]),
        Err(Error::Meet { write: 1, other: 0, .. })
    ));
    // Fields of the same elements can be read and written at once.
    let mut line = [Cell { pressure: 0.5, is_wall: false }; 4];
    let (pressure, walls) =
        (layout!(Cell[4] => [..].pressure).into(), layout!(Cell[4] => [..].is_wall).into());
    let (pressure, walls): (DynamicLayout<_, 1, Fields>, DynamicLayout<_, 1, Fields>) = (pressure, walls);
    let (reads, mut writes) = split(&mut line, &[pressure], &[walls]).unwrap();
    writes[0].unpack(&[1; 4]).unwrap();
    assert_eq!(reads[0].pack(), pack(&[0.5; 4]));
    assert!(line.iter().all(|cell| cell.is_wall));
}
