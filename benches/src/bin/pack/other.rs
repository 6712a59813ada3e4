//! Copies from layout to layout, and the making of plans.

use std::hint::black_box;

use dtype_benches::{
    measure::{Contender, Effort},
    packing::{
        Bench, Task,
        arrays::numbers,
        structs::{Mixed, Sample},
    },
};
use dtype_core::{BaseType, TypeTree};
use dtype_runtime::pack::{data_of, data_of_mut};
use dtype_runtime::{
    MpiDatatype, layout,
    pack::{Data, DataMut, Plan, Transpack},
};

use crate::Packing;

pub fn run(bench: &Packing) {
    transpack(bench);
    planning(bench);
}

/// Measures copies from one layout straight into another, against packing and unpacking.
fn transpack(bench: &Packing) {
    for n in [60, 250, 2000] {
        let case = |name: &str| {
            Some(format!("transpack-{name}/{n}")).filter(|name| bench.wants(name, Task::Pack, n == 250))
        };
        let (from, mut to) = (numbers(n * n), vec![0.0; n * n]);
        if let Some(name) = case("columns-rows") {
            let (columns, rows) = (layout!(f64[n][n] => [.., ..;2]), layout!(f64[n][n] => [..;2, ..]));
            let (columns, rows) = (columns.expect("a matrix"), rows.expect("a matrix"));
            let (view, mut view_mut) =
                (columns.of(&from).expect("its size"), rows.of_mut(&mut to).expect("its size"));
            measure(bench, &name, &view.data(), view_mut.data());
        }
        if let Some(name) = case("transpose") {
            let columns = layout!(f64[n][n] => [.., j] for j in 0..n).expect("a matrix");
            let rows = layout!(f64[n][n] => [.., ..]).expect("a matrix");
            let (view, mut view_mut) =
                (columns.of(&from).expect("its size"), rows.of_mut(&mut to).expect("its size"));
            measure(bench, &name, &view.data(), view_mut.data());
        }
    }
    for count in [400, 10_000, 1_000_000] {
        let name = format!("transpack-structs/{count}");
        if bench.wants(&name, Task::Pack, count == 10_000) {
            let from: Vec<_> = (0..count).map(Mixed::new).collect();
            let mut to = vec![Ordered { value: (1, 0.0), rest: (0, 0.0) }; count];
            measure(bench, &name, &data_of(&from), data_of_mut(&mut to));
        }
    }
}

/// A struct with the values of [`Mixed`] at other displacements.
#[derive(MpiDatatype, Clone, Copy)]
struct Ordered {
    value: (u8, f64),
    rest: (i16, f32),
}

fn measure(bench: &Packing, name: &str, from: &Data<'_>, to: DataMut<'_>) {
    let size = from.packed_size();
    let effort = bench.effort(size);
    let batch = effort.batch;
    let to = std::cell::RefCell::new(to);
    let target = to.borrow().as_data().plan().clone();
    let copies = size / target.packed_size().max(1);
    let transpack = Transpack::new(from.plan(), size / from.plan().packed_size().max(1), &target, copies);
    let transpack = transpack.expect("the same values");
    let mut packed = vec![0; size];
    let other = packed.clone();
    let mut copy = packed.clone();
    let contenders = vec![
        Contender::new("ours", || {
            (0..batch)
                .for_each(|_| transpack.copy(black_box(from), &mut to.borrow_mut()).expect("both are right"));
            None
        }),
        Contender::new("pack_unpack", || {
            for _ in 0..batch {
                black_box(from).pack_into(&mut packed).expect("as many bytes");
                to.borrow_mut().unpack(black_box(&packed)).expect("as many bytes");
            }
            None
        }),
        Contender::new("memcpy", || {
            (0..batch).for_each(|_| black_box(&mut copy).copy_from_slice(black_box(&other)));
            None
        }),
    ];
    bench.print(name, "copy", size, contenders, &effort);
}

/// Measures the making of plans for large trees, against one traversal of each tree.
fn planning(bench: &Packing) {
    let name = "plan-1000-nodes";
    if !bench.wants(name, Task::Pack, true) {
        return;
    }
    let leaf = |i: i64| TypeTree::Leaf([BaseType::U8, BaseType::F64, BaseType::I16][i as usize % 3]);
    // The tree has nodes of all kinds: a strc of 166 children, each of six nodes.
    let child = |i: i64| {
        let list = TypeTree::index([0, 40, 90, 200 + i], TypeTree::vector(4, 9 + i % 5, leaf(i)));
        let bucket = TypeTree::index_bucket(12, [2, 3], [0, 50 + i], leaf(i + 1));
        TypeTree::structure([0, 2000], [list, bucket])
    };
    let places: Vec<i64> = (0..166).map(|i| 4000 * i).collect();
    let tree = TypeTree::structure(places, (0..166).map(child).collect::<Vec<_>>());
    assert_eq!(1 + nodes(&tree), 998);
    let effort = Effort { batch: 20, ..bench.effort(0) };
    let contenders = vec![
        Contender::new("ours", || {
            (0..20).for_each(|_| drop(black_box(Plan::new(black_box(&tree)))));
            None
        }),
        Contender::new("measure", || {
            (0..20).for_each(|_| drop(black_box(black_box(&tree).measure())));
            None
        }),
    ];
    bench.print(name, "make", 0, contenders, &effort);
}

fn nodes(tree: &TypeTree) -> usize {
    1 + tree.children().iter().map(nodes).sum::<usize>()
}
