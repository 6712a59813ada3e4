//! Fingerprints of types: numbers that tell one type from another.
//!
//! The description of a type is a graph: its deriving types, each described once, and their parts. A type
//! without a cycle has a hash of its parts and their hashes. Types of a cycle are hashed in rounds, each from
//! the hashes of the round before: so equal hashes mean equal parts down to that many levels. Two graphs that
//! unfold to the same parts have the same fingerprint, even if one has a type twice that is one type in the
//! other: `String` and `&str` are described alike, but a struct of each is another type.

use std::{
    any::TypeId,
    cell::Cell,
    collections::HashMap,
    fmt,
    hash::{BuildHasher, Hasher},
    mem,
    sync::{PoisonError, RwLock},
};

use foldhash::quality::FixedState;

/// The fingerprint of a type while it is computed. [`MpiMessage::describe`](super::MpiMessage::describe) adds
/// to it what a type consists of.
pub struct Fingerprint {
    /// The deriving types found so far. The first one stands for the message.
    items: Vec<Item>,
    numbers: HashMap<TypeId, usize>,
    /// The number of the item that is being described.
    current: usize,
}

/// A deriving type.
#[derive(Default)]
struct Item {
    parts: Vec<Part>,
    /// The hash of the parts; `None` if it is not known, or if the type leads to a cycle.
    hash: Option<u64>,
}

#[derive(Clone, Copy)]
enum Part {
    Number(u64),
    Item(usize),
}

/// The number of rounds in which the types of a cycle are hashed.
const ROUNDS: usize = 128;

impl Fingerprint {
    fn new() -> Self {
        Self { items: vec![Item::default()], numbers: HashMap::new(), current: 0 }
    }

    /// Adds a name.
    pub fn add(&mut self, name: &str) {
        let mut hasher = hasher();
        hasher.write(name.as_bytes());
        self.number(name.len() as u64);
        self.number(hasher.finish());
    }

    /// Adds a number.
    pub fn number(&mut self, number: u64) {
        self.items[self.current].parts.push(Part::Number(number));
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

    /// Adds a type that may occur several times, or within itself. It is described once.
    pub fn item<T: ?Sized>(&mut self, describe: fn(&mut Self)) {
        let next = self.items.len();
        let number = *self.numbers.entry(typeid::of::<T>()).or_insert(next);
        self.items[self.current].parts.push(Part::Item(number));
        if number == next {
            self.items.push(Item::default());
            let outer = mem::replace(&mut self.current, number);
            self.of(describe);
            self.current = outer;
            self.items[number].hash = self.hash(number, &[]);
        }
    }

    /// Returns the hash of the parts of an item, or `None` if one of them has none. `round` has the hashes of
    /// items that have no hash of their own.
    fn hash(&self, number: usize, round: &[u64]) -> Option<u64> {
        let mut hasher = hasher();
        for part in &self.items[number].parts {
            let (kind, value) = match *part {
                Part::Number(number) => (0, number),
                Part::Item(item) => (1, self.items[item].hash.or_else(|| round.get(item).copied())?),
            };
            hasher.write_u8(kind);
            hasher.write_u64(value);
        }
        Some(hasher.finish())
    }

    /// Returns the hash of the whole description.
    fn finish(&self) -> u64 {
        self.hash(0, &[]).unwrap_or_else(|| {
            let mut round = vec![0; self.items.len()];
            for _ in 0..ROUNDS {
                let next = |item: usize| match self.items[item].hash {
                    Some(_) => 0,
                    None => self.hash(item, &round).unwrap_or_default(),
                };
                round = (0..round.len()).map(next).collect();
            }
            round[0]
        })
    }
}

fn hasher() -> impl Hasher {
    FixedState::with_seed(0).build_hasher()
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fingerprint").field("types", &self.items.len()).finish_non_exhaustive()
    }
}

thread_local! {
    /// The last function that described a type, by its address, and the fingerprint.
    static LAST: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

/// Returns the fingerprint of the type that a function describes. Each type is described once in a process.
#[inline]
pub(super) fn fingerprint(describe: fn(&mut Fingerprint)) -> u64 {
    // While the thread ends, the thread-local variable is gone.
    let (key, last) = LAST.try_with(Cell::get).unwrap_or_default();
    if key == describe as usize { last } else { looked_up(describe) }
}

/// Returns the fingerprint of another type than the last one.
fn looked_up(describe: fn(&mut Fingerprint)) -> u64 {
    // Functions of the same code may have the same address. Their types have the same fingerprint.
    static KNOWN: RwLock<Option<HashMap<usize, u64>>> = RwLock::new(None);
    let key = describe as usize;
    let known = KNOWN
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .and_then(|known| known.get(&key).copied());
    let found = known.unwrap_or_else(|| {
        let mut found = Fingerprint::new();
        found.of(describe);
        let found = found.finish();
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        known.get_or_insert_default().insert(key, found);
        found
    });
    let _ = LAST.try_with(|last| last.set((key, found)));
    found
}
