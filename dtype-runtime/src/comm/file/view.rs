//! Views of a file: the elements that a layout selects, again and again.

use std::marker::PhantomData;

use super::{
    super::{Message, Place},
    handle::{File, Viewed},
    selection::Selection,
};
use crate::{
    Error, Layout, MpiDatatype, Result, layout::WholeElements, mpi::ready, transfer::sendable::sealed::Read,
};

impl File {
    /// Returns a view of the file: the elements that a layout selects in an array from the offset on, in the
    /// next array behind it, and so on without end (`MPI_File_set_view`). All ranks must make this call, each
    /// with a layout of its own. The layout must select elements in ascending order.
    ///
    /// ```no_run
    /// use dtype_runtime::{Result, layout, run};
    ///
    /// fn main() {
    ///     run(|world| -> Result {
    ///         let (rank, ranks) = (world.rank(), world.size());
    ///         // Numbers go to the ranks in turn: one to each.
    ///         let mut file = world.create("numbers.bin")?;
    ///         let mut view = file.view(0, &layout!(u64[ranks] => [rank])?)?;
    ///         view.write_at_all(0, &[rank as u64; 100])
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    /// `Argument` if the layout does not ascend, or has more than 2²⁷ contiguous blocks in an array, because
    /// MPI libraries list them; `File` if the file system has no files that long, if the call fails, or if
    /// another rank has an error.
    pub fn view<L>(&mut self, offset: u64, layout: &L) -> Result<FileView<'_, L::Element>>
    where
        L: Layout<Selects: WholeElements>,
    {
        let mpi = &ready()?;
        let own = Selection::of(layout).and_then(|selection| {
            let (tile, elements) = (selection.extent(), layout.count() as u64);
            let at = self.place(offset, tile as usize)?;
            Ok((Tiles { offset, tile, elements }, selection.datatype()?, at))
        });
        let (tiles, datatype, at) = self.agreed(mpi, own)?;
        let mut viewed = Viewed { file: self };
        viewed.set(mpi, at, &datatype)?;
        Ok(FileView { viewed, tiles, elements: PhantomData })
    }
}

/// A view of a file: see [`File::view`]. Positions are elements of the view. All ranks must drop it: then the
/// file has the view of all bytes again.
pub struct FileView<'f, T> {
    viewed: Viewed<'f>,
    tiles: Tiles,
    elements: PhantomData<T>,
}

/// The arrays of a view, one behind the other.
struct Tiles {
    /// The offset of the first array in the file.
    offset: u64,
    /// The number of bytes of an array.
    tile: u64,
    /// The number of elements of an array that are in the view.
    elements: u64,
}

impl<T: MpiDatatype> FileView<'_, T> {
    /// Writes values at a position, together with the other ranks (`MPI_File_write_at_all`).
    ///
    /// # Errors
    /// `Type` if the values have other types than the elements; `File` if the view has no elements but there
    /// are values, if the call fails, or writes fewer bytes.
    pub fn write_at_all<M: Message + ?Sized>(&mut self, position: u64, message: &M) -> Result {
        let mpi = &ready()?;
        let file = self.viewed.bytes();
        let carried = message.carried(false);
        let own = carried.as_ref().map_err(Error::clone);
        let own = own.and_then(|message| Ok((self.place(position, message)?, file.outgoing(message)?)));
        file.file.agreed(mpi, file.write_all(mpi, own))
    }

    /// Writes values at a position (`MPI_File_write_at`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all).
    pub fn write_at<M: Message + ?Sized>(&mut self, position: u64, message: &M) -> Result {
        let mpi = &ready()?;
        let (file, message) = (self.viewed.bytes(), &message.carried(false)?);
        file.write(mpi, self.place(position, message)?, &file.outgoing(message)?)
    }

    /// Reads values at a position, together with the other ranks (`MPI_File_read_at_all`).
    ///
    /// # Errors
    /// The errors of [`write_at_all`](Self::write_at_all); `File` if the file ends before; `Value` if the
    /// file has invalid values, which leaves all values unchanged. After another error, some values may have
    /// been read.
    pub fn read_at_all<M: Place + ?Sized>(&mut self, position: u64, into: &mut M) -> Result {
        let mpi = &ready()?;
        let file = self.viewed.bytes();
        let own = into.incoming().sized();
        let own = own.and_then(|into| Ok((self.place(position, &into)?, into)));
        let read = file.read_all(mpi, own);
        file.file.agreed(mpi, read)
    }

    /// Reads values at a position (`MPI_File_read_at`).
    ///
    /// # Errors
    /// The errors of [`read_at_all`](Self::read_at_all).
    pub fn read_at<M: Place + ?Sized>(&mut self, position: u64, into: &mut M) -> Result {
        let mpi = &ready()?;
        let (file, into) = (self.viewed.bytes(), &mut into.incoming().sized()?);
        let offset = self.place(position, into)?;
        file.holds(mpi, offset, into.packed_size())?;
        file.read(mpi, offset, into)
    }

    /// Returns the offset of a position in bytes of the view, and checks that values fit there.
    fn place<M: Read + ?Sized>(&self, position: u64, message: &M) -> Result<u64> {
        // The elements are in the file as they travel on wires: the padding of some types travels, too.
        let elements: &[T] = &[];
        message.plan().same_signature(&elements.carried(false)?.plan(), message.packed_size())?;
        let (size, element) = (message.packed_size() as u64, T::FACTS.wire_size.max(1) as u64);
        let (file, Tiles { offset, tile, elements }) = (&*self.viewed.file, &self.tiles);
        if size > 0 && *elements == 0 {
            return Err(file.refused("this rank sees nothing in the view"));
        }
        // The arrays up to the last element.
        let tiles = position.saturating_add(size / element).div_ceil((*elements).max(1));
        file.place(tiles.saturating_mul(*tile).saturating_add(*offset), 0)?;
        file.place(position.saturating_mul(element).saturating_add(size), 0)?;
        Ok(position * element)
    }
}

debug!([T] FileView<'_, T>, |view| file: view.viewed.file);
