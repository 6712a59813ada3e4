//! Fingerprints of types: numbers that tell one type from another.

use std::{
    cell::Cell,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, Hasher},
    sync::{PoisonError, RwLock},
};

use foldhash::quality::{FixedState, FoldHasher};

/// The fingerprint of a type while it is computed. [`MpiMessage::describe`](super::MpiMessage::describe) adds
/// to it what a type consists of.
pub struct Fingerprint {
    hasher: FoldHasher<'static>,
    /// The types that are being described, from the outermost to the innermost one.
    within: Vec<&'static str>,
}

type Describe = fn(&mut Fingerprint);

impl Fingerprint {
    /// Adds a name.
    pub fn add(&mut self, name: &str) {
        self.number(name.len() as u64);
        self.hasher.write(name.as_bytes());
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.hasher.write_u64(number);
    }

    /// Adds a type: `of.of(String::describe)`.
    pub fn of(&mut self, describe: fn(&mut Self)) {
        describe(self);
    }

    /// Adds the name of a field, and its type: `of.field("title", String::describe)`.
    pub fn field(&mut self, name: &str, describe: fn(&mut Self)) {
        self.add(name);
        self.of(describe);
    }

    /// Adds a type that may occur within itself. `path` is its `std::any::type_name`. The type within itself
    /// is added as the number of such types in between.
    pub fn recursive(&mut self, path: &'static str, describe: fn(&mut Self)) {
        if let Some(levels) = self.within.iter().rev().position(|other| *other == path) {
            self.add("within itself");
            return self.number(levels as u64);
        }
        self.within.push(path);
        self.of(describe);
        self.within.pop();
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint").field("levels", &self.within.len()).finish_non_exhaustive()
    }
}

/// Returns the fingerprint of the type that a function describes. Each type is described once in a process.
pub(super) fn fingerprint(describe: Describe) -> u64 {
    // Functions of the same code may have the same address. Their types have the same fingerprint.
    static KNOWN: RwLock<Option<HashMap<usize, u64>>> = RwLock::new(None);
    thread_local! {
        static LAST: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
    }
    let key = describe as usize;
    // While the thread ends, the thread-local variable is gone.
    let last = LAST.try_with(Cell::get).unwrap_or_default();
    if last.0 == key {
        return last.1;
    }
    let known = KNOWN
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|known| known.get(&key).copied());
    let found = known.unwrap_or_else(|| {
        let mut found = Fingerprint { hasher: FixedState::with_seed(0).build_hasher(), within: Vec::new() };
        found.of(describe);
        let found = found.hasher.finish();
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().insert(key, found);
        found
    });
    let _ = LAST.try_with(|last| last.set((key, found)));
    found
}
