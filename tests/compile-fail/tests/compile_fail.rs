//! The errors that the macros report: each case in `ui/` stands beside its expected message.
//!
//! Most cases need no MPI, and run without the feature `mpi`. The topic `messages` needs it. After a change
//! of a message, run `TRYBUILD=overwrite cargo test -p dtype-compile-fail` with and without
//! `--no-default-features`, and read the difference. A brief run of `cargo xtask test` takes every tenth
//! case of most topics.

use std::{env, fs, path::PathBuf};

/// Returns the cases of a topic, in order.
fn cases(topic: &str) -> impl Iterator<Item = PathBuf> {
    let folder = PathBuf::from("ui").join(topic);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut all: Vec<_> = entries.map(|entry| entry.expect("an entry of the folder").path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    assert!(!all.is_empty(), "{}: no case", folder.display());
    all.sort();
    let step = if is_brief() { 10 } else { 1 };
    all.into_iter().step_by(step)
}

/// Returns `true` in a brief run of `cargo xtask test`. trybuild would compile `xtask`, which knows it, too.
fn is_brief() -> bool {
    env::var("DTYPE_BRIEF").is_ok_and(|value| value == "1")
}

#[test]
#[cfg(feature = "mpi")]
fn what_cannot_be_sent_or_received_says_why() {
    let tests = trybuild::TestCases::new();
    cases("messages").for_each(|case| tests.compile_fail(case));
}

#[test]
#[cfg(not(feature = "mpi"))]
fn every_refusal_names_the_place_the_reason_and_what_to_do() {
    let tests = trybuild::TestCases::new();
    let mut topics = vec!["fields", "enums", "items", "attributes", "dynamic", "received"];
    if !is_brief() {
        // Some cases of the last two topics fail only when code is generated. The cases that must compile
        // make trybuild generate it, for which it compiles all dependencies once more.
        cases("pass").for_each(|case| tests.pass(case));
        topics.extend(["changed", "layout"]);
    }
    for topic in topics {
        cases(topic).for_each(|case| tests.compile_fail(case));
    }
}
