//! What the macros refuse, and in which words: each case beside its message in `ui/`.
//!
//! Most need no MPI, and are run without it; those of messages need it. After a change of a message:
//! `TRYBUILD=overwrite cargo test -p dtype-tests --test compile_fail`, with `--no-default-features` and
//! without, and read the difference.

#[test]
#[cfg(feature = "mpi")]
fn what_cannot_be_sent_or_received_says_why() {
    trybuild::TestCases::new().compile_fail("ui/messages/*.rs");
}

#[test]
#[cfg(not(feature = "mpi"))]
fn every_refusal_names_the_place_the_reason_and_what_to_do() {
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    for topic in ["fields", "enums", "items", "attributes", "changed", "layout", "received"] {
        cases.compile_fail(format!("ui/{topic}/*.rs"));
    }
}
