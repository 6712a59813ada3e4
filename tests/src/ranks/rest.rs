//! Scenarios that pass our datatypes to MPI calls without a wrapper in rsmpi, through its `ffi`.

use std::{
    ffi::CString,
    os::raw::{c_int, c_void},
};

use dtype_core::BaseType;
use dtype_runtime::{
    Comm, Error, MpiDatatype, Wire,
    comm::Handle,
    decode,
    decode::normalize,
    layout,
    layout::LayoutDatatype,
    marshal::{marshal, unmarshal},
    pack::{Data, DataMut},
};
use dtype_tests::constant;
use mpi::{
    datatype::DatatypeRef,
    ffi::{self, MPI_Aint, MPI_Comm, MPI_Datatype},
    raw::{AsRaw, FromRaw},
    topology::{InterCommunicator, SimpleCommunicator},
    traits::*,
};

use crate::{
    engine::predefined,
    samples::{Particle, Sample},
    spy,
};

fn number(rank: i32, i: usize) -> f64 {
    f64::from(rank) * 1e4 + i as f64
}

fn numbers(rank: i32, count: usize) -> Vec<f64> {
    (0..count).map(|i| number(rank, i)).collect()
}

/// `MPI_Alltoallw`: each rank sends column j of its matrix to rank j, where it arrives as a row.
pub fn alltoallw(world: &SimpleCommunicator) {
    let (rank, ranks) = (world.rank(), world.size() as usize);
    let own = numbers(rank, ranks * ranks);
    let mut received = vec![-1.0; ranks * ranks];
    let column = layout!(f64[ranks][ranks] => [.., 0]).unwrap().datatype().unwrap();
    let row = layout!(f64[ranks][ranks] => [0, ..]).unwrap().datatype().unwrap();
    let (ones, bytes) = (vec![1 as c_int; ranks], size_of::<f64>());
    let columns: Vec<c_int> = (0..ranks).map(|j| (j * bytes) as c_int).collect();
    let rows: Vec<c_int> = (0..ranks).map(|i| (i * ranks * bytes) as c_int).collect();
    let (from, into) = (vec![column.as_raw(); ranks], vec![row.as_raw(); ranks]);
    // SAFETY: the lists have an entry for every rank; the datatypes describe a column and a row of the
    // matrices.
    unsafe {
        ffi::MPI_Alltoallw(
            own.as_ptr().cast(),
            ones.as_ptr(),
            columns.as_ptr(),
            from.as_ptr(),
            received.as_mut_ptr().cast(),
            ones.as_ptr(),
            rows.as_ptr(),
            into.as_ptr(),
            world.as_raw(),
        );
    }
    for (i, row) in received.chunks(ranks).enumerate() {
        let expected: Vec<f64> = (0..ranks).map(|k| number(i as i32, k * ranks + rank as usize)).collect();
        assert_eq!(row, expected);
    }
}

/// `MPI_Reduce` on structs, with a user-defined operation.
pub fn reduce(world: &SimpleCommunicator) {
    unsafe extern "C" fn add(from: *mut c_void, into: *mut c_void, count: *mut c_int, _: *mut MPI_Datatype) {
        // SAFETY: MPI passes `count` values on either side.
        let (from, into) = unsafe {
            let count = *count as usize;
            (
                std::slice::from_raw_parts(from.cast::<Particle>(), count),
                std::slice::from_raw_parts_mut(into.cast::<Particle>(), count),
            )
        };
        for (from, into) in from.iter().zip(into) {
            into.position.iter_mut().zip(from.position).for_each(|(into, from)| *into += from);
            into.kind = into.kind.max(from.kind);
        }
    }
    let own: Vec<Particle> = (0..50).map(|i| Particle::sample(i + 100 * world.rank() as usize)).collect();
    let mut sums = own.clone();
    // SAFETY: MPI is initialized; the datatype is that of the values; the operation is freed once.
    unsafe {
        let mut operation = ffi::RSMPI_SUM;
        ffi::MPI_Op_create(Some(add), 1, &raw mut operation);
        let datatype = Particle::datatype().unwrap().as_raw();
        let (from, into) = (own.as_ptr().cast(), sums.as_mut_ptr().cast());
        ffi::MPI_Reduce(from, into, own.len() as c_int, datatype, operation, 0, world.as_raw());
        ffi::MPI_Op_free(&raw mut operation);
    }
    if world.rank() == 0 {
        let all = |i: usize| (0..world.size()).map(move |rank| Particle::sample(i + 100 * rank as usize));
        for (i, sum) in sums.iter().enumerate() {
            for k in 0..3 {
                let expected: f64 = all(i).map(|particle| particle.position[k]).sum();
                assert!((sum.position[k] - expected).abs() <= 1e-9 * expected.abs());
            }
            assert_eq!(Some(sum.kind), all(i).map(|particle| particle.kind).max());
        }
    }
}

/// Multiplies complex numbers 24 bytes apart in a window, also with a normalized datatype.
fn multiplied(world: &SimpleCommunicator) {
    let next = (world.rank() + 1) % world.size();
    // (2 + 3i) (5 + 7i); the third number of each array lies in the gap.
    let factor = [2.0, 3.0, 0.0];
    let own = [5.0, 7.0, 1.0];
    let expected = [-11.0, 29.0, 1.0];
    // SAFETY: MPI is initialized; the window has space for three arrays, and all access lies within it,
    // between fences; every object is freed once, when nothing uses it.
    unsafe {
        let (mut complex, mut window) = (ffi::RSMPI_DATATYPE_NULL, ffi::RSMPI_WIN_NULL);
        ffi::MPI_Type_create_hvector(3, 1, 24, ffi::RSMPI_DOUBLE_COMPLEX, &raw mut complex);
        ffi::MPI_Type_commit(&raw mut complex);
        let normalized = normalize(&DatatypeRef::from_raw(complex)).unwrap();
        // In a window of 72 bytes, MPICH 4.0.2 addresses the second rank's memory 8 bytes before its start.
        let (size, mut base) = (size_of::<[f64; 16]>() as MPI_Aint, std::ptr::null_mut::<[f64; 3]>());
        let (info, place_of_base) = (ffi::RSMPI_INFO_NULL, (&raw mut base).cast());
        ffi::MPI_Win_allocate(size, 1, info, world.as_raw(), place_of_base, &raw mut window);
        let factors = [factor; 3];
        for (origin, target) in [(complex, normalized.as_raw()), (normalized.as_raw(), normalized.as_raw())] {
            base.cast::<[[f64; 3]; 3]>().write([own; 3]);
            ffi::MPI_Win_fence(0, window);
            let (factors, product) = (factors.as_ptr().cast(), ffi::RSMPI_PROD);
            let code = ffi::MPI_Accumulate(factors, 1, origin, next, 0, 1, target, product, window);
            assert_eq!(code, ffi::MPI_SUCCESS as c_int);
            ffi::MPI_Win_fence(0, window);
            assert_eq!(base.cast::<[[f64; 3]; 3]>().read(), [expected; 3]);
        }
        ffi::MPI_Win_free(&raw mut window);
        ffi::MPI_Type_free(&raw mut complex);
    }
}

/// `MPI_Put`, `MPI_Get` and `MPI_Accumulate` with a column at the target. The origin then sends its layout to
/// the target as bytes, and the target reads the column with a plan of that layout.
pub fn one_sided(world: &SimpleCommunicator) {
    const N: usize = 12;
    let (rank, ranks) = (world.rank(), world.size());
    let next = (rank + 1) % ranks;
    let own = numbers(rank, N * N);
    let column = layout!(f64[N][N] => [.., 2]);
    let datatype = column.datatype().unwrap().as_raw();
    let (put, added) = (numbers(100 + rank, N), vec![0.5; N]);
    let mut got = vec![0.0; N];
    let place = (2 * size_of::<f64>()) as MPI_Aint;
    let count = N as c_int;
    // SAFETY: the window is as large as the matrix; all access lies within, between fences, and it is read
    // before it is freed.
    let window_memory = unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        let (size, mut base) = (size_of_val(&own[..]) as MPI_Aint, std::ptr::null_mut::<f64>());
        let (info, place_of_base) = (ffi::RSMPI_INFO_NULL, (&raw mut base).cast());
        ffi::MPI_Win_allocate(size, 1, info, world.as_raw(), place_of_base, &raw mut window);
        base.copy_from_nonoverlapping(own.as_ptr(), own.len());
        let double = ffi::RSMPI_DOUBLE;
        ffi::MPI_Win_fence(0, window);
        ffi::MPI_Get(got.as_mut_ptr().cast(), count, double, next, place, 1, datatype, window);
        ffi::MPI_Win_fence(0, window);
        ffi::MPI_Put(put.as_ptr().cast(), count, double, next, place, 1, datatype, window);
        ffi::MPI_Win_fence(0, window);
        let sum = ffi::RSMPI_SUM;
        ffi::MPI_Accumulate(added.as_ptr().cast(), count, double, next, place, 1, datatype, sum, window);
        ffi::MPI_Win_fence(0, window);
        let found = std::slice::from_raw_parts(base, own.len()).to_vec();
        ffi::MPI_Win_free(&raw mut window);
        found
    };
    let of_next: Vec<f64> = (0..N).map(|i| number(next, N * i + 2)).collect();
    assert_eq!(got, of_next);
    let previous = (rank + ranks - 1) % ranks;
    for (i, found) in window_memory.iter().enumerate() {
        let inside = i % N == 2;
        let expected = if inside { number(100 + previous, i / N) + 0.5 } else { number(rank, i) };
        assert_eq!(*found, expected, "at {i}");
    }

    multiplied(world);

    // The target finds the same values with the origin's layout, which it receives as bytes.
    // SAFETY: the datatype lives as long as the layout.
    let decoded = decode(&unsafe { DatatypeRef::from_raw(datatype) }).unwrap();
    let told = marshal(decoded.tree(), decoded.bounds()).unwrap();
    let mut heard = Vec::<u8>::new();
    let exchanged = Comm::from(world).exchange([(next as usize, &told)], [(previous as usize, &mut heard)]);
    exchanged.unwrap();
    let (tree, bounds) = unmarshal(&heard).unwrap();
    assert_eq!((&tree, bounds), (decoded.tree(), decoded.bounds()));
    let plan = dtype_runtime::pack::Plan::new(&tree).unwrap();
    let bytes: Vec<u8> = window_memory.iter().flat_map(|number| number.to_ne_bytes()).collect();
    let found = Data::new(&plan, 1, &bytes, place as usize).unwrap().pack();
    assert_eq!(found, column.of(window_memory.as_chunks::<N>().0.as_array::<N>().unwrap()).pack());
    let mut copy = bytes.clone();
    DataMut::new(&plan, 1, &mut copy, place as usize).unwrap().unpack(&found).unwrap();
    assert_eq!(copy, bytes);
}

/// A file in which the structs of all ranks alternate, by a file view for each rank. The ranks write it
/// together and read it back, and rank 0 reads the file as a whole.
pub fn file(world: &SimpleCommunicator) {
    const COUNT: usize = 20;
    let (rank, ranks) = (world.rank() as usize, world.size() as usize);
    let own: Vec<Particle> = (0..COUNT).map(|i| Particle::sample(i + 50 * rank)).collect();
    let mut back = vec![Particle::sample(999); COUNT];
    let path = std::env::temp_dir().join(format!("dtype-view-{}", std::process::id()));
    let path = Comm::from(world).broadcast(0, Some(path.to_string_lossy().into_owned())).unwrap();
    let name = CString::new(path.clone()).unwrap();
    // One struct of every `ranks` structs; the number of ranks is known only at run time.
    let mine = layout!(Particle[COUNT][ranks] => [.., rank]).unwrap();
    let view = mine.datatype().unwrap();
    let particle = Particle::datatype().unwrap().as_raw();
    let displacement = (rank * size_of::<Particle>()) as ffi::MPI_Offset;
    // SAFETY: all handles are live, the name is a C string, and the buffers have the number of structs passed
    // with them.
    unsafe {
        let mut file = ffi::RSMPI_FILE_NULL;
        let mode = constant!(MPI_MODE_CREATE) | constant!(MPI_MODE_RDWR);
        let info = ffi::RSMPI_INFO_NULL;
        assert_eq!(
            ffi::MPI_File_open(world.as_raw(), name.as_ptr().cast_mut(), mode, info, &raw mut file),
            0
        );
        let native = c"native".as_ptr().cast_mut();
        let raw = view.as_raw();
        assert_eq!(ffi::MPI_File_set_view(file, displacement, particle, raw, native, info), 0);
        let (count, status) = (COUNT as c_int, ffi::RSMPI_STATUS_IGNORE);
        assert_eq!(ffi::MPI_File_write_all(file, own.as_ptr().cast(), count, particle, status), 0);
        ffi::MPI_File_seek(file, 0, constant!(MPI_SEEK_SET));
        assert_eq!(ffi::MPI_File_read_all(file, back.as_mut_ptr().cast(), count, particle, status), 0);
        assert_eq!(back, own);
        ffi::MPI_File_close(&raw mut file);
    }
    world.barrier();
    if rank == 0 {
        let whole = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let size = size_of::<Particle>();
        assert!(whole.len() > (COUNT * ranks - 1) * size && whole.len() <= COUNT * ranks * size);
        // The fields of the struct have the same offsets in the file as in memory.
        for (i, bytes) in whole.chunks(size).enumerate() {
            let expected = Particle::sample(i / ranks + 50 * (i % ranks));
            let tree = Particle::tree();
            let plan = dtype_runtime::pack::Plan::new(tree).unwrap();
            let mut memory = vec![0u8; size];
            memory[..bytes.len()].copy_from_slice(bytes);
            assert_eq!(Data::new(&plan, 1, &memory, 0).unwrap().pack(), dtype_runtime::pack(&[expected]));
        }
    }
}

/// Neighbourhood collectives on a ring: one call exchanges the columns on both sides.
pub fn neighbourhood(world: &SimpleCommunicator) {
    const N: usize = 6;
    let ring = world.create_cartesian_communicator(&[world.size()], &[true], false).expect("a ring");
    let (own_rank, ranks) = (ring.rank(), ring.size());
    let mut cells: Vec<f64> = numbers(own_rank, N * N);
    let before = cells.clone();
    // The columns next to the outermost ones are sent; the outermost ones are received.
    let layout = layout!(f64[N][N] => [.., 0]);
    let column = layout.datatype().unwrap().as_raw();
    assert!(layout.of(&[[0.0; N]; N]).datatype().unwrap().as_raw() == column);
    let at = |j: usize| (j * size_of::<f64>()) as MPI_Aint;
    let (ones, datatypes) = ([1 as c_int; 2], [column; 2]);
    let (outgoing, incoming) = ([at(1), at(N - 2)], [at(0), at(N - 1)]);
    // SAFETY: there are two neighbours; all columns lie within the cells, and no column that is written
    // overlaps one that is read.
    unsafe {
        let place: *mut c_void = cells.as_mut_ptr().cast();
        ffi::MPI_Neighbor_alltoallw(
            place.cast_const(),
            ones.as_ptr(),
            outgoing.as_ptr(),
            datatypes.as_ptr(),
            place,
            ones.as_ptr(),
            incoming.as_ptr(),
            datatypes.as_ptr(),
            ring.as_raw(),
        );
    }
    let (left, right) = ((own_rank + ranks - 1) % ranks, (own_rank + 1) % ranks);
    for (i, row) in cells.chunks(N).enumerate() {
        // If both neighbours are the same rank, MPI chooses the order of its columns.
        if ranks > 2 {
            assert_eq!((row[0], row[N - 1]), (number(left, N * i + N - 2), number(right, N * i + 1)));
        }
        assert_eq!(row[1..N - 1], before[N * i + 1..N * i + N - 1]);
    }
    // Our calls on a communicator with a topology.
    let mut all = vec![0i32; ranks as usize];
    Comm::from(ring).all_gather_into(&own_rank, &mut all[..]).unwrap();
    assert_eq!(all, (0..ranks).collect::<Vec<_>>());
}

/// Makes the calls of this crate between two groups, whose ranks are each other's peers. `between` may be the
/// communicator, or a process of the other group, which stands for it.
fn calls_between_groups(between: &Comm<impl Handle>, own: &Particle, others: &[Particle]) {
    assert_eq!(between.all_gather(own).unwrap(), others);
    assert_eq!(between.all_to_all(&vec![*own; others.len()]).unwrap(), others);
    let mut received = vec![Particle::sample(99); others.len()];
    between.all_gather_into(own, &mut received[..]).unwrap();
    assert_eq!(received, others);
    received.fill(Particle::sample(99));
    between.all_to_all_into(&vec![*own; others.len()], &mut received).unwrap();
    assert_eq!(received, others);
    received.fill(Particle::sample(99));
    let sends = (0..others.len()).map(|to| (to, own));
    between.exchange(sends, received.iter_mut().enumerate()).unwrap();
    assert_eq!(received, others);
    received.fill(Particle::sample(99));
    let transferred = between.scope(|scope| {
        for (peer, place) in received.iter_mut().enumerate() {
            scope.peer(peer).send(own)?;
            scope.peer(peer).receive_into(place)?;
        }
        Ok(())
    });
    transferred.unwrap();
    assert_eq!(received, others);
    // Each rank sends a message to each rank of the other group, which may be the larger one.
    let to = |peer: usize| between.peer(peer).tag(8).start().send(&Some(*own)).unwrap();
    let sending: Vec<_> = (0..others.len()).map(to).collect();
    for (from, other) in others.iter().enumerate() {
        assert_eq!(between.peer(from).tag(8).receive::<Option<Particle>>().unwrap(), Some(*other));
    }
    drop(sending);
    let beyond = between.peer(others.len()).send(own);
    assert!(matches!(beyond, Err(Error::Rank { .. })), "{beyond:?}");
    // Calls with a root are errors: the root belongs to only one of the groups.
    let mut place = 1u8;
    let refused = [
        between.broadcast(0, Some(1u8)).err(),
        between.broadcast_into(0, &mut place).err(),
        between.gather(0, own).err(),
        between.gather_into(0, own, Some(&mut received)).err(),
        between.scatter(0, Some(&[1u8])).err(),
        between.scatter_into(0, Some(&1u8), &mut place).err(),
        between.reduce(0, &1u8, |a, b| a + b).err(),
        between.all_reduce(&1u8, |a, b| a + b).err(),
        between.scan(&1u8, |a, b| a + b).err(),
        between.scan_before(&1u8, |a, b| a + b).err(),
        between.neighbours().all_gather(own).err(),
        between.cartesian([between.size()], [false]).err(),
        between.graph(&[], &[]).err(),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Some(Error::Wire { .. }))), "{refused:?}");
}

/// Two groups and an intercommunicator between them: values cross it, typed and packed.
pub fn between_groups(world: &SimpleCommunicator) {
    let rank = world.rank();
    let color = mpi::topology::Color::with_value(rank % 2);
    let group = world.split_by_color(color).expect("every rank is in one");
    // The leaders are ranks 0 and 1 of the world.
    // SAFETY: all ranks take part; rsmpi takes ownership of the communicator, and frees it.
    let between = unsafe {
        let mut raw: MPI_Comm = ffi::RSMPI_COMM_NULL;
        ffi::MPI_Intercomm_create(group.as_raw(), 0, world.as_raw(), 1 - rank % 2, 5, &raw mut raw);
        InterCommunicator::from_raw(raw)
    };
    // Each group receives the values of the other group, in the order of its ranks.
    let others = (0..world.size()).filter(|other| other % 2 != rank % 2);
    let others: Vec<Particle> = others.map(|other| Particle::sample(other as usize)).collect();
    let own = Particle::sample(rank as usize);
    let process = between.process_at_rank(0);
    calls_between_groups(&Comm::from(&process), &own, &others);
    let between = &Comm::from(&between);
    calls_between_groups(between, &own, &others);
    // All ranks send messages of one length. If the groups differ in size, the lengths of their parts differ.
    let twelve = vec![own; 12];
    let part = 12 / group.size() as usize;
    let parts: Vec<_> = twelve.chunks(12 / others.len()).collect();
    let mut received = vec![Particle::sample(99); part * others.len()];
    let mut places: Vec<_> = received.chunks_mut(part).collect();
    between.all_to_all_into(&parts, &mut places).unwrap();
    assert!(received.chunks(part).zip(&others).all(|(part, other)| part.iter().all(|found| found == other)));
    let expected: Vec<_> = others.iter().flat_map(|other| std::iter::repeat_n(*other, 12)).collect();
    let mut received = vec![Particle::sample(99); expected.len()];
    between.all_gather_into(&twelve, &mut received[..]).unwrap();
    assert!(received == expected);
    between.attach().unwrap();
    let partner = group.rank();
    if partner >= between.remote_size() {
        return;
    }
    let other = between.process_at_rank(partner);
    let particles =
        |rank: i32| -> Vec<_> { (0..3000).map(|i| Particle::sample(i % 90 + 100 * rank as usize)).collect() };
    let (own, expected) = (particles(rank), particles(if rank % 2 == 0 { rank + 1 } else { rank - 1 }));
    let mut received = vec![Particle::sample(1); 3000];
    mpi::point_to_point::send_receive_into(&own[..], &other, &mut received[..], &other);
    assert!(received == expected);
    let (mut received, partner) = (vec![Particle::sample(1); 3000], partner as usize);
    between.exchange([(partner, &own)], [(partner, &mut received[..])]).unwrap();
    assert!(received == expected);
    let mut received = own.clone();
    between.peer(partner).swap(&mut received[..]).unwrap();
    assert!(received == expected);
    let mut received = vec![Particle::sample(1); 3000];
    let peer = between.peer(partner).wire(Wire::Segments);
    if rank % 2 == 0 {
        peer.send(&own).unwrap();
        peer.receive_into(&mut received[..]).unwrap();
    } else {
        peer.receive_into(&mut received[..]).unwrap();
        peer.send(&own).unwrap();
    }
    assert!(received == expected);
}

/// Makes a datatype of three elements of a base type, each two extents after the one before. Returns the
/// datatype as MPI makes it, and the normalized one.
fn every_second(base: BaseType) -> (MPI_Datatype, LayoutDatatype) {
    // SAFETY: MPI is initialized; the datatype lives until it is freed, and is not used later.
    unsafe {
        let mut every_second = ffi::RSMPI_DATATYPE_NULL;
        ffi::MPI_Type_vector(3, 1, 2, predefined(base), &raw mut every_second);
        ffi::MPI_Type_commit(&raw mut every_second);
        (every_second, normalize(&DatatypeRef::from_raw(every_second)).unwrap())
    }
}

fn free(mut datatype: MPI_Datatype) {
    // SAFETY: `every_second` made the datatype, and it is freed once.
    unsafe { ffi::MPI_Type_free(&raw mut datatype) };
}

/// Normalized datatypes of pairs take part in `MPI_MAXLOC`, which is a reduction for pairs only.
pub fn largest_and_where(world: &SimpleCommunicator) {
    #[repr(C)]
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct DoubleInt(f64, c_int);
    const N: usize = 6;
    let (rank, ranks) = (world.rank(), world.size());
    let next = (rank + 1) % ranks;
    let (original, normalized) = every_second(BaseType::DoubleInt);
    free(original);
    let own: Vec<_> = (0..N as c_int).map(|i| DoubleInt(f64::from(10 * i), rank)).collect();
    let told: Vec<_> = (0..3).map(|i| DoubleInt(f64::from(15 * i), 50 + rank)).collect();
    // SAFETY: the window is as large as the array; all access lies within, between fences, and it is read
    // before it is freed.
    let found = unsafe {
        let mut window = ffi::RSMPI_WIN_NULL;
        let (size, mut base) = (size_of_val(&own[..]) as MPI_Aint, std::ptr::null_mut::<DoubleInt>());
        let (info, place_of_base) = (ffi::RSMPI_INFO_NULL, (&raw mut base).cast());
        ffi::MPI_Win_allocate(size, 1, info, world.as_raw(), place_of_base, &raw mut window);
        base.copy_from_nonoverlapping(own.as_ptr(), N);
        ffi::MPI_Win_fence(0, window);
        let from = told.as_ptr().cast();
        let pair = predefined(BaseType::DoubleInt);
        let raw = normalized.as_raw();
        let mut greatest = ffi::RSMPI_MAX;
        spy::c_maxloc(&raw mut greatest);
        assert_eq!(ffi::MPI_Accumulate(from, 3, pair, next, 0, 1, raw, greatest, window), 0);
        ffi::MPI_Win_fence(0, window);
        let found = std::slice::from_raw_parts(base, N).to_vec();
        ffi::MPI_Win_free(&raw mut window);
        found
    };
    let previous = (rank + ranks - 1) % ranks;
    for (i, found) in found.into_iter().enumerate() {
        let (own, theirs) = (10.0 * i as f64, 7.5 * i as f64);
        // Of equal values, `MPI_MAXLOC` keeps the one with the smaller index.
        let expected = match i {
            0 => DoubleInt(0.0, rank.min(50 + previous)),
            _ if i % 2 == 0 && theirs > own => DoubleInt(theirs, 50 + previous),
            _ => DoubleInt(own, rank),
        };
        assert_eq!(found, expected, "at {i}");
    }
}

/// The external32 form of a `long` has four bytes, also in a file written with a normalized datatype of
/// `long`s.
pub fn external_file(world: &SimpleCommunicator) {
    if world.rank() > 0 {
        return;
    }
    let own: Vec<std::os::raw::c_long> = (1..=6).collect();
    let written = |datatype: MPI_Datatype| {
        let path = std::env::temp_dir().join(format!("dtype-external-{}", std::process::id()));
        let name = CString::new(path.to_string_lossy().into_owned()).unwrap();
        // SAFETY: all handles are live, the name is a C string, and the buffer has all numbers that the
        // datatype describes.
        unsafe {
            let mut file = ffi::RSMPI_FILE_NULL;
            let mode = constant!(MPI_MODE_CREATE) | constant!(MPI_MODE_RDWR);
            let (info, status) = (ffi::RSMPI_INFO_NULL, ffi::RSMPI_STATUS_IGNORE);
            let name = name.as_ptr().cast_mut();
            assert_eq!(ffi::MPI_File_open(ffi::RSMPI_COMM_SELF, name, mode, info, &raw mut file), 0);
            let (external32, long) = (c"external32".as_ptr().cast_mut(), predefined(BaseType::Long));
            assert_eq!(ffi::MPI_File_set_view(file, 0, long, long, external32, info), 0);
            assert_eq!(ffi::MPI_File_write(file, own.as_ptr().cast(), 1, datatype, status), 0);
            ffi::MPI_File_close(&raw mut file);
        }
        let written = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        written
    };
    let (original, normalized) = every_second(BaseType::Long);
    let (before, after) = (written(original), written(normalized.as_raw()));
    // For a datatype with gaps, MPICH 4 writes the first two numbers correctly and garbage after them, also
    // without normalization.
    assert_eq!(before.len(), after.len());
    assert_eq!((&before[..8], &after[..8]), (&[0, 0, 0, 1, 0, 0, 0, 3][..], &before[..8]));
    free(original);
}
