//! Files that several ranks write and read together, against their bytes on the disk.

mod cells;
pub mod faults;
pub mod meanwhile;
mod model;
pub mod random;

use std::{fs, path::PathBuf};

use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, File, MpiDatatype,
    comm::FileOptions,
    layout,
    layout::{ArrayOrder, Darray, Subarray},
    message, pack, packed_size,
};
use mpi::{
    topology::{Color, SimpleCommunicator},
    traits::*,
};

use crate::{
    engine::Random,
    redistribution::{Element, Mixed, Padded, distribution},
};

/// A value for which most bytes are wrong.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Flag {
    pub is_set: bool,
}

/// Returns the path of a file of this run, the same on all ranks.
fn path(world: &Comm<&SimpleCommunicator>, name: &str) -> PathBuf {
    let own = (world.rank() == 0).then(|| {
        let path = std::env::temp_dir().join(format!("dtype-{}-{name}", std::process::id()));
        path.to_str().expect("a path of text").to_owned()
    });
    PathBuf::from(world.broadcast(0, own).unwrap())
}

/// Returns the bytes of a file, which all ranks have written.
fn on_disk(world: &Comm<&SimpleCommunicator>, path: &PathBuf) -> Vec<u8> {
    world.barrier();
    let found = fs::read(path).unwrap();
    world.barrier();
    found
}

fn remove(world: &Comm<&SimpleCommunicator>, path: &PathBuf) {
    world.barrier();
    if world.rank() == 0 {
        fs::remove_file(path).unwrap();
    }
    world.barrier();
}

/// Returns the text of an error, which must be one of a file.
fn reason<R>(result: Result<R, Error>, name: &str) -> String {
    match result.map(|_| ()) {
        Err(error @ Error::File { .. }) => error.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

fn distributed<T: Element, const D: usize>(
    world: &Comm<&SimpleCommunicator>,
    drawn: &mut Random,
    case: usize,
) {
    let (rank, ranks) = (world.rank(), world.size());
    let gsizes: [usize; D] = std::array::from_fn(|_| drawn.below(8));
    let own = distribution::<D>(drawn, gsizes, rank, ranks);
    let path = path(world, "array");
    let elements: usize = gsizes.iter().product();
    let offset = [0, 3, 1000][drawn.below(3)];
    {
        let mut file = world.create(&path).unwrap();
        let arrays = own.arrays::<T>(gsizes, 1, 7);
        let arrays: Vec<&Vec<T>> = arrays.iter().collect();
        file.at(offset).write_all(own.parts(), &arrays).unwrap();
        // Other calls see bytes again.
        if elements > 0 {
            assert_eq!(file.size().unwrap(), offset + (elements * pack(&[T::of(0)]).len()) as u64);
        }
        file.close().unwrap();
    }
    let expected: Vec<T> = (0..elements as u64).map(|number| T::of(number + 1)).collect();
    let found = on_disk(world, &path);
    assert_eq!(
        found.get(offset as usize..).unwrap_or_default(),
        pack(&expected),
        "case {case} of {gsizes:?}"
    );

    // Read by fewer ranks, with another distribution.
    let some = ranks.div_ceil(2);
    let color = if rank < some { Color::with_value(0) } else { Color::with_value(1) };
    let group = world.split_by_color(color).unwrap();
    let other = distribution::<D>(drawn, gsizes, rank, some.max(1));
    if rank < some {
        let mut file = Comm::from(&group).open(&path).unwrap();
        let mut arrays = other.arrays::<T>(gsizes, 5000, 9);
        file.at(offset).read_all(other.parts(), &mut arrays.iter_mut().collect::<Vec<_>>()).unwrap();
        assert!(arrays == other.arrays::<T>(gsizes, 1, 9), "case {case} of {gsizes:?}");
    }
    remove(world, &path);
}

/// Writes and reads files in every way.
pub fn files(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let mut drawn = Random(dtype_tests::seed(61));
    for case in 0..if dtype_tests::is_long() { 200 } else { 8 } {
        distributed::<f64, 1>(world, &mut drawn, case);
        distributed::<Mixed, 2>(world, &mut drawn, case);
        distributed::<f64, 3>(world, &mut drawn, case);
    }
    calls(world);
    views(world);
    buckets(world);
    of_one_rank(world);
    ends(world);
    mistakes(world);
}

/// A value with padding at its end.
#[derive(MpiDatatype, Clone, Copy)]
#[repr(C)]
struct Tagged {
    value: f64,
    tag: u8,
}

/// Views of several copies of a part that do not adjoin, in runs of different lengths.
fn buckets(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "buckets");
    for n in [8, 150] {
        let part = layout!(u8[n][n][2] => [i, i.., 0] for i in 0..n).unwrap();
        let tile = 2 * n * n;
        let mut file = world.create(&path).unwrap();
        file.write_at_all(0, &vec![0u8; if rank == 0 { ranks * tile } else { 0 }]).unwrap();
        let own = vec![1 + rank as u8; n * (n + 1) / 2];
        file.view((rank * tile) as u64, &part).unwrap().write_at_all(0, &own).unwrap();
        let mut read = vec![0; own.len()];
        file.view((rank * tile) as u64, &part).unwrap().read_at_all(0, &mut read).unwrap();
        assert_eq!(read, own);
        file.close().unwrap();
        let of_rank = |rank: usize| {
            (0..tile).map(move |i| {
                let is_in = i % 2 == 0 && i / 2 % n >= i / 2 / n;
                if is_in { 1 + rank as u8 } else { 0 }
            })
        };
        assert!(on_disk(world, &path) == (0..ranks).flat_map(of_rank).collect::<Vec<_>>());
        remove(world, &path);
    }
    // Elements with padding are packed in files.
    let n = 12;
    let part = layout!(Tagged[n][n] => [i, i..] for i in 0..n).unwrap();
    let places: Vec<usize> = (0..n * n).filter(|i| i % n >= i / n).collect();
    let own: Vec<Tagged> = places.iter().map(|i| Tagged { value: *i as f64, tag: *i as u8 }).collect();
    let element = packed_size::<Tagged>(1);
    let tile = n * n * element;
    let mut expected = vec![0u8; tile];
    for (place, Tagged { value, tag }) in places.iter().map(|i| i * element).zip(&own) {
        expected[place..place + 8].copy_from_slice(&value.to_ne_bytes());
        expected[place + 8] = *tag;
    }
    let mut file = world.create(&path).unwrap();
    file.write_at_all(0, &vec![0u8; if rank == 0 { ranks * tile } else { 0 }]).unwrap();
    file.view((rank * tile) as u64, &part).unwrap().write_at_all(0, &own).unwrap();
    file.close().unwrap();
    assert!(on_disk(world, &path) == expected.repeat(ranks));
    remove(world, &path);
    for (array, blocks) in [([13, 20], [5, 2]), ([13, 20], [2, 1]), ([61, 67], [5, 2])] {
        let part = world.blocks(array, [1, ranks]).cyclic(blocks);
        let local = part.local();
        let number = |i: usize| {
            let [row, column] = part.global([i / local[1], i % local[1]]);
            (row * array[1] + column) as f64
        };
        let own: Vec<f64> = (0..local[0] * local[1]).map(number).collect();
        let mut file = world.create(&path).unwrap();
        file.write(&part, &own).unwrap();
        let mut read = vec![0.0; own.len()];
        file.read(&part, &mut read).unwrap();
        assert_eq!(read, own);
        file.close().unwrap();
        let all: Vec<f64> = (0..array[0] * array[1]).map(|i| i as f64).collect();
        assert!(on_disk(world, &path) == pack(&all[..]));
        remove(world, &path);
    }
}

/// A value with padding, and a part that must be checked.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Line {
    is_last: bool,
    value: f64,
}

fn calls(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let line = |rank: usize, i: usize| Line { is_last: i == 2, value: (10 * rank + i) as f64 };
    let lines = |rank: usize| [0, 1, 2].map(|i| line(rank, i));
    let (path, size) = (path(world, "calls"), 27);
    let all: Vec<u8> = (0..ranks).flat_map(|rank| pack(&lines(rank))).collect();
    let at = (rank * size) as u64;
    let next = (rank + 1) % ranks;
    let mut file = world.create(&path).unwrap();
    let mut read = [Line { is_last: false, value: 0.0 }; 3];

    file.write_at(at, &lines(rank)).unwrap();
    assert_eq!(on_disk(world, &path), all);
    file.read_at((next * size) as u64, &mut read).unwrap();
    assert_eq!(read, lines(next));
    world.barrier();
    file.set_size(0).unwrap();
    file.write_at_all(at, &lines(rank)[..]).unwrap();
    assert_eq!((on_disk(world, &path), file.size().unwrap()), (all.clone(), all.len() as u64));
    read.fill(line(9, 9));
    file.read_at_all((next * size) as u64, &mut read[..]).unwrap();
    assert_eq!(read, lines(next));
    // A column of a matrix goes out and in.
    let matrix = lines(rank).map(|line| [line; 2]);
    let column = layout!(Line[3][2] => [.., 1]);
    world.barrier();
    file.set_size(0).unwrap();
    file.start().write_at(at, &column.of(&matrix)).unwrap().finish().unwrap();
    assert_eq!(on_disk(world, &path), all);
    let mut into = [[line(9, 9); 2]; 3];
    file.start().read_at((next * size) as u64, &mut column.of_mut(&mut into)).unwrap().finish().unwrap();
    assert_eq!(into.map(|row| row[1]), lines(next));
    world.barrier();
    file.set_size(0).unwrap();
    file.seek_ordered(0).unwrap();
    // In the order of the ranks, of other sizes each.
    file.append(&vec![rank as u16; rank + 1]).unwrap();
    let expected: Vec<u16> = (0..ranks).flat_map(|rank| vec![rank as u16; rank + 1]).collect();
    assert_eq!(on_disk(world, &path), pack(&expected));
    file.seek_ordered(0).unwrap();
    let mut ordered = vec![99u16; rank + 1];
    file.read_ordered(&mut ordered).unwrap();
    assert_eq!(ordered, vec![rank as u16; rank + 1]);
    file.sync().unwrap();
    // The file ends before: nothing is written to the values.
    let error = file.read_at(1000, &mut read).unwrap_err();
    assert!(error.to_string().contains("0 of 27 bytes were transferred"), "{error}");
    assert_eq!(read, lines(next));
    // Bytes that are no `bool`.
    world.barrier();
    file.write_at_all(at, &[7u8; 27]).unwrap();
    // Another rank may have written them (MPI 4.1 section 14.6.1).
    file.sync().unwrap();
    world.barrier();
    file.sync().unwrap();
    assert!(matches!(file.read_at(at, &mut read), Err(Error::Pack(PackError::InvalidValue { .. }))));
    owned(world, &mut file);
    // Nothing of nothing.
    file.write_at_all::<[u8]>(0, &[]).unwrap();
    file.read_at_all::<[u8]>(0, &mut []).unwrap();
    file.close().unwrap();
    remove(world, &path);
}

/// Checks that a file gets the bytes of owned messages, and that they are read as bytes: a place that takes
/// what comes has no size.
fn owned(world: &Comm<&SimpleCommunicator>, file: &mut File) {
    let text = "text".repeat(world.rank() + 1);
    let mut bytes = vec![0u8; message::to_bytes(&text).unwrap().len()];
    world.barrier();
    file.seek_ordered(0).unwrap();
    file.append(&text).unwrap();
    file.seek_ordered(0).unwrap();
    file.read_ordered(&mut bytes).unwrap();
    assert_eq!(message::from_bytes::<String>(&bytes).unwrap(), text);
    let mut other = String::from("other");
    let mut others = [other.clone()];
    let refused = [
        file.read_at(0, &mut other),
        file.read_at(0, &mut others[..]),
        file.read_at_all(0, &mut other),
        file.read_ordered(&mut other),
        file.start().read_at(0, &mut other).map(|_| ()),
    ];
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Wire { .. }))), "{refused:?}");
    let mut view = file.view(0, &layout!(u8[1] => [0])).unwrap();
    let refused = [view.read_at(0, &mut other), view.read_at_all(0, &mut others[..])];
    assert!(refused.iter().all(|result| matches!(result, Err(Error::Wire { .. }))), "{refused:?}");
    drop(view);
    assert_eq!((other.as_str(), others[0].as_str()), ("other", "other"));
    world.barrier();
}

fn views(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "views");
    // Numbers go to the ranks in turn. The file begins with eight bytes of something else.
    let options =
        FileOptions::new().read(true).write(true).create_new(true).hint("romio_no_indep_rw", "false");
    let mut file = options.open(world, &path).unwrap();
    let own: Vec<u32> = (0..10).map(|i| (i * ranks + rank) as u32).collect();
    let turns = layout!(u32[ranks] => [rank]).unwrap();
    {
        let mut view = file.view(8, &turns).unwrap();
        view.write_at_all(0, &own[..4]).unwrap();
        view.write_at(4, &own[4..]).unwrap();
        world.barrier();
        let mut read = [0u32; 3];
        view.read_at_all(2, &mut read).unwrap();
        assert_eq!(read, own[2..5]);
        view.read_at(7, &mut read).unwrap();
        assert_eq!(read, own[7..]);
        assert!(matches!(view.write_at(0, &0.5f64), Err(Error::Pack(PackError::Signature { .. }))));
    }
    let expected: Vec<u32> = (0..10 * ranks as u32).collect();
    assert_eq!(on_disk(world, &path)[8..], pack(&expected));
    // A view of a rank that sees nothing, and one that does not ascend.
    let end = if rank == 0 { 0 } else { ranks };
    let mut view = file.view(8, &layout!(u32[ranks] => [..end]).unwrap()).unwrap();
    let mut read = vec![0u32; if rank == 0 { 0 } else { ranks }];
    view.read_at_all(0, &mut read).unwrap();
    assert_eq!(read, expected[..read.len()]);
    drop(view);
    let four = 4;
    let descending = [
        layout!(u32[four] => [..;-1]).unwrap(),
        layout!(u32[four] => [{[0, 2, 1]}]).unwrap(),
        layout!(u32[four] => [2..] + [..2]).unwrap(),
    ];
    for layout in descending {
        assert_eq!(file.view(0, &layout).map(|_| ()).unwrap_err(), Error::Ascending);
    }
    assert_eq!(
        file.view(0, &layout!(Padded[four] => [{[1, 1]}]).unwrap()).map(|_| ()).unwrap_err(),
        Error::Ascending
    );
    // When a view has ended, the calls of one rank are calls of that rank alone again.
    drop(file.view(8, &turns).unwrap());
    if rank == 0 {
        file.write_at(0, &7u64).unwrap();
        assert_eq!(fs::read(&path).unwrap()[..8], 7u64.to_ne_bytes());
    }
    world.barrier();
    // A view that is forgotten is an error of every later call, not of another place in the file.
    std::mem::forget(file.view(8, &turns).unwrap());
    assert!(matches!(file.write_at(0, &7u64), Err(Error::File { .. })));
    assert!(matches!(file.read_at_all(0, &mut [0u8; 1]), Err(Error::File { .. })));
    // Another view ends it.
    drop(file.view(0, &turns).unwrap());
    file.read_at_all(0, &mut [0u8; 1]).unwrap();
    drop(file);
    remove(world, &path);
}

/// Checks that an error of one rank is one of all ranks in calls of all of them, and that none waits.
fn of_one_rank(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "one");
    let own = if rank == 0 { PathBuf::from("a\0b") } else { path.clone() };
    assert!(matches!(world.create(&own), Err(Error::File { .. })));
    let mut file = world.create(&path).unwrap();
    let rows = Darray::blocks(rank, [ranks, 3], [ranks, 1]);
    let own = vec![rank as f64; if rank == 0 { 2 } else { 3 }];
    let refused = file.write(&rows, &own).unwrap_err();
    assert_eq!(matches!(refused, Error::Shape { .. }), rank == 0, "{refused}");
    assert!(rank == 0 || matches!(refused, Error::File { .. }), "{refused}");
    let order = ArrayOrder::RowMajor;
    let beyond = Subarray {
        sizes: [ranks, 3],
        subsizes: [1, 3],
        starts: [rank + usize::from(rank == 0) * ranks, 0],
        order,
    };
    assert!(file.write(&beyond, &vec![0.5; 3]).is_err());
    file.write(&rows, &vec![rank as f64; 3]).unwrap();
    let mut read = own.clone();
    assert!(file.read(&rows, &mut read).is_err());
    assert_eq!(read, own);
    // Offsets that no file has.
    let offset = if rank == 0 { u64::MAX } else { 24 * rank as u64 };
    assert!(matches!(file.write_at_all(offset, &[0.5; 3]), Err(Error::File { .. })));
    assert!(matches!(file.read_at_all(offset, &mut [0.5; 3]), Err(Error::File { .. })));
    let all = layout!(f64[ranks] => [rank]).unwrap();
    let reversed = layout!(f64[ranks + 1] => [..;-1]).unwrap();
    let viewed = file.view(0, if rank == 0 { &reversed } else { &all }).map(|_| ());
    assert_eq!(matches!(viewed, Err(Error::Ascending)), rank == 0, "{viewed:?}");
    assert!(viewed.is_err());
    // Files that the ranks open in different ways.
    let own = FileOptions::new().write(true).truncate(rank == 0).open(world, &path);
    assert_eq!(own.is_err(), ranks > 1);
    drop(own);
    {
        let mut view = file.view(0, &all).unwrap();
        let position = if rank == 0 { u64::MAX } else { 0 };
        assert!(view.write_at_all(position, &[0.5; 2]).is_err());
        assert!(view.read_at_all(position, &mut [0.5; 2]).is_err());
        view.write_at_all(0, &[rank as f64; 2]).unwrap();
        // Positions whose offsets in the file do not fit 63 bits.
        for position in [1 << 58, 1 << 59, 1 << 60, 1 << 61] {
            assert!(matches!(view.write_at(position, &[0.5; 2]), Err(Error::File { .. })));
            assert!(matches!(view.read_at(position, &mut [0.5; 2]), Err(Error::File { .. })));
        }
    }
    let expected: Vec<f64> = (0..2 * ranks).map(|at| (at % ranks) as f64).collect();
    assert_eq!(on_disk(world, &path)[..16 * ranks], pack(&expected));
    drop(file);
    remove(world, &path);
}

/// Checks that a file that ends too early, or that is not opened for a call, is an error of all calls.
fn ends(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "ends");
    let mut file = world.create(&path).unwrap();
    // Rows are long runs of the file, columns of a wide matrix are many short ones.
    let rows = Darray::blocks(rank, [ranks, 100], [ranks, 1]);
    let columns = Darray::blocks(rank, [100, ranks], [1, ranks]);
    let all = layout!(f64[ranks] => [rank]).unwrap();
    for own in [&rows, &columns] {
        let (values, size) = (vec![rank as f64; 100], 800 * ranks as u64);
        file.write(own, &values).unwrap();
        let mut read = vec![0.0; 100];
        file.read(own, &mut read).unwrap();
        assert_eq!(read, values);
        assert_eq!(file.size().unwrap(), size);
        world.barrier();
        // The last value is missing: only the last rank would read it, but all ranks learn of it.
        file.set_size(size - 8).unwrap();
        assert!(matches!(file.read(own, &mut read), Err(Error::File { .. })));
        let missing = file.read_at_all(800 * rank as u64, &mut read[..]);
        assert!(matches!(missing, Err(Error::File { .. })), "{missing:?}");
        let missing = file.read_at(800 * rank as u64, &mut read[..]);
        assert_eq!(matches!(missing, Err(Error::File { .. })), rank + 1 == ranks, "{missing:?}");
        file.seek_ordered(0).unwrap();
        assert!(matches!(file.read_ordered(&mut read), Err(Error::File { .. })));
        let mut view = file.view(0, &all).unwrap();
        assert!(matches!(view.read_at_all(1, &mut read[1..]), Err(Error::File { .. })));
        let missing = view.read_at(1, &mut read[1..]);
        assert_eq!(matches!(missing, Err(Error::File { .. })), rank + 1 == ranks, "{missing:?}");
        view.read_at_all(1, &mut read[2..]).unwrap();
        drop(view);
        file.set_size(size).unwrap();
        file.read(own, &mut read).unwrap();
    }
    drop(file);
    let mut file = world.open(&path).unwrap();
    let mut read = vec![0.0; 100];
    file.read(&rows, &mut read).unwrap();
    let read_only = [
        file.write_at(0, &read),
        file.write_at_all(0, &read),
        file.append(&read),
        file.write(&rows, &read),
        file.write(&columns, &read),
        file.start().write_at(0, &read).map(|_| ()),
    ];
    assert!(read_only.iter().all(|result| matches!(result, Err(Error::File { .. }))), "{read_only:?}");
    let mut view = file.view(0, &all).unwrap();
    let read_only = [view.write_at(0, &read), view.write_at_all(0, &read)];
    drop(view);
    assert!(read_only.iter().all(|result| matches!(result, Err(Error::File { .. }))), "{read_only:?}");
    drop(file);
    let mut file = FileOptions::new().write(true).open(world, &path).unwrap();
    file.write(&rows, &read).unwrap();
    let write_only = [
        file.read_at(0, &mut read),
        file.read_at_all(0, &mut read),
        file.read_ordered(&mut read),
        file.read(&rows, &mut read),
        file.read(&columns, &mut read),
        file.start().read_at(0, &mut read).map(|_| ()),
    ];
    assert!(write_only.iter().all(|result| matches!(result, Err(Error::File { .. }))), "{write_only:?}");
    let mut view = file.view(0, &all).unwrap();
    let write_only = [view.read_at(0, &mut read), view.read_at_all(0, &mut read)];
    drop(view);
    assert!(write_only.iter().all(|result| matches!(result, Err(Error::File { .. }))), "{write_only:?}");
    drop(file);
    remove(world, &path);
}

fn mistakes(world: &Comm<&SimpleCommunicator>) {
    let (rank, ranks) = (world.rank(), world.size());
    let none = path(world, "none");
    let error = world.open(&none).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains(none.to_str().unwrap()) && error.contains("MPI_File_open"), "{error}");
    let path = path(world, "mistakes");
    let mut file = world.create(&path).unwrap();
    assert!(FileOptions::new().write(true).create_new(true).open(world, &path).is_err());
    let rows = Darray::blocks(rank, [ranks, 3], [ranks, 1]);
    assert!(matches!(file.write(&rows, &vec![0.5f64; 2]), Err(Error::Shape { .. })));
    let several: [Subarray<2>; 2] = [0, 1].map(|k| Subarray {
        sizes: [ranks, 4],
        subsizes: [1, 2],
        starts: [rank, 2 * k],
        order: ArrayOrder::RowMajor,
    });
    assert!(matches!(file.write(&several, &vec![0.5f64; 2]), Err(Error::Parameter { .. })));
    file.write(&rows, &vec![rank as f64; 3]).unwrap();
    file.close().unwrap();
    let mut read_only = world.open(&path).unwrap();
    assert!(matches!(read_only.write_at(0, &1u8), Err(Error::File { .. })));
    let mut own = vec![0.0; 3];
    read_only.read(&rows, &mut own).unwrap();
    assert_eq!(own, [rank as f64; 3]);
    drop(read_only);
    let long = path.with_file_name("a".repeat(255));
    assert!(matches!(world.open(&long), Err(Error::File { .. })));
    // A write that is forgotten ends before the file is closed.
    let file = world.create(&path).unwrap();
    std::mem::forget(file.start().write_at(8 * rank as u64, &rank).unwrap());
    std::mem::forget(file.start().write_at(8 * (ranks + rank) as u64, &rank).unwrap());
    file.start().write_at(8 * (2 * ranks + rank) as u64, &rank).unwrap().finish().unwrap();
    file.close().unwrap();
    let expected: Vec<usize> = (0..3 * ranks).map(|at| at % ranks).collect();
    assert_eq!(on_disk(world, &path), pack(&expected));
    let file = world.open(&path).unwrap();
    assert!(file.start().read_at(24 * ranks as u64 - 8, &mut [0u64; 2]).is_err());
    drop(file);
    remove(world, &path);
}
