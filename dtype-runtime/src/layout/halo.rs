//! Halos: the ghost cells around the cells of a process, and the parts of them that neighbours exchange.

use std::ops::Range;

use dtype_core::ArrayOrder;

use super::{
    dynamic::DynamicLayout,
    shapes::{consecutive, one, refused},
};
use crate::{Error, types::MpiDatatype};

/// The local array of a process that computes a box of a grid: its own cells, with ghost cells around them.
/// Ghost cells are copies of the neighbours' cells. All processes must have the same widths, or exchanges
/// fail or wait for ever. Their arrays may have different sizes.
///
/// With MPI, `grid.halo(halo)` prepares exchanges on a Cartesian communicator. Their calls `exchange` and
/// `start` fill all ghost cells of an array. Without MPI, a halo has the parts to send to each neighbour and
/// to receive from it:
///
/// ```
/// use dtype_runtime::layout::Halo;
///
/// // 4 × 4 cells of this process, and one layer of ghost cells.
/// let halo = Halo::new([6, 6], 1);
/// assert_eq!(halo.parts::<f64>()?.len(), 8); // four faces and four corners
/// assert_eq!(halo.faces().parts::<f64>()?.len(), 4);
///
/// let up = halo.part::<f64>([-1, 0])?;
/// assert_eq!(up.send.type_map().unwrap().to_string(), "4 × f64 @ 0 stride 8");
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Halo<const D: usize> {
    /// The lengths of the local array's dimensions, ghost cells included.
    pub sizes: [usize; D],
    /// The number of layers of ghost cells below and above the own cells, in each dimension.
    pub widths: [[usize; 2]; D],
    /// The neighbours that exchange cells.
    pub neighbours: Neighbours,
    /// The order of the array's elements in memory.
    pub order: ArrayOrder,
}

/// The neighbours with which a process exchanges cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// The neighbours across faces: two in each dimension. A stencil without diagonals needs no others.
    Faces,
    /// All neighbours: across faces, edges and corners.
    All,
}

/// The exchange with one neighbour.
#[derive(Clone, Debug)]
pub struct HaloPart<T, const D: usize> {
    /// The direction of the neighbour: -1, 0 or 1 in each dimension. With one number other than 0, the
    /// neighbour is across a face; with two, across an edge (in two dimensions, a corner); with three, across
    /// a corner.
    pub direction: [i32; D],
    /// The cells of this process next to that neighbour. They become the neighbour's ghost cells.
    pub send: DynamicLayout<T, D>,
    /// The ghost cells that belong to that neighbour. They receive the cells that the neighbour sends in the
    /// opposite direction.
    pub receive: DynamicLayout<T, D>,
}

impl<const D: usize> Halo<D> {
    /// Returns a halo of `width` layers on all sides, of an array in row-major order, with all neighbours.
    /// `sizes` are the lengths of the array's dimensions, ghost cells included.
    pub const fn new(sizes: [usize; D], width: usize) -> Self {
        Self { sizes, widths: [[width; 2]; D], neighbours: Neighbours::All, order: ArrayOrder::RowMajor }
    }

    /// Returns the same halo without edges and corners.
    #[must_use]
    pub const fn faces(self) -> Self {
        Self { neighbours: Neighbours::Faces, ..self }
    }

    /// Returns the same halo with these numbers of layers below and above the own cells, in each dimension.
    ///
    /// ```
    /// use dtype_runtime::layout::Halo;
    ///
    /// // An upwind scheme needs two layers below and none above.
    /// let halo = Halo::new([12], 0).widths([[2, 0]]);
    /// let (below, above) = (halo.part::<f64>([-1])?, halo.part::<f64>([1])?);
    /// assert_eq!((below.receive.count(), below.send.count()), (2, 0));
    /// assert_eq!((above.receive.count(), above.send.count()), (0, 2));
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    #[must_use]
    pub const fn widths(self, widths: [[usize; 2]; D]) -> Self {
        Self { widths, ..self }
    }

    /// Returns the same halo of an array in column-major order.
    #[must_use]
    pub const fn column_major(self) -> Self {
        Self { order: ArrayOrder::ColumnMajor, ..self }
    }

    /// Returns the indices of the cells that belong to this process.
    pub fn own(&self) -> [Range<usize>; D] {
        std::array::from_fn(|k| {
            let [below, above] = self.widths[k];
            let start = below.min(self.sizes[k]);
            start..self.sizes[k].saturating_sub(above).max(start)
        })
    }

    /// Returns the indices of the own cells that no neighbour needs. They are in no part that is sent.
    pub fn interior(&self) -> [Range<usize>; D] {
        let mut interior = self.own();
        for (Range { start, end }, [below, above]) in interior.iter_mut().zip(self.widths) {
            *start = start.saturating_add(above);
            *end = end.saturating_sub(below).max(*start);
        }
        interior
    }

    /// Returns the exchanges with the neighbours, in lexicographic order of their directions. Neighbours
    /// without cells to send or to receive are left out. If all widths are equal, parts `i` and `len - 1 - i`
    /// have opposite directions: cells that a process sends in the one are received by its neighbour in the
    /// other.
    ///
    /// # Errors
    /// `Argument` if a dimension is too short for the widths, or if no memory can hold the array.
    pub fn parts<T: MpiDatatype>(&self) -> Result<Vec<HaloPart<T, D>>, Error> {
        let below = (0..D).map(|k| face(k, -1));
        let faces = below.chain((0..D).rev().map(|k| face(k, 1)));
        let all = (0..3usize.saturating_pow(D as u32)).map(direction).filter(|all| *all != [0; D]);
        let parts: Result<Vec<_>, _> = match self.neighbours {
            Neighbours::Faces => faces.map(|direction| self.part(direction)).collect(),
            Neighbours::All => all.map(|direction| self.part(direction)).collect(),
        };
        let mut parts = parts?;
        parts.retain(|part| part.send.count() > 0 || part.receive.count() > 0);
        Ok(parts)
    }

    /// Returns the exchange with the neighbour in `direction`: -1, 0 or 1 in each dimension.
    ///
    /// # Errors
    /// The errors of [`parts`](Self::parts); `Argument` for any other number in `direction`.
    pub fn part<T: MpiDatatype>(&self, direction: [i32; D]) -> Result<HaloPart<T, D>, Error> {
        for (k, (length, [below, above])) in self.sizes.into_iter().zip(self.widths).enumerate() {
            let least = below.max(above).saturating_add(below).saturating_add(above);
            if length < least {
                let requirement = format!(
                    "{least} or more: it has {below} and {above} layers of ghost cells, and as many own \
                     cells as the wider of them"
                );
                return Err(refused("Halo", format!("sizes[{k}]"), length, requirement));
            }
            if !(-1..=1).contains(&direction[k]) {
                return Err(refused("Halo", format!("direction[{k}]"), direction[k], "-1, 0 or 1"));
            }
        }
        let own = self.own();
        // The neighbour below has ghost cells above its own cells, as many as this process has above.
        let send = one(self.sizes, self.order, |k| match (direction[k], self.widths[k]) {
            (0, _) => consecutive(own[k].start, own[k].len()),
            (-1, [_, above]) => consecutive(own[k].start, above),
            (_, [below, _]) => consecutive(own[k].end - below, below),
        })?;
        let receive = one(self.sizes, self.order, |k| match (direction[k], self.widths[k]) {
            (0, _) => consecutive(own[k].start, own[k].len()),
            (-1, [below, _]) => consecutive(0, below),
            (_, [_, above]) => consecutive(own[k].end, above),
        })?;
        Ok(HaloPart { direction, send, receive })
    }
}

/// Returns the direction across a face: one step along dimension `k`.
fn face<const D: usize>(k: usize, step: i32) -> [i32; D] {
    std::array::from_fn(|i| if i == k { step } else { 0 })
}

/// Returns the direction with this number: its steps are the digits to the base 3, less 1.
fn direction<const D: usize>(mut number: usize) -> [i32; D] {
    let mut direction = [0; D];
    for step in direction.iter_mut().rev() {
        *step = (number % 3) as i32 - 1;
        number /= 3;
    }
    direction
}

/// Returns the number of a direction.
#[cfg(feature = "mpi")]
pub(crate) fn number_of<const D: usize>(direction: [i32; D]) -> i32 {
    direction.iter().fold(0, |number, step| 3 * number + step + 1)
}
