//! The contenders for a layout: operations with each datatype, by hand, and ours.

// The memory of a group has the size that its layouts need, and all ranks make the same calls in the same
// order.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::{cell::RefCell, ffi::c_int, ffi::c_void, time::Instant};

use dtype_core::Bounds;
use dtype_engine::{Data, DataMut, Plan};
use dtype_runtime::{
    Comm, Wire,
    decode::{Decoded, decode},
    layout::LayoutDatatype,
};
use mpi::{
    ffi::{self, MPI_Comm, MPI_Datatype},
    raw::AsRaw,
    topology::SimpleCommunicator,
    traits::*,
};

use crate::{
    datatype::{Owned, int},
    description::Description,
    generate::Random,
    groups::Group,
    loops::Direction,
    results::Operation,
    way::Way,
};

/// Memory that is used through raw pointers: an array, or packed bytes.
pub struct Memory {
    bytes: RefCell<Vec<u8>>,
    start: usize,
    size: usize,
}

impl Memory {
    /// Allocates `size` bytes and writes each of them. The first byte is at a random cache line of a page.
    /// The position changes times by tens of percent. Random positions make this difference part of the
    /// noise.
    pub fn new(size: usize, random: &mut Random) -> Self {
        const PAGE: usize = 4096;
        const LINE: usize = 64;
        let bytes: Vec<u8> = (0..size + 2 * PAGE).map(|i| (i % 251) as u8).collect();
        let line = LINE * random.below((PAGE / LINE) as u64) as usize;
        let start = bytes.as_ptr().align_offset(PAGE) + line;
        Self { bytes: RefCell::new(bytes), start, size }
    }

    /// Returns a pointer to the first byte.
    pub fn first(&self) -> *mut u8 {
        self.bytes.borrow_mut()[self.start..].as_mut_ptr()
    }

    /// Returns all bytes.
    #[allow(clippy::mut_from_ref)]
    unsafe fn all(&self) -> &mut [u8] {
        unsafe { std::slice::from_raw_parts_mut(self.first(), self.size) }
    }
}

/// A committed datatype, with the count to use.
pub struct Typed {
    raw: MPI_Datatype,
    count: c_int,
    /// The extent of all copies, in bytes.
    extent: usize,
    _owner: Box<dyn std::any::Any>,
}

/// The datatypes and the memory with which a group is measured.
pub struct Prepared<'a> {
    group: &'a Group,
    /// The datatypes of the group's ways in their order, then our least-cost datatype.
    pub typed: Vec<Typed>,
    decoded: std::sync::Arc<Decoded>,
    plan: Plan,
    count: usize,
    size: usize,
    memory: Memory,
    packed: Memory,
    /// The receive buffer of an all-gather.
    gathered: Memory,
    gathered_packed: Memory,
    generated: Option<Way<'static>>,
}

impl<'a> Prepared<'a> {
    /// Makes the datatypes and the memory for a group, on `ranks` ranks.
    pub fn new(group: &'a Group, ranks: usize, random: &mut Random) -> Self {
        let own = |way: &crate::groups::Way| {
            let bounds = bounds(&way.description);
            let owned = Owned::of(&way.description).commit();
            let extent = bounds.extent as usize * way.count as usize;
            (Typed { raw: owned.raw(), count: int(way.count), extent, _owner: Box::new(owned) }, bounds)
        };
        let (mut typed, bounds): (Vec<_>, Vec<_>) = group.ways.iter().map(own).unzip();
        let whole = group.ways.iter().position(|way| way.count == 1).unwrap_or(0);
        let decoded = decode(&Borrowed(typed[whole].raw)).expect("a datatype that can be taken apart");
        let least: LayoutDatatype = decoded.datatype().expect("a datatype of least cost");
        typed.push(Typed {
            raw: least.as_raw(),
            count: typed[whole].count,
            extent: typed[whole].extent,
            _owner: Box::new(least),
        });
        let tree = group.whole().datatype().expect("a small datatype").tree;
        let end = tree.measure().expect("a small tree").upper_bound as usize;
        let end = end.max(typed.iter().map(|typed| typed.extent).max().unwrap_or(0));
        let lowest = bounds.iter().map(|bounds| bounds.lower_bound).min().unwrap_or(0);
        assert!(lowest >= 0, "{}: data before the memory", group.name());
        // A positive lower bound moves the blocks of all ranks in the gathered array, which must be longer
        // then.
        let (size, end) = (group.bytes as usize, end + lowest as usize);
        let ranks = if group.collective { ranks } else { 0 };
        let memory = Memory::new(end, random);
        let generated = group.application.map(|application| application.ours(memory.first()));
        Self {
            group,
            typed,
            plan: decoded.plan().expect("a plan"),
            decoded,
            count: group.ways[whole].count as usize,
            size,
            packed: Memory::new(size, random),
            gathered: Memory::new(end * ranks, random),
            gathered_packed: Memory::new(size * ranks, random),
            memory,
            generated,
        }
    }

    /// Returns the decoded datatype of the group, as it was described.
    pub fn decoded(&self) -> &Decoded {
        &self.decoded
    }

    fn data(&self) -> Data<'_> {
        Data::new(&self.plan, self.count, unsafe { self.memory.all() }, 0).expect("it lies within")
    }

    fn data_mut(&self) -> DataMut<'_> {
        DataMut::new(&self.plan, self.count, unsafe { self.memory.all() }, 0).expect("it lies within")
    }
}

fn bounds(description: &Description) -> Bounds {
    description.datatype().expect("a small datatype").bounds
}

/// A datatype that its owner frees elsewhere.
struct Borrowed(MPI_Datatype);

unsafe impl AsRaw for Borrowed {
    type Raw = MPI_Datatype;

    fn as_raw(&self) -> MPI_Datatype {
        self.0
    }
}

impl mpi::datatype::UncommittedDatatype for Borrowed {
    type DuplicatedDatatype = mpi::datatype::UserDatatype;
}

/// One way to do an operation, which is timed.
pub struct Contender<'a> {
    /// The name of the way.
    pub way: &'static str,
    /// The operation.
    pub operation: Operation,
    /// Runs the operation `batch` times, and returns the time of one run in microseconds.
    run: Box<dyn Fn(usize) -> f64 + 'a>,
    /// `true` if rank 0 runs the operation alone.
    pub alone: bool,
}

/// The name of our least-cost datatype.
pub const LEAST_COST: &str = "least-cost";
/// The name of our plan.
pub const PLAN: &str = "plan";
/// The name of the code that `layout!` and the derive generate.
pub const GENERATED: &str = "generated";
/// The name of our packed wire.
pub const WIRE: &str = "packed wire";
/// The name of the loops by hand.
pub const BY_HAND: &str = "by hand";

impl<'a> Contender<'a> {
    fn new(way: &'static str, operation: Operation, run: impl Fn() + 'a) -> Self {
        use Operation::{Pack, PackedPingPong, PingPong, Unpack};
        let each = if matches!(operation, PingPong | PackedPingPong) { 2.0 } else { 1.0 };
        let run = move |batch| {
            let start = Instant::now();
            (0..batch).for_each(|_| run());
            start.elapsed().as_secs_f64() * 1e6 / batch as f64 / each
        };
        Self { way, operation, run: Box::new(run), alone: matches!(operation, Pack | Unpack) }
    }

    /// Runs the operation `batch` times, and returns the time of one run in microseconds.
    pub fn time(&self, batch: usize) -> f64 {
        (self.run)(batch)
    }
}

/// A layout with several datatypes that describe it.
pub struct Alternatives {
    typed: Vec<Typed>,
    size: usize,
    memory: Memory,
    packed: Memory,
}

impl Alternatives {
    /// Makes the datatypes of one layout, with memory of `end` bytes, `size` of which are packed.
    pub fn new(descriptions: &[Description], (size, end): (usize, usize), random: &mut Random) -> Self {
        let typed = descriptions.iter().map(|description| {
            let owned = Owned::of(description).commit();
            Typed { raw: owned.raw(), count: 1, extent: 0, _owner: Box::new(owned) }
        });
        Self {
            typed: typed.collect(),
            size,
            memory: Memory::new(end, random),
            packed: Memory::new(size, random),
        }
    }

    /// Returns a packing contender for each datatype. With `sends`, also returns a ping-pong for each.
    pub fn contenders<'a>(&'a self, world: &'a SimpleCommunicator, sends: bool) -> Vec<Contender<'a>> {
        let memory = self.memory.first().cast::<c_void>();
        let packed = self.packed.first().cast::<c_void>();
        let (size, comm) = (int(self.size), raw(world));
        let mut all = Vec::new();
        for &Typed { raw, count, .. } in &self.typed {
            all.push(Contender::new("", Operation::Pack, move || unsafe {
                let mut position = 0;
                ffi::MPI_Pack(memory, count, raw, packed, size, &raw mut position, comm);
            }));
            if sends {
                let exchange = exchange(world, memory, count, raw);
                all.push(Contender::new("", Operation::PingPong, exchange));
            }
        }
        all
    }
}

/// Returns the contenders of a group, for this rank.
pub fn contenders<'a>(of: &'a Prepared<'_>, world: &'a SimpleCommunicator) -> Vec<Contender<'a>> {
    let mut all = Vec::new();
    let names = of.group.ways.iter().map(|way| way.name).chain([LEAST_COST]);
    for (name, typed) in names.zip(&of.typed) {
        with_datatype(&mut all, of, world, name, typed);
    }
    by_hand(&mut all, of, world);
    let (packed, data) = (|| unsafe { of.packed.all() }, || of.data());
    all.push(Contender::new(PLAN, Operation::Pack, move || {
        data().pack_into(packed()).expect("room for it");
    }));
    all.push(Contender::new(PLAN, Operation::Unpack, move || {
        of.data_mut().unpack(packed()).expect("as many bytes");
    }));
    if let Some(generated) = &of.generated {
        all.push(Contender::new(GENERATED, Operation::Pack, move || (generated.pack)(packed())));
        all.push(Contender::new(GENERATED, Operation::Unpack, move || (generated.unpack)(packed())));
    }
    let [to, from] = [Comm::from(world), Comm::from(world)];
    all.push(Contender::new(
        WIRE,
        Operation::PingPong,
        journey(
            world,
            move |other| {
                let peer = to.peer(other.rank() as usize).wire(Wire::Packed);
                peer.send(&data()).expect("it can travel so");
            },
            move |other| {
                let peer = from.peer(other.rank() as usize).wire(Wire::Packed);
                peer.receive_into(&mut of.data_mut()).expect("it fits");
            },
        ),
    ));
    all
}

/// Returns a round trip between ranks 0 and 1. Other ranks do nothing.
fn journey<'a>(
    world: &'a SimpleCommunicator,
    send: impl Fn(&mpi::topology::Process<'_>) + 'a,
    receive: impl Fn(&mpi::topology::Process<'_>) + 'a,
) -> impl Fn() + 'a {
    let rank = world.rank();
    move || match rank {
        0 => {
            let other = world.process_at_rank(1);
            send(&other);
            receive(&other);
        }
        1 => {
            let other = world.process_at_rank(0);
            receive(&other);
            send(&other);
        }
        _ => {}
    }
}

fn raw(world: &SimpleCommunicator) -> MPI_Comm {
    world.as_communicator().as_raw()
}

/// Adds all operations of MPI with a datatype.
fn with_datatype<'a>(
    all: &mut Vec<Contender<'a>>,
    of: &'a Prepared<'_>,
    world: &'a SimpleCommunicator,
    name: &'static str,
    typed: &'a Typed,
) {
    let memory = of.memory.first().cast::<c_void>();
    let packed = of.packed.first().cast::<c_void>();
    let (count, datatype, size, comm) = (typed.count, typed.raw, int(of.size), raw(world));
    let pack = move |to: *mut c_void| unsafe {
        let mut position = 0;
        ffi::MPI_Pack(memory, count, datatype, to, size, &raw mut position, comm);
    };
    let unpack = move |from: *mut c_void, at: *mut c_void| unsafe {
        let mut position = 0;
        ffi::MPI_Unpack(from, size, &raw mut position, at, count, datatype, comm);
    };
    all.push(Contender::new(name, Operation::Pack, move || pack(packed)));
    all.push(Contender::new(name, Operation::Unpack, move || unpack(packed, memory)));
    let bytes = unsafe { ffi::RSMPI_UINT8_T };
    all.push(Contender::new(name, Operation::PingPong, exchange(world, memory, count, datatype)));
    let (to, from) = (move || pack(packed), move || unpack(packed, memory));
    all.push(Contender::new(
        name,
        Operation::PackedPingPong,
        packed_exchange(world, (packed, size), to, from),
    ));
    if !of.group.collective {
        return;
    }
    // Each rank is the root in turn, because a constant root runs ahead of the others.
    let ranks = world.size();
    let turn = move |run: &dyn Fn(c_int)| (0..ranks).for_each(run);
    all.push(Contender::new(name, Operation::Broadcast, move || {
        turn(&|root| unsafe {
            ffi::MPI_Bcast(memory, count, datatype, root, comm);
        });
    }));
    let rank = world.rank();
    all.push(Contender::new(name, Operation::PackedBroadcast, move || {
        turn(&|root| {
            if rank == root {
                pack(packed);
            }
            unsafe { ffi::MPI_Bcast(packed, size, bytes, root, comm) };
            if rank != root {
                unpack(packed, memory);
            }
        });
    }));
    let gathered = of.gathered.first().cast::<c_void>();
    all.push(Contender::new(name, Operation::AllGather, move || unsafe {
        ffi::MPI_Allgather(memory, count, datatype, gathered, count, datatype, comm);
    }));
    let (gathered_packed, extent) = (of.gathered_packed.first(), typed.extent);
    all.push(Contender::new(name, Operation::PackedAllGather, move || {
        pack(packed);
        let to = gathered_packed.cast();
        unsafe { ffi::MPI_Allgather(packed, size, bytes, to, size, bytes, comm) };
        for i in 0..ranks as usize {
            let from = gathered_packed.wrapping_add(i * size as usize).cast();
            unpack(from, gathered.wrapping_byte_add(i * extent));
        }
    }));
}

/// Returns a round trip of a message.
fn exchange(
    world: &SimpleCommunicator,
    memory: *mut c_void,
    count: c_int,
    datatype: MPI_Datatype,
) -> impl Fn() {
    let comm = raw(world);
    journey(
        world,
        move |other| unsafe {
            ffi::MPI_Send(memory, count, datatype, other.rank(), 0, comm);
        },
        move |other| unsafe {
            let status = ffi::RSMPI_STATUS_IGNORE;
            ffi::MPI_Recv(memory, count, datatype, other.rank(), 0, comm, status);
        },
    )
}

/// Returns a round trip of packed bytes. Each rank packs before it sends, and unpacks after it receives.
fn packed_exchange<'a>(
    world: &'a SimpleCommunicator,
    (packed, size): (*mut c_void, c_int),
    pack: impl Fn() + 'a,
    unpack: impl Fn() + 'a,
) -> impl Fn() + 'a {
    let (comm, bytes) = (raw(world), unsafe { ffi::RSMPI_UINT8_T });
    journey(
        world,
        move |other| {
            pack();
            unsafe { ffi::MPI_Send(packed, size, bytes, other.rank(), 0, comm) };
        },
        move |other| {
            let status = unsafe { ffi::RSMPI_STATUS_IGNORE };
            unsafe { ffi::MPI_Recv(packed, size, bytes, other.rank(), 0, comm, status) };
            unpack();
        },
    )
}

fn by_hand<'a>(all: &mut Vec<Contender<'a>>, of: &'a Prepared<'_>, world: &'a SimpleCommunicator) {
    let (memory, packed, element) = (of.memory.first(), of.packed.first(), of.group.base.size() as usize);
    let run = move |direction| unsafe {
        of.group.loops.run(direction, element, memory, packed);
    };
    let (pack, unpack) = (move || run(Direction::Pack), move || run(Direction::Unpack));
    all.push(Contender::new(BY_HAND, Operation::Pack, pack));
    all.push(Contender::new(BY_HAND, Operation::Unpack, unpack));
    let bytes = (packed.cast(), int(of.size));
    all.push(Contender::new(BY_HAND, Operation::PackedPingPong, packed_exchange(world, bytes, pack, unpack)));
}

impl Prepared<'_> {
    /// Returns 1 for each contender that packs or unpacks other bytes than the loops by hand, and otherwise
    /// 0. Each packing and unpacking contender runs once. Other operations are not checked.
    pub fn wrong(&self, contenders: &[Contender<'_>]) -> Vec<u8> {
        let (memory, packed) = unsafe { (self.memory.all(), self.packed.all()) };
        let by_hand = |operation| {
            let is_it = |c: &&Contender<'_>| c.way == BY_HAND && c.operation == operation;
            contenders.iter().find(is_it).expect("there are loops by hand")
        };
        let before = memory.to_vec();
        by_hand(Operation::Pack).time(1);
        let expected = packed.to_vec();
        let other: Vec<u8> = expected.iter().map(|byte| byte ^ 0xA5).collect();
        packed.copy_from_slice(&other);
        by_hand(Operation::Unpack).time(1);
        let after = memory.to_vec();
        let is_wrong = |contender: &Contender<'_>| {
            memory.copy_from_slice(&before);
            match contender.operation {
                Operation::Pack => {
                    packed.fill(0);
                    contender.time(1);
                    *packed != expected
                }
                Operation::Unpack => {
                    packed.copy_from_slice(&other);
                    contender.time(1);
                    *memory != after
                }
                _ => false,
            }
        };
        let wrong = contenders.iter().map(is_wrong).map(u8::from).collect();
        memory.copy_from_slice(&before);
        wrong
    }
}

/// Returns the times of construction and of commit for a way of a group, in microseconds.
pub fn creation(group: &Group, way: usize, batch: usize) -> [f64; 2] {
    let description = &group.ways[way].description;
    let each = |start: Instant| start.elapsed().as_secs_f64() * 1e6 / batch as f64;
    let start = Instant::now();
    let made: Vec<_> = (0..batch).map(|_| Owned::of(description)).collect();
    let construct = each(start);
    let start = Instant::now();
    let made: Vec<_> = made.into_iter().map(Owned::commit).collect();
    let commit = each(start);
    drop(made);
    [construct, commit]
}
