//! Sends a slice of structs over a link that reorders, loses, repeats and damages messages. The values are
//! packed in MPI's external32, in small segments with a checksum each; most segments end within a number. The
//! example needs no MPI.

use dtype_runtime::{
    Error, MpiDatatype,
    pack::{Error as PackError, Representation, data_of, data_of_mut},
};

#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    sensor: u16,
    value: f64,
    valid: bool,
}

/// A segment: its position in the packed bytes, its bytes, and their checksum.
type Segment = (usize, Vec<u8>, u32);

fn main() -> Result<(), Error> {
    let readings: Vec<_> =
        (0..100u16).map(|i| Reading { sensor: i, value: f64::from(i) / 8.0, valid: i % 7 != 0 }).collect();

    let mut packer =
        data_of(&readings).packer().with_representation(Representation::External32)?.with_checksum();
    let mut segments: Vec<Segment> = Vec::new();
    loop {
        let position = packer.position();
        packer.set_position(position)?; // begins another checksum
        let mut segment = vec![0; 37];
        let size = packer.pack(&mut segment);
        if size == 0 {
            break;
        }
        segment.truncate(size);
        segments.push((position, segment, packer.checksum().unwrap_or_default()));
    }

    let mut copies = vec![Reading::default(); readings.len()];
    let mut unpacker = data_of_mut(&mut copies).unpacker().with_representation(Representation::External32)?;
    for (position, segment, checksum) in unreliable(&segments) {
        match unpacker.unpack_checked(position, &segment, checksum) {
            Ok(()) => {}
            Err(error @ PackError::Checksum { .. }) => println!("bytes {position}..: {error}"),
            Err(error) => return Err(error.into()),
        }
    }
    let missing: Vec<_> = unpacker.missing().collect();
    println!("missing, and sent again: {missing:?}");
    for (position, segment, checksum) in &segments {
        if missing.iter().any(|range| range.contains(position)) {
            unpacker.unpack_checked(*position, segment, *checksum)?;
        }
    }
    assert!(unpacker.is_complete());
    assert_eq!(copies, readings);
    println!("{} readings have arrived in {} segments", copies.len(), segments.len());
    Ok(())
}

/// Returns the segments in reverse order: some twice, one missing, one damaged.
fn unreliable(segments: &[Segment]) -> Vec<Segment> {
    let mut arriving = Vec::new();
    for (i, segment) in segments.iter().enumerate().rev() {
        let (position, mut bytes, checksum) = segment.clone();
        if i == 5 {
            continue;
        }
        if i == 11 {
            bytes[20] ^= 0x10;
        }
        arriving.push((position, bytes, checksum));
        if i % 4 == 0 {
            arriving.push(segment.clone());
        }
    }
    arriving
}
