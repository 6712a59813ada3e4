//! Fuzzes the unpacker with arbitrary bytes as segments of packed data, in any order, for any layout. No byte
//! outside the layout may be written, no value may become invalid, and the reported gaps must match
//! `is_complete`.
#![no_main]

mod reader;

use dtype_runtime::pack::{data_of_mut};
use dtype_runtime::{
    MpiDatatype,
    pack::{Data, DataMut, Plan, Representation, Unpacker},
};
use libfuzzer_sys::fuzz_target;
use reader::Reader;

/// The number of bytes of memory on either side of displacement 0. Layouts that reach further are rejected.
const REACH: usize = 1 << 12;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader(bytes);
    let tree = reader.tree(4);
    let representation = match reader.byte() % 3 {
        0 => Representation::Native,
        1 => Representation::LittleEndian,
        _ => Representation::BigEndian,
    };
    let count = usize::from(reader.byte() % 4);
    if let Ok(plan) = Plan::new(&tree) {
        let mut memory = vec![0xA5; 2 * REACH];
        let Ok(data) = DataMut::new(&plan, count, &mut memory, REACH) else { return };
        // An extreme count at a single displacement packs to more bytes than any memory holds.
        if data.packed_size() <= 1 << 16 {
            let mut layout = vec![false; 2 * REACH];
            for block in data.as_data().flatten(0..data.packed_size()).unwrap() {
                layout[REACH.strict_add_signed(block.offset)..][..block.size].fill(true);
            }
            segments(data.unpacker().with_representation(representation).unwrap(), &mut reader);
            assert!(memory.iter().zip(layout).all(|(byte, named)| named || *byte == 0xA5));
            let data = Data::new(&plan, count, &memory, REACH).unwrap();
            assert_eq!(data.pack().len(), data.packed_size());
        }
    }
    let mut values = [(0u8, 'x', [true; 3], 1u16, false); 4];
    let unpacker = data_of_mut(&mut values).unpacker().with_representation(representation).unwrap();
    segments(unpacker.with_checksum(), &mut reader);
    MpiDatatype::validate_slice(&values).unwrap();
});

/// Unpacks up to 15 segments.
fn segments(mut unpacker: Unpacker<'_>, reader: &mut Reader<'_>) {
    for _ in 0..reader.byte() % 16 {
        let position = usize::from(reader.byte()) * usize::from(1 + reader.byte() % 3);
        let segment = reader.list(Reader::byte);
        let _ = unpacker.unpack(position, &segment);
    }
    assert_eq!(unpacker.is_complete(), unpacker.missing().next().is_none());
}
