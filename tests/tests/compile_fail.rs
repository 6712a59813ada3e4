//! What the macros refuse, and in which words: each case beside its message in `ui/`.
//!
//! They need no MPI, and are run without it. After a change of a message: `TRYBUILD=overwrite cargo test -p dtype-tests
//! --no-default-features`, and read the difference.
#![cfg(not(feature = "mpi"))]

#[test]
fn every_refusal_names_the_place_the_reason_and_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    for topic in ["fields", "enums", "items", "attributes", "layout", "received"] {
        cases.compile_fail(format!("ui/{topic}/*.rs"));
    }
}
