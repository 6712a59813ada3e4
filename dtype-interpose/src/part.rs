//! A part of the program's memory, which a plan packs and unpacks.

use std::sync::Arc;

use dtype_engine::{Data, DataMut, Plan};

use crate::profile::Profile;

/// A number of elements of a datatype in the program's memory, with their plan.
pub(crate) struct Part {
    pub plan: Plan,
    /// The address of displacement 0 of the first element.
    pub origin: *mut u8,
    pub count: usize,
    /// The number of messages in the part.
    pub messages: usize,
    /// The profile that counts the part, if a report is wanted or messages are verified.
    pub profile: Option<Arc<Profile>>,
}

impl Part {
    /// Returns the packed size in bytes, or `None` if it overflows.
    pub fn bytes(&self) -> Option<usize> {
        self.plan.packed_size().checked_mul(self.count)
    }

    /// Packs the part into the front of `target`, and returns the rest of `target`. Counts `messages` for the
    /// report: 0 if the part is packed so that bytes which do not arrive stay as they were.
    ///
    /// # Safety
    /// Promise 3 for the part.
    pub unsafe fn pack<'a>(&self, messages: usize, target: &'a mut [u8]) -> &'a mut [u8] {
        // SAFETY: promise 3: every byte of the part is readable, initialized and not written; MPI, too, would
        // read all of them.
        let data = unsafe { Data::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = target.split_at_mut(data.packed_size());
        let bytes = if messages > 0 { packed.len() } else { 0 };
        let all = self.timed(messages, bytes, || data.pack_into(packed));
        debug_assert!(all.is_ok(), "there is room for all bytes");
        if let Some(verified) = self.profile.as_ref().and_then(|profile| profile.verified()) {
            // SAFETY: promise 1, as in a call of the program; promise 3 for the part.
            unsafe { verified.packed(self.origin, self.count, packed) };
        }
        rest
    }

    /// Unpacks the part from the front of `bytes`, as far as they reach, and returns the rest of `bytes`.
    ///
    /// # Safety
    /// Promise 4 for the part: the program leaves it alone until it knows that the message is complete.
    pub unsafe fn unpack<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        // SAFETY: promise 4: every byte of the part is writable, and used by no one else. Any bytes may be
        // written, as MPI would write them, and the program knows which bytes are initialized.
        let mut data = unsafe { DataMut::from_raw_parts(&self.plan, self.count, self.origin) };
        let (packed, rest) = bytes.split_at(data.packed_size().min(bytes.len()));
        let all = self.timed(self.messages, packed.len(), || data.unpack_range(0, packed));
        debug_assert!(all.is_ok(), "no more than all of it");
        if let Some(verified) = self.profile.as_ref().and_then(|profile| profile.verified()) {
            // SAFETY: promise 1, as in a call of the program; promise 4 for the part.
            unsafe { verified.unpacked(&self.plan, packed, self.origin) };
        }
        rest
    }

    fn timed<R>(&self, messages: usize, bytes: usize, run: impl FnOnce() -> R) -> R {
        match &self.profile {
            Some(profile) => profile.timed(messages, bytes, run),
            None => run(),
        }
    }
}
