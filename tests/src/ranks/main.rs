//! Runs one scenario of the multi-rank tests, by name: `mpiexec -n 4 ranks ring`.
//!
//! Every rank checks its own results and prints `ok` at the end. `tests/ranks.rs` starts the program and
//! reads the output of all ranks.

mod calls;
mod decode;
mod documents;
mod engine;
mod exchange;
mod files;
mod finalized;
mod guards;
mod halo;
mod inspect;
mod layouts;
mod lifecycle;
mod messages;
mod neighbours;
mod prepared;
mod random;
mod redistribution;
mod rest;
mod samples;
mod spy;
mod windows;
mod wires;

use dtype_tests::{run, with_world};
use wires::{host, hostile};

#[allow(clippy::too_many_lines, reason = "a table")]
fn main() {
    run(|name| match name {
        _ if name.starts_with("calls") => with_world(|world| calls::scenario(name, world)),
        "checked-run" => calls::hostile::checked(),
        "panics" => calls::hostile::panics(&std::env::args().nth(2).unwrap_or_default()),
        "ring" => with_world(exchange::ring),
        "equivalents" => with_world(exchange::equivalents),
        "sources" => with_world(layouts::sources),
        "ready-made" => with_world(|_| layouts::ready_made()),
        "several" => with_world(layouts::several),
        "random-layouts" => with_world(layouts::random),
        "long-layouts" => with_world(layouts::long),
        "skipped" => with_world(exchange::skipped),
        "collectives" => with_world(exchange::collectives),
        "views" => with_world(exchange::views),
        "inspect-types" => with_world(|_| inspect::types()),
        "inspect-layouts" => with_world(|_| inspect::layouts()),
        "large-counts" => with_world(|_| inspect::large_counts()),
        "large-constructors" => with_world(|_| inspect::large_constructors()),
        "built-wrongly" => with_world(|_| inspect::built_wrongly()),
        "decoded" => with_world(|_| decode::decoded()),
        "decoded-kept" => with_world(|_| decode::kept()),
        "cycles" => decode::cycles(),
        "engine" => with_world(|_| engine::engine()),
        "wires" => with_world(wires::round),
        "wires-views" => with_world(wires::views),
        "wires-complex" => with_world(wires::complex),
        "wires-misfits" => with_world(wires::misfits),
        "wires-collectives" => with_world(wires::collectives),
        "wires-counts" => with_world(wires::counts),
        "wires-even" => with_world(wires::even),
        "wires-large" => with_world(wires::large),
        "wires-beyond-counts" => with_world(wires::beyond_counts),
        "wires-beyond-4-gib" => with_world(wires::beyond_4_gib),
        "wires-threads" => wires::threads(),
        "matching" => with_world(wires::matching),
        "matching-threads" => wires::matching_of_threads(),
        "hostile-lengths" => with_world(hostile::lengths),
        "hostile-segments" => with_world(hostile::segments),
        "hostile-liars" => with_world(hostile::liars),
        "wires-nothing" => with_world(wires::nothing),
        "wires-checked" => with_world(wires::checked),
        "wires-parts" => with_world(wires::parts),
        "host-errors" => with_world(host::errors),
        "host-communicators" => with_world(host::communicators),
        "host-handlers" => with_world(host::own_handlers),
        "host-nobody" => with_world(host::nobody),
        "host-asked-again" => with_world(host::asked_again),
        "host-end" => host::after_the_end(),
        "host-thread" => host::one_thread(),
        "wires-blocks" => with_world(host::blocks),
        "wires-contiguous" => with_world(host::contiguous),
        "messages" => with_world(messages::point_to_point),
        "messages-values" => with_world(messages::values),
        "messages-large" => with_world(messages::large),
        "messages-collectives" => with_world(messages::collectives),
        "documents" => with_world(documents::documents),
        "halo" => with_world(halo::exchanges),
        "halo-faults" => with_world(halo::faults),
        "halo-sources" => with_world(halo::sources),
        "alltoallw" => with_world(rest::alltoallw),
        "reduce" => with_world(rest::reduce),
        "one-sided" => with_world(rest::one_sided),
        "file" => with_world(rest::file),
        "external-file" => with_world(rest::external_file),
        "largest-and-where" => with_world(rest::largest_and_where),
        "neighbours" => with_world(neighbours::neighbours),
        "each" => with_world(neighbours::each),
        "prepared" => with_world(prepared::prepared),
        "reductions" => with_world(prepared::reductions),
        "windows" => with_world(windows::windows),
        "random-windows" => with_world(random::windows),
        "random-halos" => with_world(random::halos),
        "random-views" => with_world(random::views),
        "random-reductions" => with_world(random::reductions),
        "random-prepared" => with_world(random::prepared),
        "random-redistributions" => with_world(random::redistributions),
        "files" => with_world(files::files),
        "files-random" => with_world(files::random::programs),
        "files-forgotten" => with_world(files::faults::forgotten),
        "files-bytes" => with_world(files::faults::elements_as_bytes),
        "files-meanwhile" => with_world(files::meanwhile::meanwhile),
        "files-end" => files::faults::after_the_end(),
        "files-far" => with_world(files::faults::far),
        "files-blocks" => with_world(files::faults::many_blocks),
        "files-opened" => with_world(files::faults::opened_by_some),
        "files-alone" => with_world(files::faults::of_one_rank),
        "redistribution" => with_world(redistribution::redistributions),
        "redistribution-rest" => with_world(redistribution::rest),
        "neighbourhood" => with_world(rest::neighbourhood),
        "between-groups" => with_world(rest::between_groups),
        "threads" => lifecycle::threads(),
        "outlived" => with_world(lifecycle::outlived),
        "guards" => with_world(guards::orders),
        "guards-beyond-the-end" => guards::beyond_the_end(),
        "finalized-names" => finalized::names(),
        "finalized-within" => finalized::within(),
        "before-and-after" => lifecycle::before_and_after(),
        "session" => lifecycle::session(),
        "freed" => lifecycle::freed(),
        "leak" => with_world(|_| lifecycle::leak()),
        _ => panic!("no scenario `{name}`"),
    });
}
