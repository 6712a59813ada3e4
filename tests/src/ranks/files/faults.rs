//! Errors of files: views that were forgotten, places that no file has, the end of MPI, and calls in which
//! one rank has an error. Each is an error of the call, on all ranks if the call is one of all ranks.

use std::{fs, mem, os::unix::fs::FileExt, path::Path};

use dtype_mpi::Error as LibraryError;
use dtype_runtime::pack::Error as PackError;
use dtype_runtime::{
    Comm, Error, File, MpiDatatype, MpiMessage,
    comm::FileOptions,
    layout,
    layout::{ArrayOrder, Darray, Distributed, Subarray},
    pack,
};
use mpi::{topology::SimpleCommunicator, traits::*};

use super::{Flag, on_disk, path, reason, remove};
use crate::redistribution::{Element, Padded};

/// Checks that a view that was forgotten is an error of every call that reads or writes bytes.
pub fn forgotten(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "forgotten");
    let mut file = world.create(&path).unwrap();
    // Rows are long runs of the file, columns of a wide matrix are many short ones.
    let rows = Darray::blocks(rank, [ranks, 100], [ranks, 1]);
    let columns = Darray::blocks(rank, [100, ranks], [1, ranks]);
    let values = vec![rank as f64; 100];
    file.write(&rows, &values).unwrap();
    let before = on_disk(world, &path);
    let turns = layout!(f64[ranks] => [rank]).unwrap();
    let mut other = vec![7.0; 100];
    mem::forget(file.view(8, &turns).unwrap());
    let calls = [
        ("write_at", file.write_at(0, &other)),
        ("write_at_all", file.write_at_all(0, &other)),
        ("append", file.append(&other)),
        ("start().write_at", file.start().write_at(0, &other).map(|_| ())),
        ("write of rows", file.write(&rows, &other)),
        ("write of columns", file.write(&columns, &other)),
        ("write_all", file.at(0).write_all(&[rows], &[&other])),
        ("read_at", file.read_at(0, &mut other)),
        ("read_at_all", file.read_at_all(0, &mut other)),
        ("read_ordered", file.read_ordered(&mut other)),
        ("start().read_at", file.start().read_at(0, &mut other).map(|_| ())),
        ("read of rows", file.read(&rows, &mut other)),
        ("read of columns", file.read(&columns, &mut other)),
        ("read_all", file.at(0).read_all(&[rows], &mut [&mut other])),
    ];
    for (name, result) in calls {
        assert!(reason(result, name).contains("a view of it was forgotten"), "{name}");
    }
    assert_eq!(other, [7.0; 100]);
    assert_eq!(on_disk(world, &path), before);
    // Another view ends it.
    drop(file.view(0, &turns).unwrap());
    file.read(&rows, &mut other).unwrap();
    assert_eq!(other, values);
    drop(file);
    remove(world, &path);
}

/// A value of which a part travels as its bytes.
#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Partly {
    number: u64,
    part: Padded,
    last: u8,
}

impl Element for Partly {
    fn of(number: u64) -> Self {
        Self { number, part: Padded::of(number), last: number as u8 }
    }
}

/// Writes and reads values that travel as their bytes, or partly so, in every view.
fn of_bytes<T: Element>(world: &Comm<&SimpleCommunicator>, name: &str) {
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, name);
    let mut file = world.create(&path).unwrap();
    let of = |rank: usize| (0..6).map(|i| T::of((i * ranks + rank) as u64)).collect::<Vec<_>>();
    let (own, mut read) = (of(rank), vec![T::of(99); 6]);
    let order = ArrayOrder::RowMajor;
    let column = Subarray { sizes: [3, 2], subsizes: [3, 1], starts: [0, 1], order }.layout::<T>().unwrap();
    {
        let turns = Darray::blocks(rank, [ranks], [ranks]).layout::<T>().unwrap();
        let mut view = file.view(8, &turns).unwrap();
        view.write_at_all(0, &own[..2]).unwrap();
        view.write_at(2, &own[2]).unwrap();
        // A column of a matrix.
        let matrix: Vec<T> = own[3..].iter().flat_map(|value| [*value; 2]).collect();
        view.write_at(3, &column.of(&matrix).unwrap()).unwrap();
        world.barrier();
        view.read_at_all(0, &mut read[..3]).unwrap();
        view.read_at(3, &mut read[3..]).unwrap();
        assert_eq!(read, own, "{name}");
        let mut matrix = vec![T::of(99); 6];
        view.read_at_all(3, &mut column.of_mut(&mut matrix).unwrap()).unwrap();
        assert_eq!([matrix[1], matrix[3], matrix[5]], own[3..], "{name}");
        // Values of other types are refused still.
        assert!(matches!(view.write_at(0, &[0.5f64; 8]), Err(Error::Pack(PackError::Signature { .. }))));
        assert!(matches!(view.read_at(0, &mut [0u32; 8]), Err(Error::Pack(PackError::Signature { .. }))));
        assert!(view.write_at_all(0, &[0.5f64; 8]).is_err());
    }
    let (mut all, expected) = (vec![T::of(99); 6 * ranks], (0..6 * ranks as u64).map(T::of));
    file.read_at(8, &mut all).unwrap();
    assert_eq!(all, expected.collect::<Vec<_>>(), "{name}");
    world.barrier();
    // Distributed arrays of them: in runs, and in views.
    for own in [Darray::blocks(rank, [ranks, 20], [ranks, 1]), Darray::blocks(rank, [20, ranks], [1, ranks])]
    {
        let values: Vec<T> = (0..20).map(|i| T::of((20 * rank + i) as u64)).collect();
        let mut read = vec![T::of(99); 20];
        file.at(3).write(&own, &values).unwrap();
        file.at(3).read(&own, &mut read).unwrap();
        assert_eq!(read, values, "{name}");
    }
    drop(file);
    remove(world, &path);
}

/// Checks that values that travel as their bytes have views.
pub fn elements_as_bytes(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    of_bytes::<Padded>(world, "padded");
    of_bytes::<Partly>(world, "partly");
    of_bytes::<[Partly; 2]>(world, "arrays");
}

impl<T: Element> Element for [T; 2] {
    fn of(number: u64) -> Self {
        [T::of(number), T::of(number + 1)]
    }
}

/// Checks that every call on a file or view returns an error after MPI has ended.
pub fn after_the_end() {
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let world = &Comm::from(&world);
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "end");
    let all = layout!(f64[ranks] => [rank]).unwrap();
    let [rows, columns] =
        [([ranks, 20], [ranks, 1]), ([20, ranks], [1, ranks])].map(|(g, p)| Darray::blocks(rank, g, p));
    let (mut file, mut other) = (world.create(&path).unwrap(), world.open(&path).unwrap());
    file.write(&rows, &vec![0.5; 20]).unwrap();
    let under_way = FileOptions::new().read(true).write(true).open(world, &path).unwrap();
    let mut into = [0.5f64; 2];
    let [mut write, unasked] =
        [(); 2].map(|()| under_way.start().write_at(160 * rank as u64, &0.5f64).unwrap());
    let mut read = under_way.start().read_at(160 * rank as u64, &mut into).unwrap();
    while !write.is_done().unwrap() || !read.is_done().unwrap() {}
    let mut view = other.view(0, &all).unwrap();
    world.barrier();
    if rank == 0 {
        fs::remove_file(&path).unwrap();
    }
    world.barrier();
    drop(universe);
    let mut values = vec![0.5; 20];
    let calls = [
        ("size", file.size().map(|_| ())),
        ("set_size", file.set_size(8)),
        ("sync", file.sync()),
        ("write_at", file.write_at(0, &values)),
        ("write_at_all", file.write_at_all(0, &values)),
        ("read_at", file.read_at(0, &mut values)),
        ("read_at_all", file.read_at_all(0, &mut values)),
        ("append", file.append(&values)),
        ("read_ordered", file.read_ordered(&mut values)),
        ("seek_ordered", file.seek_ordered(0)),
        ("start().write_at", file.start().write_at(0, &values).map(|_| ())),
        ("start().read_at", file.start().read_at(0, &mut values).map(|_| ())),
        ("write, rows", file.write(&rows, &values)),
        ("write, columns", file.write(&columns, &values)),
        ("write_all", file.at(0).write_all(&[rows], &[&values])),
        ("read, rows", file.read(&rows, &mut values)),
        ("read, columns", file.read(&columns, &mut values)),
        ("read_all", file.at(0).read_all(&[rows], &mut [&mut values])),
        ("view", file.view(0, &all).map(|_| ())),
        ("a view's write_at", view.write_at(0, &0.5f64)),
        ("a view's write_at_all", view.write_at_all(0, &0.5f64)),
        ("a view's read_at", view.read_at(0, &mut 0.5f64)),
        ("a view's read_at_all", view.read_at_all(0, &mut 0.5f64)),
        ("a write's is_done", write.is_done().map(|_| ())),
        ("a write's finish", write.finish()),
        ("an unasked write's finish", unasked.finish()),
        ("a read's is_done", read.is_done().map(|_| ())),
        ("a read's finish", read.finish()),
        // Errors of the arguments come second.
        ("a wrong offset", file.write_at_all(u64::MAX, &values)),
        ("a wrong array", file.write(&rows, &vec![0.5; 3])),
        ("a wrong size", file.set_size(u64::MAX)),
        ("a wrong position", view.write_at_all(u64::MAX, &0.5f64)),
        ("a wrong type", view.write_at(0, &1u8)),
    ];
    for (name, result) in calls {
        assert_eq!(result, Err(Error::Library(LibraryError::Finalized)), "{name}");
    }
    drop(view);
    let closed = file.close();
    assert_eq!(closed, Err(Error::Library(LibraryError::Finalized)));
}

/// Returns the least of these sizes that the file system refuses to give a file, by asking for it.
fn refused_size(path: &Path) -> u64 {
    let file = fs::File::options().write(true).open(path).unwrap();
    let size = file.metadata().unwrap().len();
    let refused = (32..63).map(|n| 1u64 << n).find(|size| file.set_len(*size).is_err());
    file.set_len(size).unwrap();
    refused.unwrap_or(u64::MAX).min(1 << 60)
}

/// Checks that places that no file has are refused before MPI gets them.
pub fn far(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "far");
    let mut file = world.create(&path).unwrap();
    let before: Vec<u8> = (0..160 * ranks).map(|i| i as u8).collect();
    file.append(&before[160 * rank..160 * (rank + 1)]).unwrap();
    let refused = world.broadcast(0, (rank == 0).then(|| refused_size(&path))).unwrap();
    let rows = Darray::blocks(rank, [ranks, 20], [ranks, 1]);
    let columns = Darray::blocks(rank, [20, ranks], [1, ranks]);
    let (one, mut values) = (layout!(f64[1] => [0]), vec![0.5; 20]);
    for at in [refused - 8, refused, 1 << 60, 1 << 62, (1 << 63) - 4, 1 << 63, u64::MAX - 3, u64::MAX] {
        let mut calls = vec![
            ("write_at", file.write_at(at, &values)),
            ("write_at_all", file.write_at_all(at, &values)),
            ("start().write_at", file.start().write_at(at, &values).map(|_| ())),
            ("read_at", file.read_at(at, &mut values)),
            ("read_at_all", file.read_at_all(at, &mut values)),
            ("start().read_at", file.start().read_at(at, &mut values).map(|_| ())),
            ("write, rows", file.at(at).write(&rows, &values)),
            ("write, columns", file.at(at).write(&columns, &values)),
            ("read, rows", file.at(at).read(&rows, &mut values)),
            ("read, columns", file.at(at).read(&columns, &mut values)),
        ];
        calls.push(("view and write_at", file.view(at, &one).and_then(|mut view| view.write_at(1, &values))));
        calls.push(("view", file.view(at, &layout!(f64[99] => [98])).map(|_| ())));
        let sought = file.seek_ordered(at);
        calls.push(("append", sought.and_then(|()| file.append(&values))));
        if at >= refused {
            calls.push(("set_size", file.set_size(at)));
        }
        let mut view = file.view(0, &one).unwrap();
        calls.push(("a view's write_at", view.write_at(at / 8 - 1, &values)));
        calls.push(("a view's write_at_all", view.write_at_all(at / 8 - 1, &values)));
        calls.push(("a view's read_at", view.read_at(at / 8 - 1, &mut values)));
        calls.push(("a view's read_at_all", view.read_at_all(at / 8 - 1, &mut values)));
        drop(view);
        for (name, result) in calls {
            let name = format!("{name} at {at}");
            let reason = reason(result, &name);
            assert!(reason.contains("bytes") || reason.contains("another rank"), "{name}: {reason}");
        }
        assert_eq!(on_disk(world, &path), before, "{at}");
    }
    // Nearer ones are those of a file with holes.
    let near = 1 << 33;
    file.start().write_at(near + 8 * rank as u64, &0.5f64).unwrap().finish().unwrap();
    let mut read = 0.0f64;
    file.start().read_at(near + 8 * rank as u64, &mut read).unwrap().finish().unwrap();
    world.barrier();
    assert_eq!((read, file.size().unwrap()), (0.5, near + 8 * ranks as u64));
    drop(file);
    remove(world, &path);
}

/// Checks that views of more blocks than MPI libraries can list are refused.
pub fn many_blocks(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let path = path(world, "blocks");
    let mut file = world.create(&path).unwrap();
    for n in [1usize << 62, 1 << 50, 1 << 40] {
        let error = file.view(0, &layout!(u8[n] => [1..;2]).unwrap()).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Parameter { value, .. } if value == n as i128 / 2), "{error}");
        assert!(error.to_string().contains("at most 134217728"), "{error}");
        // Many in two dimensions, and behind a few.
        let m = n / 4;
        assert!(file.view(0, &layout!(u8[m][4] => [.., 1]).unwrap()).is_err());
        assert!(file.view(0, &layout!(u8[n] => [0] + [1..;2]).unwrap()).is_err());
    }
    // A local array that no memory can hold, on one rank or on all.
    for far in [0, usize::MAX] {
        let width = if world.rank() == 0 { usize::MAX } else { far };
        let part = world.blocks([4 * world.size()], [world.size()]).widths([[width, 0]]);
        let mut own = vec![0u8; 4];
        assert!(file.write(&part, &own).is_err());
        assert!(file.read(&part, &mut own).is_err());
    }
    // All bytes of a long array are one block.
    let (n, own) = (1usize << 30, world.rank() as u64);
    let mut view = file.view(0, &layout!(u8[n] => [..]).unwrap()).unwrap();
    view.write_at_all(own, &(own as u8)).unwrap();
    drop(view);
    drop(file);
    assert_eq!(on_disk(world, &path), (0..world.size()).map(|rank| rank as u8).collect::<Vec<_>>());
    remove(world, &path);
}

/// Checks that all ranks have an error if one rank opens a file in another way, or cannot open it.
pub fn opened_by_some(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let here = path(world, "some");
    let other = path(world, "none").join("folder");
    let options = [
        FileOptions::new().read(true),
        FileOptions::new().write(true),
        FileOptions::new().read(true).write(true),
        FileOptions::new().write(true).create(true),
        FileOptions::new().write(true).create_new(true),
        FileOptions::new().read(true).write(true).create(true).truncate(true),
    ];
    for alone in 0..ranks {
        let is_alone = rank == alone;
        for (number, options) in options.iter().enumerate() {
            if number != 4 {
                drop(world.create(&here).unwrap());
            }
            let name = format!("rank {alone} alone, options {number}");
            let long = here.with_file_name("a".repeat(300));
            for own in [&other, &long, &"a\0b".into(), &here.with_extension("x")] {
                let path = if is_alone { own } else { &here };
                let opened = options.open(world, path).map(|_| ());
                assert_eq!(opened.is_ok(), !matches!(&opened, Err(Error::File { .. })), "{name}: {opened:?}");
                assert_eq!(opened.is_ok(), ranks == 1 && own.extension().is_some() && number > 2, "{name}");
            }
            if number != 4 {
                remove(world, &here);
            }
            world.barrier();
            let _ = fs::remove_file(here.with_extension("x"));
            world.barrier();
            let sizes = ["0", "00", "0x0", "abc", ""].map(|size| ("cb_buffer_size", size));
            for (key, value) in [("a\0", "b")].into_iter().chain(sizes) {
                let own = if is_alone { options.clone().hint(key, value) } else { options.clone() };
                reason(own.open(world, &here), &name);
            }
        }
        // The same path, in another folder.
        let folder = here.with_extension(format!("folder{rank}"));
        fs::create_dir(&folder).unwrap();
        let before = std::env::current_dir().unwrap();
        std::env::set_current_dir(&folder).unwrap();
        if !is_alone {
            fs::write("own", [rank as u8]).unwrap();
        }
        world.barrier();
        reason(world.open("own"), "in another folder");
        reason(FileOptions::new().write(true).open(world, "own"), "in another folder");
        // If it may be created, it is opened by all ranks or by none.
        let opened = FileOptions::new().write(true).create(true).open(world, "own").is_ok();
        let all = world.all_gather(&opened).unwrap();
        assert!(all.iter().all(|other| *other == opened), "rank {alone} in another folder: {all:?}");
        std::env::set_current_dir(before).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}

/// A list of values within each other.
#[derive(MpiMessage)]
struct Deep(Option<Box<Deep>>);

/// Checks that all ranks have an error if one rank has one in a call of all ranks, whichever rank it is, and
/// that the next call is right.
pub fn of_one_rank(world: &SimpleCommunicator) {
    let world = &Comm::from(world);
    let (rank, ranks) = (world.rank(), world.size());
    let path = path(world, "alone");
    let mut file = world.create(&path).unwrap();
    let rows = Darray::blocks(rank, [ranks, 20], [ranks, 1]);
    let columns = Darray::blocks(rank, [20, ranks], [1, ranks]);
    let all = layout!(f64[ranks] => [rank]).unwrap();
    let backwards = layout!(f64[ranks + 1] => [..;-1]).unwrap();
    let long = 1usize << 36;
    let many = layout!(f64[long] => [..;2]).unwrap();
    let order = ArrayOrder::RowMajor;
    let outside = Subarray { sizes: [ranks, 20], subsizes: [1, 20], starts: [rank + ranks, 0], order };
    let mut values = vec![rank as f64; 20];
    let deep = (0..1000).fold(Deep(None), |inner, _| Deep(Some(Box::new(inner))));
    for alone in 0..ranks {
        let is_alone = rank == alone;
        let far = if is_alone { u64::MAX } else { 0 };
        let behind = if is_alone { 160 * ranks as u64 } else { 160 * rank as u64 };
        let own = vec![rank as f64; if is_alone { 19 } else { 20 }];
        file.write(&rows, &values).unwrap();
        let mut calls = vec![
            ("set_size", file.set_size(far)),
            ("seek_ordered", file.seek_ordered(far)),
            ("write_at_all", file.write_at_all(far, &values)),
            ("read_at_all", file.read_at_all(far, &mut values)),
            ("read_at_all behind the end", file.read_at_all(behind, &mut values)),
            ("write, rows", file.write(&rows, &own)),
            ("write, columns", file.write(&columns, &own)),
            ("write_all", file.at(0).write_all(&[rows], &[&own][..own.len() - 19])),
            ("read, rows", file.read(&rows, &mut own.clone())),
            ("read, columns", file.read(&columns, &mut own.clone())),
            ("write at an offset", file.at(far).write(&columns, &values)),
            ("read at an offset", file.at(far).read(&columns, &mut values)),
            ("view", file.view(0, if is_alone { &backwards } else { &all }).map(|_| ())),
            ("view of many blocks", file.view(0, if is_alone { &many } else { &all }).map(|_| ())),
            ("view at an offset", file.view(far, &all).map(|_| ())),
        ];
        let parts: &dyn Distributed<2> = if is_alone { &outside } else { &rows };
        calls.push(("write outside", file.write(parts, &values)));
        calls.push(("read outside", file.read(parts, &mut values)));
        if ranks > 1 {
            calls.push(("set_size of two sizes", file.set_size(u64::from(is_alone))));
            calls.push(("seek_ordered of two offsets", file.seek_ordered(u64::from(is_alone))));
        }
        // A place that takes what comes has no size. A message that is nested too deeply has no bytes.
        let mut text = String::new();
        if is_alone {
            calls.push(("read_at_all of a text", file.read_at_all(0, &mut text)));
            calls.push(("read_ordered of a text", file.read_ordered(&mut text)));
            calls.push(("write_at_all, too deep", file.write_at_all(0, &deep)));
            calls.push(("append, too deep", file.append(&deep)));
        } else {
            calls.push(("read_at_all of a text", file.read_at_all(0, &mut values)));
            calls.push(("read_ordered of a text", file.read_ordered(&mut values)));
            calls.push(("write_at_all, too deep", file.write_at_all(160 * rank as u64, &values)));
            calls.push(("append, too deep", file.append(&values)));
        }
        let mut view = file.view(0, &all).unwrap();
        calls.push(("a view's write_at_all", view.write_at_all(far, &values)));
        calls.push(("a view's read_at_all", view.read_at_all(far, &mut values)));
        calls.push((
            "a view's read_at_all of a text",
            if is_alone { view.read_at_all(0, &mut text) } else { view.read_at_all(0, &mut values) },
        ));
        calls.push((
            "a view's write_at_all, too deep",
            if is_alone { view.write_at_all(0, &deep) } else { view.write_at_all(0, &values) },
        ));
        let wrong = vec![1u8; 160];
        calls.push((
            "a view's write_at_all of a type",
            if is_alone { view.write_at_all(0, &wrong) } else { view.write_at_all(0, &values) },
        ));
        calls.push((
            "a view's read_at_all of a type",
            if is_alone { view.read_at_all(0, &mut wrong.clone()) } else { view.read_at_all(0, &mut values) },
        ));
        drop(view);
        for (name, result) in calls {
            let error = result.expect_err(&format!("{name}, rank {alone} alone"));
            assert!(is_alone || matches!(error, Error::File { .. }), "{name}, rank {alone} alone: {error}");
        }
        values.fill(rank as f64);
        file.write(&rows, &values).unwrap();
        file.seek_ordered(0).unwrap();
        let mut read = vec![0.0; 20];
        file.read_ordered(&mut read).unwrap();
        assert_eq!(read, values);
        file.set_size(160 * ranks as u64).unwrap();
        let expected: Vec<f64> = (0..20 * ranks).map(|i| (i / 20) as f64).collect();
        assert_eq!(on_disk(world, &path), pack(&expected));
    }
    invalid_on_one_rank(world, &mut file, &path);
    drop(file);
    remove(world, &path);
}

/// Checks that bytes that are no values for one rank alone are an error of all ranks.
fn invalid_on_one_rank(world: &Comm<&SimpleCommunicator>, file: &mut File, path: &Path) {
    let (rank, ranks) = (world.rank(), world.size());
    for alone in 0..ranks {
        if rank == 0 {
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_len(0).unwrap();
            file.write_all_at(&vec![1; ranks], 0).unwrap();
            file.write_all_at(&[9], alone as u64).unwrap();
        }
        world.barrier();
        file.seek_ordered(0).unwrap();
        let mut flag = Flag { is_set: false };
        let own = Darray::blocks(rank, [ranks], [ranks]);
        let calls = [
            ("read_at_all", file.read_at_all(rank as u64, &mut flag)),
            ("read_ordered", file.read_ordered(&mut flag)),
            ("read", file.read(&own, &mut vec![flag])),
            ("a view's read_at_all", {
                let mut view = file.view(0, &layout!(Flag[ranks] => [rank]).unwrap()).unwrap();
                view.read_at_all(0, &mut flag)
            }),
        ];
        for (name, result) in calls {
            let is_alone = rank == alone;
            assert_eq!(
                matches!(result, Err(Error::Pack(PackError::InvalidValue { .. }))),
                is_alone,
                "{name}: {result:?}"
            );
            assert!(is_alone || matches!(result, Err(Error::File { .. })), "{name}: {result:?}");
        }
        world.barrier();
    }
}
