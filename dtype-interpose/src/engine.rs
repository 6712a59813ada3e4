//! How messages of a datatype are packed: its plan, and the datatype of its packed bytes.

use std::os::raw::c_void;

use dtype_runtime::{
    decode::{Decoded, build},
    dtype_core::{BaseType, Bounds, TypeTree},
    layout::LayoutDatatype,
    pack::Plan,
};
use mpi::{
    datatype::DatatypeRef,
    ffi::{MPI_Comm, MPI_Datatype},
    raw::{AsRaw, FromRaw},
};

use crate::{
    gap::Gap,
    gate::{Gate, base_of},
    peers,
};

/// Whether the library takes a struct without gaps for one block. MPICH 4 and 5 copy it value by value.
const JOINS_STRUCTS: bool = cfg!(open_mpi);

/// Whether the library may write a message that is too long behind a buffer without gaps. With the standard's
/// ABI it may be any.
const WRITES_TOO_MUCH: bool = cfg!(any(open_mpi, standard_abi));

/// A datatype whose messages may go packed.
pub(crate) struct Engine {
    plan: Plan,
    /// Packed bytes of one.
    size: usize,
    /// Which messages go packed; and which are received so. Why none are, if that is by the layout.
    gates: [Gate; 2],
    reason: Option<String>,
    /// What `MPI_Pack` and `MPI_Unpack` leave to the plan.
    packing: Gate,
    /// What is moved so to and from windows, where it has gaps there, and where it has none.
    windows: [Gate; 2],
    /// The datatype of the packed bytes of one.
    packed: LayoutDatatype,
    /// Whether that is `MPI_PACKED`, for ranks that all do so, instead of the same base types without gaps,
    /// which match whatever the datatype itself does.
    for_peers: bool,
    gap: Option<Gap>,
    /// The least displacement of a byte.
    lowest: i64,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Engine {}
// SAFETY: a handle names an object of the process; everything else is only read.
unsafe impl Sync for Engine {}

impl Engine {
    /// Takes a committed datatype apart.
    ///
    /// # Errors
    /// Why all of it stays as it is.
    pub fn of(datatype: MPI_Datatype) -> Result<Self, String> {
        Self::found(datatype).map_err(|error| error.to_string())?
    }

    fn found(datatype: MPI_Datatype) -> Result<Result<Self, String>, dtype_runtime::Error> {
        // SAFETY: whoever sends a datatype keeps it for the time of the call.
        let decoded = Decoded::of(&unsafe { DatatypeRef::from_raw(datatype) })?;
        let (plan, tree) = (decoded.plan()?, decoded.tree());
        let (size, lowest) = (plan.packed_size(), tree.measure()?.lower_bound);
        let for_peers = base_of(tree).is_none() && !JOINS_STRUCTS;
        let [sent, received] = if for_peers {
            [false, true].map(|is_received| Gate::of_signature(tree, is_received))
        } else {
            let both = Gate::of_layout(tree, &plan);
            [both.clone(), both]
        };
        let packing = Gate::of_packing(tree, &plan);
        let (gates, reason) = match (sent, received) {
            (Ok(sent), Ok(received)) => ([sent, received], None),
            (_, Err(reason)) if packing == Gate::NONE => return Ok(Err(reason)),
            (_, Err(reason)) => ([Gate::NONE; 2], Some(reason)),
            (Err(_), Ok(received)) => ([Gate::NONE, received], None),
        };
        // What all ranks agree on is messages.
        let windows = [false, true].map(|is_contiguous| {
            if for_peers { Gate::NONE } else { Gate::of_window(tree, &plan, is_contiguous) }
        });
        let gapless = if for_peers {
            TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Packed))
        } else {
            tree.gapless()?
        };
        let packed = build(gapless.clone(), Bounds::of_extent(size as i64))?;
        let gap = WRITES_TOO_MUCH.then(|| Gap::of(&gapless, &packed)).transpose()?;
        Ok(Ok(Self { plan, size, gates, reason, packing, windows, packed, for_peers, gap, lowest }))
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Packed bytes of one.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether its packed bytes are for ranks that all send them so.
    pub fn is_for_peers(&self) -> bool {
        self.for_peers
    }

    /// Whether it may lie at this address. From a null pointer on displacements are addresses (`MPI_BOTTOM`,
    /// MPI 4.1 section 5.1.12), or the library has to say that the buffer is wrong.
    pub fn may_lie_at(&self, address: *const c_void) -> bool {
        /// Nothing is in the first pages of memory.
        const LEAST_ADDRESS: i64 = 1 << 16;
        !address.is_null() || self.lowest >= LEAST_ADDRESS
    }

    /// Which messages may go packed: those that are received so, and sent ones are among these.
    #[inline]
    pub fn gate(&self) -> Gate {
        self.gates[1]
    }

    /// Why no messages go packed, if that is by the layout.
    pub fn reason(&self) -> Option<&String> {
        self.reason.as_ref()
    }

    /// Returns the gate of `MPI_Pack` and `MPI_Unpack`: the sizes that the plan packs instead of the library.
    pub fn packing(&self) -> Gate {
        self.packing
    }

    /// The datatype of the packed bytes of one where `count` are sent on a communicator, if they go packed.
    pub fn sent(&self, count: usize, communicator: MPI_Comm) -> Option<MPI_Datatype> {
        let goes = self.sends(count) && (!self.for_peers || peers::all(communicator));
        goes.then(|| self.packed.as_raw())
    }

    /// Returns `true` if `count` are sent packed where all ranks have preloaded this library.
    pub fn sends(&self, count: usize) -> bool {
        count.checked_mul(self.size).is_some_and(|bytes| self.gates[0].takes(bytes))
    }

    /// The datatype that the packed bytes of one are received as where there is room for `count`, if it is
    /// worth while. `MPI_PACKED` matches whatever is sent.
    pub fn received(&self, count: usize) -> Option<MPI_Datatype> {
        self.gates[1].takes(count.checked_mul(self.size)?).then(|| self.packed.as_raw())
    }

    /// The datatype of the packed bytes of one where so many bytes are put into a window of another rank, or
    /// got from it, where they are contiguous or not; if that is worth while.
    pub fn moved(&self, bytes: usize, is_contiguous: bool) -> Option<MPI_Datatype> {
        self.windows[usize::from(is_contiguous)].takes(bytes).then(|| self.packed.as_raw())
    }

    /// How messages are received where the library may write behind a buffer.
    pub fn gap(&self) -> Option<&Gap> {
        self.gap.as_ref()
    }
}
