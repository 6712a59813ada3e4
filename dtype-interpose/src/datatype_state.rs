//! The state of a datatype: what calls do with its messages. `datatype_cache` says where it is kept.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use dtype_mpi::OnDatatype;

use crate::{
    engine::Engine,
    first_use::Traffic,
    native::MPI_Datatype,
    policy::{LEAST, Policy},
    profile::Profile,
};

/// The state of a datatype. It only moves down this list.
#[derive(Clone, Copy)]
pub(crate) enum State<'a> {
    /// Predefined, or not committed by an intercepted call: messages are forwarded.
    Unknown,
    /// Committed: messages are forwarded and counted, until their bytes justify a plan.
    Counted(&'a Traffic),
    /// Committed for a report or a verification: the first message that is large enough is planned.
    Described(&'a Arc<Profile>),
    /// Planned: messages are packed if the policies of the engine admit their sizes.
    Planned(&'a Arc<Profile>, &'a Engine),
    /// Refused: messages are forwarded, as the profile says why.
    Refused(&'a Arc<Profile>),
}

/// The policies of a datatype.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Policies {
    pub messages: Policy,
    /// The policy for `MPI_Pack` and `MPI_Unpack`.
    pub packing: Policy,
}

impl Policies {
    /// The policies that pack nothing.
    pub const NONE: Self = Self { messages: Policy::NONE, packing: Policy::NONE };
}

impl<'a> State<'a> {
    /// Returns the state of a datatype that has a profile.
    #[inline(always)]
    fn of(profile: &'a Arc<Profile>) -> Self {
        match profile.engine() {
            None => Self::Described(profile),
            Some(Ok(engine)) => Self::Planned(profile, engine),
            Some(Err(_)) => Self::Refused(profile),
        }
    }

    /// Returns the profile, or `None` if all messages are forwarded and none is counted for the report.
    #[inline(always)]
    pub fn profile(self) -> Option<&'a Arc<Profile>> {
        match self {
            Self::Unknown | Self::Counted(_) => None,
            Self::Described(profile) | Self::Planned(profile, _) | Self::Refused(profile) => Some(profile),
        }
    }

    /// Returns the policies: all sizes from [`LEAST`] on, if a message may still be planned.
    pub fn policies(self) -> Policies {
        match self {
            Self::Counted(_) | Self::Described(_) => {
                Policies { messages: Policy::from(LEAST), packing: Policy::from(LEAST) }
            }
            Self::Planned(_, engine) => Policies { messages: engine.policy(), packing: engine.packing() },
            Self::Unknown | Self::Refused(_) => Policies::NONE,
        }
    }

    /// Returns `true` if a message of this packed size in bytes may be packed, as
    /// [`policies`](Self::policies) say.
    #[inline(always)]
    pub fn takes(self, bytes: usize) -> bool {
        match self {
            Self::Counted(_) | Self::Described(_) => bytes >= LEAST,
            Self::Planned(_, engine) => engine.policy().takes(bytes),
            Self::Unknown | Self::Refused(_) => false,
        }
    }

    /// Returns the engine, if there is one, and plans a described datatype first. `datatype` must be the
    /// handle that has this state.
    #[inline]
    pub fn engine(self, datatype: MPI_Datatype) -> Option<&'a Engine> {
        match self {
            Self::Planned(_, engine) => Some(engine),
            Self::Described(profile) => {
                let engine = profile.plan(datatype).as_deref().ok();
                AGE.fetch_add(1, Ordering::Release);
                engine
            }
            Self::Unknown | Self::Counted(_) | Self::Refused(_) => None,
        }
    }
}

/// The state of a datatype, as an attribute keeps it.
pub(crate) struct CachedDatatype {
    /// The messages of a counted datatype.
    traffic: Traffic,
    /// The profile, which duplicates share: unset if the datatype is counted.
    profile: OnceLock<Arc<Profile>>,
    /// The number of handles to the datatype that the library has returned beside the program's own.
    pub handed_out: AtomicUsize,
}

/// A number that rises when the state of a cached datatype changes, or the entry is kept, copied or deleted.
/// An entry that a thread remembers is valid until the number rises.
pub(crate) static AGE: AtomicU64 = AtomicU64::new(1);

impl OnDatatype for CachedDatatype {
    fn of_duplicate(&self) -> Self {
        AGE.fetch_add(1, Ordering::Release);
        self.profile.get().map_or_else(|| Self::counted(self.size()), |profile| Self::of(Arc::clone(profile)))
    }

    fn deleted(&self) {
        AGE.fetch_add(1, Ordering::Release);
    }
}

impl CachedDatatype {
    /// Creates the entry of a datatype that has a profile.
    pub fn of(profile: Arc<Profile>) -> Self {
        let traffic = Traffic::new(profile.size);
        Self { traffic, profile: OnceLock::from(profile), handed_out: AtomicUsize::new(0) }
    }

    /// Creates the entry of a counted datatype with this packed size in bytes.
    pub fn counted(size: usize) -> Self {
        Self { traffic: Traffic::new(size), profile: OnceLock::new(), handed_out: AtomicUsize::new(0) }
    }

    /// Returns the packed size of one element in bytes.
    pub fn size(&self) -> usize {
        self.traffic.size()
    }

    /// Returns the state of the datatype.
    #[inline(always)]
    pub fn state(&self) -> State<'_> {
        self.profile.get().map_or(State::Counted(&self.traffic), State::of)
    }

    /// Ends the count of messages, and returns the new state. If another thread was faster, its profile
    /// stays.
    pub fn decided(&self, profile: Arc<Profile>) -> State<'_> {
        if self.profile.set(profile).is_ok() {
            AGE.fetch_add(1, Ordering::Release);
        }
        self.state()
    }
}
