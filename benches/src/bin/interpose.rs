//! `cargo xtask bench interpose`: half a ping-pong between two ranks, with and without the preloaded library.
//!
//! The calls `MPI_Send` and so on are intercepted by the preloaded library. `PMPI_Send` and so on call the
//! MPI library directly. The cases are structs, tiny and contiguous messages, layouts of applications (also
//! gathered), datatypes that are used for a few messages only, and generated layouts. Another seed generates
//! other layouts.

// All handles are live, and each buffer has room for the true extent of its datatypes.
#![allow(clippy::undocumented_unsafe_blocks)]

use std::{
    cell::Cell,
    collections::BTreeMap,
    env,
    ffi::{c_int, c_void},
    mem::ManuallyDrop,
    time::Duration,
};

use clap::Parser;
use dtype_benches::{
    journeys::{Arguments, Direction, Effort, rounds},
    measure::{Medians, print},
    record::Row,
};
use dtype_core::BaseType;
use dtype_guidelines::{
    applications::Application,
    datatype::{Owned, int},
    description::Description,
    generate::{Random, Sample, samples},
    written::seed,
};
use mpi::{ffi, topology::SimpleCommunicator, traits::*};

/// Times messages between two ranks, with the preloaded library and without.
#[derive(Parser)]
struct Command {
    #[command(flatten)]
    arguments: Arguments,
}

/// A datatype that is sent or gathered.
struct Case {
    /// The group, and the name within it.
    name: (&'static str, String),
    datatype: Description,
    count: usize,
    call: Call,
    /// Datatypes of the same constructor with other lists, used in turn with `datatype`, one for each commit.
    /// Empty if the lists do not change.
    others: Vec<Description>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Send,
    Gather,
    /// A number of messages of a datatype that is built, committed and freed for them.
    Anew(usize),
}

impl Case {
    fn title(&self) -> String {
        format!("{}: {}", self.name.0, self.name.1)
    }

    fn sent(group: &'static str, name: impl Into<String>, datatype: Description, count: usize) -> Self {
        let (name, others) = ((group, name.into()), Vec::new());
        Self { name, datatype, count, call: Call::Send, others }
    }
}

/// The largest memory of a generated layout, in bytes.
const MOST_MEMORY: i64 = 32 << 20;

fn cases(quick: bool) -> Vec<Case> {
    let base = Description::Base;
    let number = || base(BaseType::F64);
    let record = || {
        let fields = [(0, BaseType::U8), (8, BaseType::F64), (16, BaseType::I16), (20, BaseType::F32)];
        Description::structure(fields.map(|(at, field)| (at, base(field)))).resized(24)
    };
    let mut cases = vec![
        Case::sent("structs", "1000000 structs", record(), 1_000_000),
        Case::sent("structs", "10000 structs", record(), 10_000),
        Case::sent("structs", "100 structs", record(), 100),
        Case::sent("plain", "a number", number(), 1),
        Case::sent("plain", "8 numbers of a row", number().contiguous(8), 1),
        Case::sent("plain", "4 numbers of a column", number().vector(4, 1, 2), 1),
        Case::sent("plain", "1024 bytes as one block", number().contiguous(128), 1),
        Case::sent("plain", "64 KiB as one block", number().contiguous(8192), 1),
    ];
    for application in Application::ALL.into_iter().filter(|application| !quick || application.is_quick()) {
        let name = format!("{} {}", application.name(), application.size()).replace(',', "");
        for call in [Call::Send, Call::Gather] {
            let group = if call == Call::Send { "applications" } else { "gathered" };
            let datatype = application.published();
            let name = (group, name.clone());
            cases.push(Case { name, datatype, count: 1, call, others: Vec::new() });
        }
    }
    // None of them is a case from which the policy is derived.
    for block in [8, 24, 80, 256] {
        for bytes in [2400, 64 << 10, 2 << 20] {
            let (length, count) = (block / 8, bytes / block);
            let rows = number().vector(count, length, 3 * length as i64);
            let name = format!("{bytes} bytes in blocks of {block}");
            cases.push(Case::sent("columns", name.clone(), rows, 1));
            let mut random = Random::new(block + bytes);
            let mut at = 0;
            let places = (0..count).map(|_| {
                at += (length * (1 + random.below(4))) as i64;
                at
            });
            cases.push(Case::sent("lists", name, number().indexed_block(length, places.collect()), 1));
        }
    }
    cases.extend(anew(&record()));
    let drawn = samples(seed(), 128, 1 << 20).filter(|sample| {
        sample.extent > 0 && sample.extent.saturating_mul(sample.count as i64) < MOST_MEMORY
    });
    for Sample { name, tree, extent, count } in drawn.take(if quick { 20 } else { 32 }) {
        let Ok(datatype) = Description::of_tree(&tree) else { continue };
        let count = usize::try_from(count).expect("a count of MPI");
        cases.push(Case::sent("drawn", name.replace(',', " "), datatype.resized(extent), count));
    }
    cases
}

/// Returns cases whose datatypes live for 1, 2, 3 or 10 messages: a vector, lists that are the same each
/// time, lists that change, and an array of structs.
fn anew(record: &Description) -> Vec<Case> {
    /// The number of different lists.
    const LISTS: u64 = 16;
    let number = || Description::Base(BaseType::F64);
    let list = |blocks: u64, seed: u64| {
        let (mut random, mut at) = (Random::new(seed << 32 | blocks), 0);
        let (lengths, places) = (0..blocks)
            .map(|_| {
                let length = 1 + random.below(3);
                let place = at;
                at += (length + 1 + random.below(3)) as i64;
                (length, place)
            })
            .unzip();
        number().indexed(lengths, places)
    };
    let mut cases = Vec::new();
    for messages in [1, 2, 3, 10] {
        let mut add = |what: String, datatype: Description, count, others| {
            let name = ("anew", format!("{messages} messages a commit: {what}"));
            cases.push(Case { name, datatype, count, call: Call::Anew(messages), others });
        };
        for blocks in [100, 10_000] {
            add(format!("vector of {blocks}"), number().vector(blocks, 1, 2), 1, Vec::new());
            add(format!("list of {blocks}"), list(blocks, 0), 1, Vec::new());
            let others = (1..LISTS).map(|seed| list(blocks, seed)).collect();
            add(format!("changing lists of {blocks}"), list(blocks, 0), 1, others);
        }
        add("1000 structs".to_owned(), record.clone(), 1000, Vec::new());
    }
    cases
}

fn main() {
    let Command { arguments } = Command::parse();
    let preloaded = env::var("LD_PRELOAD").unwrap_or_default();
    assert!(
        preloaded.contains("dtype_mpi"),
        "LD_PRELOAD does not name the library: `cargo xtask bench interpose`"
    );
    let universe = mpi::initialize().expect("MPI is initialized once");
    let world = universe.world();
    assert_eq!(world.size(), 2, "a ping-pong takes two ranks");
    let mut rows = Vec::new();
    let wanted = |case: &Case| case.title().starts_with(&arguments.only);
    for case in cases(arguments.options.quick).iter().filter(|case| wanted(case)) {
        let row = measure(&arguments, &world, case);
        if world.rank() == 0 {
            print(&row, &arguments.options);
            rows.push((case.name.0, row));
        }
    }
    if world.rank() == 0 && !arguments.options.json {
        summary(&rows);
    }
}

/// Returns memory for all copies of a datatype, and the index of displacement 0 in it.
fn memory(datatype: &Description, count: usize) -> (Vec<u8>, usize) {
    let made = datatype.datatype().expect("it can be made");
    let measure = made.tree.measure().expect("it can be measured");
    let before = usize::try_from(-measure.lower_bound.min(0)).expect("in memory");
    let all = made.bounds.extent.max(0) * count as i64 + measure.upper_bound.max(0);
    (vec![1; before + usize::try_from(all).expect("in memory")], before)
}

/// Returns the largest memory that any of the datatypes needs.
fn largest(datatypes: &[&Description], count: usize) -> (Vec<u8>, usize) {
    let all = datatypes.iter().map(|datatype| memory(datatype, count));
    all.max_by_key(|(bytes, _)| bytes.len()).expect("there is one")
}

/// Builds and commits a datatype, sends or receives `messages` messages, and frees the datatype.
///
/// With way 0, the preloaded library intercepts all calls. With way 1, commit, messages and free are `PMPI_`
/// calls. With way 2, commit and free are `PMPI_` calls. The messages are intercepted and use the datatype
/// `kept`, which was committed once.
unsafe fn sent_anew(
    way: usize,
    direction: Direction,
    description: &Description,
    kept: ffi::MPI_Datatype,
    (buffer, count, messages): (*mut c_void, c_int, usize),
    (other, communicator): (c_int, ffi::MPI_Comm),
) {
    let owned = ManuallyDrop::new(Owned::of(description));
    let mut raw = owned.raw();
    unsafe {
        if way == 0 {
            ffi::MPI_Type_commit(&raw mut raw)
        } else {
            ffi::PMPI_Type_commit(&raw mut raw)
        };
        let datatype = if way == 2 { kept } else { raw };
        for _ in 0..messages {
            match (way, direction) {
                (1, Direction::There) => ffi::PMPI_Send(buffer, count, datatype, other, 0, communicator),
                (_, Direction::There) => ffi::MPI_Send(buffer, count, datatype, other, 0, communicator),
                (1, Direction::Back) => {
                    let status = ffi::RSMPI_STATUS_IGNORE;
                    ffi::PMPI_Recv(buffer, count, datatype, other, 0, communicator, status)
                }
                (_, Direction::Back) => {
                    let status = ffi::RSMPI_STATUS_IGNORE;
                    ffi::MPI_Recv(buffer, count, datatype, other, 0, communicator, status)
                }
            };
        }
        if way == 0 {
            ffi::MPI_Type_free(&raw mut raw)
        } else {
            ffi::PMPI_Type_free(&raw mut raw)
        };
    }
}

fn measure(arguments: &Arguments, world: &SimpleCommunicator, case: &Case) -> Row {
    let Case { datatype, count, call, others, .. } = case;
    let changing: Vec<_> = std::iter::once(datatype).chain(others).collect();
    let turns = [const { Cell::new(0) }; 3];
    let owned = Owned::of(datatype).commit();
    let raw = owned.raw();
    let bytes = datatype.datatype().map_or(0, |made| made.tree.measure().map_or(0, |found| found.size));
    let bytes = usize::try_from(bytes).expect("in memory") * count;
    let (mut from, from_origin) = largest(&changing, *count);
    let (mut to, to_origin) = largest(&changing, count * 2);
    let from: *mut c_void = from[from_origin..].as_mut_ptr().cast();
    let to: *mut c_void = to[to_origin..].as_mut_ptr().cast();
    let (count, other, communicator) = (int(*count), 1 - world.rank(), world.as_raw());
    let quick = arguments.options.quick;
    let effort = Effort {
        runs: if quick { 9 } else { 21 },
        at_least: Duration::from_millis(if quick { 40 } else { 250 }),
        at_most: Duration::from_secs(if quick { 1 } else { 4 }),
        batch: (200_000 / (bytes + 400)).clamp(1, 200),
    };
    let status = || unsafe { ffi::RSMPI_STATUS_IGNORE };
    let ways = if matches!(call, Call::Anew(_)) { 3 } else { 2 };
    let times = rounds(world, ways, &effort, |way, direction| unsafe {
        match (call, way, direction) {
            (Call::Anew(messages), ..) => {
                let turn = turns[way].replace(turns[way].get() + 1);
                let sent = (from, count, *messages);
                let description = changing[turn % changing.len()];
                sent_anew(way, direction, description, raw, sent, (other, communicator));
                0
            }
            (Call::Send, 0, Direction::There) => ffi::MPI_Send(from, count, raw, other, 0, communicator),
            (Call::Send, _, Direction::There) => ffi::PMPI_Send(from, count, raw, other, 0, communicator),
            (Call::Send, 0, Direction::Back) => {
                ffi::MPI_Recv(from, count, raw, other, 0, communicator, status())
            }
            (Call::Send, _, Direction::Back) => {
                ffi::PMPI_Recv(from, count, raw, other, 0, communicator, status())
            }
            // On the way there the other rank is the root; on the way back this rank is.
            (Call::Gather, way, direction) => {
                let is_root = direction == Direction::Back;
                let root = if is_root { world.rank() } else { other };
                let gather = if way == 0 { ffi::MPI_Gather } else { ffi::PMPI_Gather };
                gather(from, count, raw, to, count, raw, root, communicator)
            }
        };
    });
    let medians = Medians::of(
        ["ours", "without", "kept"].into_iter().zip(times).map(|(name, times)| (name, times, None)),
    );
    let mut row = medians.row("interpose", case.title(), "ours");
    row.library.clone_from(&arguments.library);
    row
}

/// Prints the least, the median and the greatest speedup of each group. For the group `plain` it prints the
/// additional time in nanoseconds instead.
fn summary(rows: &[(&str, Row)]) {
    let mut groups: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (group, row) in rows {
        let without = row.peers_us["without"];
        let number = if *group == "plain" { (row.ours_us - without) * 1e3 } else { without / row.ours_us };
        groups.entry(group).or_default().push(number);
    }
    println!();
    for (group, mut numbers) in groups {
        numbers.sort_by(f64::total_cmp);
        let (least, middle, most) = (numbers[0], numbers[numbers.len() / 2], numbers[numbers.len() - 1]);
        if group == "plain" {
            println!("{group:<14}{least:.0} to {most:.0} ns longer, {middle:.0} in the middle");
        } else {
            let (slower, all) = (numbers.iter().filter(|ratio| **ratio < 0.98).count(), numbers.len());
            println!("{group:<14}{least:.2} to {most:.2} times as fast, {middle:.2} in the middle;");
            println!("{:<14}{slower} of {all} below 0.98", "");
        }
    }
}
