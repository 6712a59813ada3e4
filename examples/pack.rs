//! Packs structs and parts of arrays to bytes and unpacks them again, without MPI.
//!
//! Run it with `cargo run -p dtype-examples --no-default-features --bin pack`.

use dtype_runtime::{Error, MpiDatatype, layout, pack, unpack_into};

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    sensor: u16,
    value: f64,
    valid: bool,
}

fn main() -> Result<(), Error> {
    let readings = [Reading { sensor: 4, value: 0.25, valid: true }; 3];
    let mut bytes = pack(&readings);
    assert_eq!(bytes.len(), 3 * (2 + 8 + 1)); // no padding

    let mut copy = [Reading::default(); 3];
    unpack_into(&bytes, &mut copy)?;
    assert_eq!(copy, readings);

    // A byte that is not a valid `bool` is an error, and nothing is written.
    bytes[10] = 7;
    let error = unpack_into(&bytes, &mut copy).expect_err("7 is no bool");
    println!("{error}");

    let mut board = [[b'.'; 8]; 8];
    let inner = layout!(u8[8][8] => [2..6, 1..7;2]);
    inner.of_mut(&mut board).unpack(&[b'#'; 12])?;
    for row in &board {
        println!("{}", String::from_utf8_lossy(row));
    }
    Ok(())
}
