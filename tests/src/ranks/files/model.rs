//! The bytes that a file must have.

use super::cells::Cell;

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub bytes: Vec<u8>,
    /// `true` for the bytes that a rank has written. The others have any value: MPICH fills holes with bytes
    /// of its memory.
    is_written: Vec<bool>,
}

impl Model {
    pub fn set_size(&mut self, size: usize) {
        self.bytes.resize(size, 0);
        self.is_written.resize(size, false);
    }

    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.set_size(self.bytes.len().max(at + bytes.len()));
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self.is_written[at..at + bytes.len()].fill(true);
    }

    /// Returns the element at an offset, if there is one.
    pub fn read<T: Cell>(&self, at: usize) -> Option<T> {
        T::of_bytes(self.bytes.get(at..at + T::SIZE)?)
    }

    /// Compares the bytes that were written with those that the file has, and takes the others from there.
    pub fn compare(&mut self, found: &[u8]) {
        assert_eq!(found.len(), self.bytes.len(), "the size of the file");
        for (i, byte) in found.iter().enumerate() {
            assert!(!self.is_written[i] || *byte == self.bytes[i], "byte {i}: {byte}, not {}", self.bytes[i]);
        }
        self.bytes.copy_from_slice(found);
    }

    /// Takes the bytes that the file has, of which each is one of this model or of another one.
    pub fn either(&mut self, other: &Self, found: &[u8]) {
        assert!([self.bytes.len(), other.bytes.len()].iter().any(|size| found.len() <= *size));
        for (i, byte) in found.iter().enumerate() {
            let is_of = |model: &Self| match model.is_written.get(i) {
                Some(true) => model.bytes[i] == *byte,
                _ => true,
            };
            assert!(is_of(self) || is_of(other), "byte {i}: {byte}, neither old nor new");
        }
        let is_written = |i| self.is_written.get(i) == Some(&true) && other.is_written.get(i) == Some(&true);
        self.is_written = (0..found.len()).map(is_written).collect();
        self.bytes = found.to_vec();
    }
}
