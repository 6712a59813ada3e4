//! Random values of every type that a field of a message may have.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, LinkedList, VecDeque},
    hash::Hash,
    num::NonZero,
    ops::Range,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

/// A generator of random values.
pub struct Random {
    state: u64,
    /// The number of values around the one that is made.
    depth: usize,
}

impl Random {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, depth: 0 }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// Returns `true` if no more recursive values should be made.
    pub fn is_deep(&self) -> bool {
        self.depth > 6
    }

    /// Returns a random value.
    pub fn sample<T: Sample>(&mut self) -> T {
        self.depth += 1;
        let value = T::sample(self);
        self.depth -= 1;
        value
    }

    /// Returns random values, of which there are many if they are small.
    fn several<T: Sample, C: FromIterator<T>>(&mut self) -> C {
        let many = T::IS_NUMBER && self.below(8) == 0;
        let most = match self.depth {
            0..3 if many => 50_000,
            0..4 => 5,
            4..7 => 2,
            _ => 1,
        };
        (0..self.below(most)).map(|_| self.sample()).collect()
    }
}

/// A type of which there are random values.
pub trait Sample: Sized {
    /// `true` for the types of which there are long sequences.
    const IS_NUMBER: bool = false;

    fn sample(random: &mut Random) -> Self;
}

macro_rules! samples {
    ($([$($generics:tt)*] $type:ty: $value:expr;)*) => {$(
        impl<$($generics)*> Sample for $type {
            fn sample(random: &mut Random) -> Self {
                $value(random)
            }
        }
    )*};
    ($($type:ty: $value:expr;)*) => {$(
        impl Sample for $type {
            const IS_NUMBER: bool = true;

            fn sample(random: &mut Random) -> Self {
                $value(random)
            }
        }
    )*};
}

samples! {
    i8: |random: &mut Random| random.bits() as i8;
    i16: |random: &mut Random| random.bits() as i16;
    i32: |random: &mut Random| random.bits() as i32;
    i64: |random: &mut Random| random.bits() as i64;
    u8: |random: &mut Random| random.bits() as u8;
    u16: |random: &mut Random| random.bits() as u16;
    u32: |random: &mut Random| random.bits() as u32;
    u64: |random: &mut Random| random.bits();
    usize: |random: &mut Random| random.bits() as usize;
    // A number that is equal to itself.
    f32: |random: &mut Random| random.bits() as i32 as f32;
    f64: |random: &mut Random| random.bits() as i64 as f64;
    bool: |random: &mut Random| random.below(2) == 0;
    char: |random: &mut Random| char::from_u32(random.below(0xD800) as u32).unwrap();
    NonZero<u32>: |random: &mut Random| NonZero::new(random.bits() as u32 | 1).unwrap();
    i128: |random: &mut Random| i128::from(random.bits() as i64) << random.below(64);
    u128: |random: &mut Random| u128::from(random.bits()) << random.below(64);
}

samples! {
    [] (): |_| ();
    [] Duration: |random: &mut Random| Duration::new(random.bits(), random.below(1_000_000_000) as u32);
    [] String: |random: &mut Random| random.several::<char, _>();
    [] Cow<'static, str>: |random: &mut Random| Cow::Owned(random.sample());
    [A: Sample, B: Sample] (A, B): |random: &mut Random| (random.sample(), random.sample());
    [T: Sample, const N: usize] [T; N]: |random: &mut Random| std::array::from_fn(|_| random.sample());
    [T: Sample] Box<T>: |random: &mut Random| Self::new(random.sample());
    [T: Sample] Rc<T>: |random: &mut Random| Self::new(random.sample());
    [T: Sample] Arc<T>: |random: &mut Random| Self::new(random.sample());
    [T: Sample] Option<T>: |random: &mut Random| {
        (!random.is_deep() && random.below(3) > 0).then(|| random.sample())
    };
    [T: Sample, E: Sample] Result<T, E>: |random: &mut Random| {
        if random.below(2) == 0 { Ok(random.sample()) } else { Err(random.sample()) }
    };
    [T: Sample] Range<T>: |random: &mut Random| random.sample()..random.sample();
    [T: Sample] Vec<T>: |random: &mut Random| random.several();
    [T: Sample] Box<[T]>: |random: &mut Random| random.several();
    [T: Sample] LinkedList<T>: |random: &mut Random| random.several();
    [T: Sample + Ord] BTreeSet<T>: |random: &mut Random| random.several();
    [T: Sample + Eq + Hash] HashSet<T>: |random: &mut Random| random.several();
    [K: Sample + Ord, V: Sample] BTreeMap<K, V>: |random: &mut Random| random.several();
    [K: Sample + Eq + Hash, V: Sample] HashMap<K, V>: |random: &mut Random| random.several();
    // Often a queue whose values are two slices.
    [T: Sample] VecDeque<T>: |random: &mut Random| {
        let mut queue: Self = random.several();
        for _ in 0..random.below(3) {
            queue.push_front(random.sample());
        }
        queue
    };
}
