//! The engine of a datatype: its plan, the datatype of its packed elements, and the policies for its
//! messages.

use std::{
    fmt,
    os::raw::c_void,
    sync::atomic::{AtomicUsize, Ordering},
};

use dtype_core::{BaseType, Bounds, TypeTree};
use dtype_engine::Plan;
use dtype_mpi::{Committed, Decoded, running};
use mpi::{datatype::DatatypeRef, raw::FromRaw};

use crate::{
    doubts,
    native::{MPI_Comm, MPI_Datatype},
    peers,
    policy::{Policy, base_of, base_that, has_long_runs, must_be_whole},
    truncation_guard::TruncationGuard,
    verify::Original,
};

/// The engine of a datatype whose messages or packing calls may be packed by a plan.
pub(crate) struct Engine {
    plan: Plan,
    /// The packed size of one element in bytes.
    size: usize,
    /// The policy for sent messages, and the policy for received ones.
    policies: [Policy; 2],
    /// The policy for collective calls, which also need to be admitted as messages.
    collectives: Policy,
    /// The reason why messages of this layout are never packed, or `None` if some sizes are packed.
    reason: Option<String>,
    /// The policy for `MPI_Pack` and `MPI_Unpack`.
    packing: Policy,
    /// The policies for one-sided calls: for targets with gaps, and for contiguous targets.
    windows: [Policy; 2],
    /// The datatype of one packed element.
    packed: Committed,
    /// `true` if `packed` consists of `MPI_PACKED`, which is sent only if all ranks are peers. Otherwise
    /// `packed` consists of the same base types without gaps, which match whatever the original datatype
    /// matches.
    for_peers: bool,
    /// The truncation guard, if the library needs one.
    gap: Option<TruncationGuard>,
    /// The least displacement of a byte.
    lowest: i64,
    /// The datatype for the MPI library, if messages are verified.
    original: Option<Original>,
    _live: Live,
}

// SAFETY: an MPI handle names an object of the process, not of a thread (MPI 4.1 section 2.5.1).
unsafe impl Send for Engine {}
// SAFETY: a handle names an object of the process; all other fields are only read.
unsafe impl Sync for Engine {}

impl Engine {
    /// Returns the number of engines that live.
    pub fn live() -> usize {
        LIVE.load(Ordering::Relaxed)
    }

    /// Decodes and plans a committed datatype.
    ///
    /// # Errors
    /// The reason why neither messages nor packing calls of the datatype are packed by a plan.
    pub fn of(datatype: MPI_Datatype) -> Result<Box<Self>, String> {
        // SAFETY: promises 1 and 2: a datatype that the program passes to a call is live until the call
        // returns.
        let decoded = Decoded::of(&unsafe { DatatypeRef::from_raw(datatype.into()) }).map_err(text)?;
        let tree = &decoded.tree;
        let extent = isize::try_from(decoded.bounds.extent).map_err(text)?;
        let plan = Plan::new(tree).map_err(text)?.resized(extent);
        if let Some(base) = base_that(tree, must_be_whole) {
            return Err(format!("values of {base}, which the library cannot receive cut in two"));
        }
        let (size, lowest) = (plan.packed_size(), tree.measure().map_err(text)?.lower_bound);
        let is_mixed = base_of(tree).is_none();
        let for_peers = is_mixed && !running().joins_structs && !has_long_runs(tree, &plan);
        let [sent, received] = if for_peers {
            [false, true].map(|is_received| Policy::of_signature(tree, is_received))
        } else {
            let both = Policy::of_layout(tree, &plan);
            [both.clone(), both]
        };
        let packing = Policy::of_packing(tree, &plan);
        let (policies, reason) = match (sent, received) {
            (Ok(sent), Ok(received)) => ([sent, received], None),
            (_, Err(reason)) if packing == Policy::NONE => return Err(reason),
            (_, Err(reason)) => ([Policy::NONE; 2], Some(reason)),
            (Err(_), Ok(received)) => ([Policy::NONE, received], None),
        };
        let collectives = policies[1].in_collectives(&plan);
        // SAFETY: promises 1 and 2, as above.
        if let Some(reason) = unsafe { doubts::refusal(datatype, tree, &plan) } {
            return Err(reason.to_owned());
        }
        // Peers agree on messages only, so one-sided calls must not depend on who is a peer.
        let windows = [false, true].map(|is_contiguous| {
            if for_peers { Policy::NONE } else { Policy::of_window(tree, &plan, is_contiguous) }
        });
        let gapless = if for_peers {
            TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Packed))
        } else {
            tree.gapless().map_err(text)?
        };
        let packed = Committed::new(&gapless, Bounds::of_extent(size as i64)).map_err(text)?;
        let gap = running().writes_past_buffer.then(|| TruncationGuard::of(&gapless, &packed)).transpose();
        let gap = gap.map_err(text)?;
        // SAFETY: promises 1 and 2, as above.
        let original = unsafe { Original::of(datatype, tree) };
        Ok(Box::new(Self {
            plan,
            size,
            policies,
            collectives,
            reason,
            packing,
            windows,
            packed,
            for_peers,
            gap,
            lowest,
            original,
            _live: Live::new(),
        }))
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the packed size of one element in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns `true` if packed messages are sent only between peers.
    pub fn is_for_peers(&self) -> bool {
        self.for_peers
    }

    /// Returns `true` if a buffer at this address may be packed. In a buffer at address 0, displacements are
    /// addresses (`MPI_BOTTOM`, MPI 4.1 section 5.1.12). If the displacements are too small for addresses,
    /// the call is forwarded, so that the MPI library reports the error.
    pub fn may_lie_at(&self, address: *const c_void) -> bool {
        /// The least address of data: nothing lies in the first pages of memory.
        const LEAST_ADDRESS: i64 = 1 << 16;
        !address.is_null() || self.lowest >= LEAST_ADDRESS
    }

    /// Returns the policy for received messages, which admits every size that the policy for sent messages
    /// admits.
    #[inline]
    pub fn policy(&self) -> Policy {
        self.policies[1]
    }

    /// Returns `true` if so many packed bytes are admitted: in a collective call, or between two ranks.
    #[inline]
    pub fn admits(&self, bytes: usize, is_collective: bool) -> bool {
        self.policy().takes(bytes) && (!is_collective || self.collectives.takes(bytes))
    }

    /// Returns the reason why messages of this layout are never packed, or `None` if some sizes are packed.
    pub fn reason(&self) -> Option<&String> {
        self.reason.as_ref()
    }

    /// Returns the policy for `MPI_Pack` and `MPI_Unpack`: the sizes that the plan packs instead of the
    /// library.
    pub fn packing(&self) -> Policy {
        self.packing
    }

    /// Returns the datatype of one packed element if `count` elements are sent packed on a communicator.
    pub fn sent(&self, count: usize, communicator: MPI_Comm) -> Option<MPI_Datatype> {
        let goes = self.sends(count) && (!self.for_peers || peers::all(communicator));
        goes.then(|| self.packed.raw().into())
    }

    /// Returns `true` if `count` elements are sent packed between peers.
    pub fn sends(&self, count: usize) -> bool {
        count.checked_mul(self.size).is_some_and(|bytes| self.policies[0].takes(bytes))
    }

    /// Returns the datatype of one packed element if a receive into a buffer of `count` elements is worth
    /// packing. `MPI_PACKED` also receives unpacked messages, so the sender need not be a peer.
    pub fn received(&self, count: usize) -> Option<MPI_Datatype> {
        self.policies[1].takes(count.checked_mul(self.size)?).then(|| self.packed.raw().into())
    }

    /// Returns the datatype of one packed element if a one-sided call with this number of packed bytes is
    /// worth packing. `is_contiguous` describes the datatype of the target.
    pub fn moved(&self, bytes: usize, is_contiguous: bool) -> Option<MPI_Datatype> {
        self.windows[usize::from(is_contiguous)].takes(bytes).then(|| self.packed.raw().into())
    }

    /// Returns the datatype for the MPI library, if messages are verified.
    pub fn original(&self) -> Option<&Original> {
        self.original.as_ref()
    }

    /// Returns the truncation guard, if the library needs one.
    pub fn gap(&self) -> Option<&TruncationGuard> {
        self.gap.as_ref()
    }
}

/// The number of engines that live.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Counts an engine until it is dropped.
struct Live(());

impl Live {
    fn new() -> Self {
        LIVE.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        LIVE.fetch_sub(1, Ordering::Relaxed);
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}
