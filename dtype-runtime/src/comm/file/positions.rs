//! Calls at offsets of the file, of one rank or of all, and calls in the order of the ranks.

use super::{
    super::{Message, Place},
    handle::{File, Seen},
};
use crate::{
    Error, Result,
    mpi::{Usable, ready},
    transfer::{agreement::sums, sendable::sealed::Read},
};

impl File {
    /// Writes packed values at an offset (`MPI_File_write_at`).
    ///
    /// # Errors
    /// `File` if the file system has no files that long, if the call fails, or writes fewer bytes.
    pub fn write_at<M: Message + ?Sized>(&mut self, offset: u64, message: &M) -> Result {
        let mpi = &ready()?;
        let file = self.bytes()?;
        file.write(mpi, offset, &file.outgoing(&message.carried(false)?)?)
    }

    /// Writes packed values at an offset of each rank, together with the other ranks. Each rank makes its own
    /// call (`MPI_File_write_at`).
    ///
    /// # Errors
    /// The errors of [`write_at`](Self::write_at); `File` if another rank has an error.
    pub fn write_at_all<M: Message + ?Sized>(&mut self, offset: u64, message: &M) -> Result {
        let mpi = &ready()?;
        let written = self.write_at(offset, message);
        self.agreed(mpi, written)
    }

    /// Reads values at an offset (`MPI_File_read_at`).
    ///
    /// # Errors
    /// `File` if the call fails, or if the file ends before; `Value` if the file has invalid values, which
    /// leaves all values unchanged. After another error, some values may have been read.
    pub fn read_at<M: Place + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result {
        let mpi = &ready()?;
        self.bytes()?.read(mpi, offset, &mut into.incoming().sized()?)
    }

    /// Reads values at an offset of each rank, together with the other ranks. Each rank makes its own call
    /// (`MPI_File_read_at`).
    ///
    /// # Errors
    /// The errors of [`read_at`](Self::read_at); `File` if another rank has an error.
    pub fn read_at_all<M: Place + ?Sized>(&mut self, offset: u64, into: &mut M) -> Result {
        let mpi = &ready()?;
        let read = self.read_at(offset, into);
        self.agreed(mpi, read)
    }

    /// Writes packed values behind those of all lower ranks, at the end of what was written so before. All
    /// ranks must make this call, as that of `MPI_File_write_ordered`.
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all). The values of other ranks may have been written.
    pub fn append<M: Message + ?Sized>(&mut self, message: &M) -> Result {
        let mpi = &ready()?;
        let carried = message.carried(false);
        let own = carried.as_ref().map_err(Error::clone);
        let own = own.and_then(|message| self.bytes()?.outgoing(message));
        let own = self.agreed(mpi, own)?;
        let offset = self.take_turn(mpi, own.size)?;
        let written = self.bytes().and_then(|file| file.write(mpi, offset, &own));
        self.agreed(mpi, written)
    }

    /// Reads values behind those of all lower ranks, at the end of what was read or written so before. All
    /// ranks must make this call, as that of `MPI_File_read_ordered`.
    ///
    /// # Errors
    /// The errors of [`read_at_all`](Self::read_at_all).
    pub fn read_ordered<M: Place + ?Sized>(&mut self, into: &mut M) -> Result {
        let mpi = &ready()?;
        let own = self.bytes().and_then(Seen::reads).and_then(|()| into.incoming().sized());
        let mut into = self.agreed(mpi, own)?;
        let offset = self.take_turn(mpi, into.packed_size())?;
        let read = self.bytes().and_then(|file| file.read(mpi, offset, &mut into));
        self.agreed(mpi, read)
    }

    /// Sets the offset of the next call in the order of the ranks, as `MPI_File_seek_shared` does. All ranks
    /// must make this call, with the same offset.
    ///
    /// # Errors
    /// `File`, on all ranks, if the ranks have different offsets, or if no file has such an offset.
    pub fn seek_ordered(&mut self, offset: u64) -> Result {
        let mpi = &ready()?;
        self.same(mpi, self.place(offset, 0), offset, "offset")?;
        self.ordered = offset;
        Ok(())
    }

    /// Returns the offset of this rank's bytes in a call in the order of the ranks.
    fn take_turn(&mut self, mpi: &Usable, size: usize) -> Result<u64> {
        let [before, all] = sums(mpi, self.communicator(), size as u64)?;
        let offset = self.ordered.saturating_add(before);
        self.ordered = self.ordered.saturating_add(all);
        Ok(offset)
    }
}
