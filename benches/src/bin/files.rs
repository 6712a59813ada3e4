//! `cargo xtask bench files`: a distributed array is written to a file and read again, against the code that
//! a user would write with MPI's own calls, and against contiguous bytes: each rank's in one piece, in a
//! call of all ranks or of each alone.

use std::{cell::RefCell, ffi::CString, fs, os::raw::c_int, path::PathBuf};

use clap::Parser;
use dtype_benches::{
    boxes::{FEW, Part, Way, measure},
    journeys::Arguments,
};
use dtype_runtime::{
    Comm,
    layout::{ArrayOrder, Subarray},
};
use mpi::{
    ffi::{self, MPI_Datatype, MPI_File, MPI_Offset},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

/// Times files of a distributed array.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    let ranks = world.size() as usize;
    let side = if arguments.options.quick { 128 } else { 512 };
    let some = if ranks == 4 { 2 } else { 1 };
    // The elements of a rank lie in one piece of the file, in pieces of half a plane or of half a row.
    for (case, blocks) in [
        ("slabs", [ranks, 1, 1]),
        ("half-planes", [some, ranks / some, 1]),
        ("half-rows", [1, some, ranks / some]),
    ] {
        both_ways(&arguments, &world, &format!("{case}/{side}"), [side; 3], blocks);
    }
}

/// Writes and reads an array that is divided into blocks.
fn both_ways(
    arguments: &Arguments,
    world: &SimpleCommunicator,
    case: &str,
    sizes: [usize; 3],
    blocks: [usize; 3],
) {
    let rank = world.rank() as usize;
    let part = Part::of_rank(rank, sizes, blocks);
    let Part { start: starts, lengths: subsizes } = part;
    let own = Subarray { sizes, subsizes, starts, order: ArrayOrder::RowMajor };
    let values: Vec<f64> = (0..part.count()).map(|at| (rank * 1_000_003 + at) as f64).collect();
    let ours = path(world, "ours");
    let (by_hand, contiguous) =
        (ByHand::new(world, "by-hand", part, Some(sizes)), ByHand::contiguous(world, part));
    let file = RefCell::new(Comm::from(world).create(&ours).expect("a file"));
    let read = RefCell::new(vec![0.0; part.count()]);
    let writing: Vec<Way<'_>> = vec![
        ("ours", Box::new(|| file.borrow_mut().write(&own, &values).expect("it is written"))),
        ("subarray", Box::new(|| by_hand.write(&values, true))),
        ("contiguous", Box::new(|| contiguous.write(&values, true))),
        ("contiguous alone", Box::new(|| contiguous.write(&values, false))),
    ];
    for (_, way) in &writing {
        way();
    }
    world.barrier();
    assert!(
        rank > 0 || fs::read(&ours).ok() == fs::read(&by_hand.path).ok(),
        "both files have the same bytes"
    );
    measure("files", arguments, world, &format!("write/{case}"), FEW, &writing);
    let reading: Vec<Way<'_>> = vec![
        (
            "ours",
            Box::new(|| {
                let mut read = read.borrow_mut();
                file.borrow_mut().read(&own, &mut *read).expect("it is read");
            }),
        ),
        ("subarray", Box::new(|| by_hand.read(&mut read.borrow_mut(), true))),
        ("contiguous", Box::new(|| contiguous.read(&mut read.borrow_mut(), true))),
        ("contiguous alone", Box::new(|| contiguous.read(&mut read.borrow_mut(), false))),
    ];
    for (name, way) in &reading {
        read.borrow_mut().fill(0.0);
        way();
        assert!(*read.borrow() == values, "{name}");
    }
    measure("files", arguments, world, &format!("read/{case}"), FEW, &reading);
    drop((writing, reading));
    drop((file, by_hand.close(), contiguous.close()));
    world.barrier();
    if rank == 0 {
        fs::remove_file(&ours).expect("it was created");
    }
}

/// Returns the path of a file in memory, if the system has such files. The speed of the storage is not
/// measured.
fn path(world: &SimpleCommunicator, name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let process = (world.rank() == 0).then(std::process::id);
    let process = Comm::from(world).broadcast(0, process).expect("a number");
    folder.join(format!("dtype-bench-{process}-{name}"))
}

/// A file as a user opens it.
struct ByHand {
    file: MPI_File,
    path: PathBuf,
    /// The elements of this rank in the file.
    view: Option<MPI_Datatype>,
    /// The offset of this rank's elements in bytes, without a view.
    offset: MPI_Offset,
    count: c_int,
    rank: c_int,
}

impl ByHand {
    /// Opens a file, with a view of a part of an array of these sizes.
    fn new(world: &SimpleCommunicator, name: &str, part: Part, sizes: Option<[usize; 3]>) -> Self {
        let path = path(world, name);
        let text = CString::new(path.to_str().expect("a path of text")).expect("no zero byte");
        // SAFETY: there is room for a handle.
        let file = unsafe {
            let mut file = ffi::RSMPI_FILE_NULL;
            let mode = (ffi::MPI_MODE_CREATE | ffi::MPI_MODE_RDWR) as c_int;
            let code =
                ffi::MPI_File_open(world.as_raw(), text.as_ptr(), mode, ffi::RSMPI_INFO_NULL, &raw mut file);
            assert_eq!(code, ffi::MPI_SUCCESS as c_int, "{}", path.display());
            file
        };
        let view = sizes.map(|sizes| part.subarray::<f64>(sizes));
        Self { file, path, view, offset: 0, count: part.count() as c_int, rank: world.rank() }
    }

    /// Opens a file in which each rank's elements are in one piece. All ranks have equally many.
    fn contiguous(world: &SimpleCommunicator, part: Part) -> Self {
        let offset = world.rank() as usize * part.count() * size_of::<f64>();
        Self { offset: offset as MPI_Offset, ..Self::new(world, "contiguous", part, None) }
    }

    /// Sets the view, as each call of ours does.
    fn set_view(&self) {
        let double = f64::equivalent_datatype().as_raw();
        if let Some(view) = self.view {
            let native = c"native".as_ptr();
            // SAFETY: the file is open, and the datatype committed.
            unsafe { ffi::MPI_File_set_view(self.file, 0, double, view, native, ffi::RSMPI_INFO_NULL) };
        }
    }

    /// Writes this rank's elements, together with all ranks or alone.
    fn write(&self, values: &[f64], together: bool) {
        self.set_view();
        let (double, mut status) = (f64::equivalent_datatype().as_raw(), std::mem::MaybeUninit::uninit());
        let call = if together { ffi::MPI_File_write_at_all } else { ffi::MPI_File_write_at };
        let from = values.as_ptr().cast();
        // SAFETY: the values are borrowed until the call ends.
        unsafe { call(self.file, self.offset, from, self.count, double, status.as_mut_ptr()) };
        wait_for_all();
    }

    /// Reads this rank's elements, together with all ranks or alone.
    fn read(&self, values: &mut [f64], together: bool) {
        self.set_view();
        let (double, mut status) = (f64::equivalent_datatype().as_raw(), std::mem::MaybeUninit::uninit());
        let call = if together { ffi::MPI_File_read_at_all } else { ffi::MPI_File_read_at };
        let into = values.as_mut_ptr().cast();
        // SAFETY: the values are borrowed until the call ends.
        unsafe { call(self.file, self.offset, into, self.count, double, status.as_mut_ptr()) };
        wait_for_all();
    }

    /// Closes and removes the file.
    fn close(mut self) {
        // SAFETY: the file is closed once, by all ranks.
        unsafe { ffi::MPI_File_close(&raw mut self.file) };
        if self.rank == 0 {
            fs::remove_file(&self.path).expect("it was created");
        }
    }
}

/// Waits until all ranks are done, as calls of ours do. Otherwise, the rank that is first would say how long
/// it takes.
fn wait_for_all() {
    // SAFETY: the communicator is live.
    unsafe { ffi::MPI_Barrier(ffi::RSMPI_COMM_WORLD) };
}
