//! The command as users run it, for the tests of this crate.

#![allow(dead_code)] // each test uses a part

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Runs `dtype` with `input` on standard input. Returns the exit code, standard output and standard error.
pub fn dtype(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dtype"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Checks the answer of `dtype flatten --format text` for a description.
pub fn flattens(more: &[&str], input: &str, expected: &str) {
    let (code, answer, error) = dtype(&[&["flatten", "--format", "text"], more].concat(), input);
    assert_eq!((code, answer.trim_end(), error.as_str()), (0, expected, ""), "{input}");
}

/// Checks that `dtype flatten` refuses a description, with a message that contains `expected` and no answer.
pub fn is_refused(more: &[&str], input: &str, expected: &str) {
    let (code, output, message) = dtype(&[&["flatten"], more].concat(), input);
    assert_eq!((code, output.as_str()), (2, ""), "{input}");
    assert!(
        message.starts_with("dtype: standard input: ") && message.contains(expected),
        "{input}: {message}"
    );
}
