//! `cargo xtask bench windows`: a column of a matrix is put into the window of another rank, against the code
//! that a user would write with MPI's own calls: `MPI_Put` with a vector datatype.

use std::{cell::RefCell, os::raw::c_int, ptr};

use clap::Parser;
use dtype_benches::{
    boxes::{MANY, Way, measure},
    journeys::Arguments,
};
use dtype_runtime::{Comm, layout};
use mpi::{
    ffi::{self, MPI_Aint, MPI_Datatype, MPI_Win},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

/// Times puts of a column.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

fn main() {
    let Command { arguments } = Command::parse();
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    for side in [16, 256, 2048] {
        fence(&arguments, &world, side);
        lock(&arguments, &world, side);
    }
}

/// Puts a column in an epoch of all ranks.
fn fence(arguments: &Arguments, world: &SimpleCommunicator, side: usize) {
    let comm = Comm::from(world);
    let (matrix, next) = (matrix(world, side), (comm.rank() + 1) % comm.size());
    let (raw, layout) = (Raw::new(world, side), layout!(f64[side][side] => [.., 1]).expect("a column"));
    let column = layout.of(&matrix[..]).expect("the matrix has the shape");
    let opened = comm.window(&mut vec![0.0; side * side], |window| {
        let window = RefCell::new(window);
        let ours = || {
            window.borrow_mut().fence(|epoch| epoch.put(&column, next, &layout)).expect("a put");
        };
        let by_mpi = || {
            // SAFETY: the window is open, and the datatype selects a column of the matrices.
            unsafe {
                ffi::MPI_Win_fence(0, raw.window);
                raw.put(&matrix, next as c_int);
                ffi::MPI_Win_fence(0, raw.window);
            }
        };
        compare(arguments, world, &format!("fence/{side}"), &ours, &by_mpi);
        assert!(window.borrow().values() == raw.values(), "the same column arrives");
        Ok(())
    });
    opened.expect("a window");
}

/// Puts a column in an epoch with a lock.
fn lock(arguments: &Arguments, world: &SimpleCommunicator, side: usize) {
    let comm = Comm::from(world);
    let (matrix, next) = (matrix(world, side), (comm.rank() + 1) % comm.size());
    let (raw, layout) = (Raw::new(world, side), layout!(f64[side][side] => [.., 1]).expect("a column"));
    let column = layout.of(&matrix[..]).expect("the matrix has the shape");
    let mut values = vec![0.0; side * side];
    let opened = comm.passive_window(&mut values, |window| {
        let window = RefCell::new(window);
        let ours = || {
            let mut window = window.borrow_mut();
            window.lock_all(|epoch| epoch.put(&column, next, &layout)).expect("a put");
        };
        let by_mpi = || {
            // SAFETY: the window is open, and the datatype selects a column of the matrices.
            unsafe {
                ffi::MPI_Win_lock_all(0, raw.window);
                raw.put(&matrix, next as c_int);
                ffi::MPI_Win_unlock_all(raw.window);
            }
        };
        compare(arguments, world, &format!("lock-all/{side}"), &ours, &by_mpi);
        Ok(())
    });
    opened.expect("a window");
    assert!(values == raw.values(), "the same column arrives");
}

/// Times both ways to put a column.
fn compare(
    arguments: &Arguments,
    world: &SimpleCommunicator,
    case: &str,
    ours: &dyn Fn(),
    by_mpi: &dyn Fn(),
) {
    let ways: [Way<'_>; 2] = [("ours", Box::new(ours)), ("MPI_Put", Box::new(by_mpi))];
    measure("windows", arguments, world, case, MANY, &ways);
}

fn matrix(world: &SimpleCommunicator, side: usize) -> Vec<f64> {
    (0..side * side).map(|at| (world.rank() as usize * 1_000_003 + at) as f64).collect()
}

/// A window as a user opens it, over a matrix.
struct Raw {
    window: MPI_Win,
    place: *mut f64,
    side: usize,
    column: MPI_Datatype,
}

impl Raw {
    fn new(world: &SimpleCommunicator, side: usize) -> Self {
        let size = (side * side * size_of::<f64>()) as MPI_Aint;
        let mut place = ptr::null_mut::<f64>();
        // SAFETY: there is room for handles and a pointer. MPI allocates the bytes of the matrix.
        let (window, column) = unsafe {
            let (mut window, mut column) = (ffi::RSMPI_WIN_NULL, ffi::RSMPI_DATATYPE_NULL);
            let (info, communicator) = (ffi::RSMPI_INFO_NULL, world.as_raw());
            ffi::MPI_Win_allocate(size, 1, info, communicator, (&raw mut place).cast(), &raw mut window);
            place.write_bytes(0, side * side);
            let double = f64::equivalent_datatype().as_raw();
            ffi::MPI_Type_vector(side as c_int, 1, side as c_int, double, &raw mut column);
            ffi::MPI_Type_commit(&raw mut column);
            (window, column)
        };
        world.barrier();
        Self { window, place, side, column }
    }

    /// Puts the second column of a matrix into that of another rank.
    ///
    /// # Safety
    /// 1. An epoch is open until the matrix is used again, and has the rank as a target.
    unsafe fn put(&self, matrix: &[f64], target: c_int) {
        let (from, column) = (matrix[1..].as_ptr().cast(), self.column);
        // SAFETY: 1; the column is within both matrices.
        unsafe {
            ffi::MPI_Put(from, 1, column, target, size_of::<f64>() as MPI_Aint, 1, column, self.window);
        }
    }

    /// Returns the values of this rank's window, after an epoch.
    fn values(&self) -> &[f64] {
        // SAFETY: MPI has allocated them, they are set, and no epoch is open.
        unsafe { std::slice::from_raw_parts(self.place, self.side * self.side) }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: the window is freed once, by all ranks.
        unsafe {
            ffi::MPI_Type_free(&raw mut self.column);
            ffi::MPI_Win_free(&raw mut self.window);
        }
    }
}
