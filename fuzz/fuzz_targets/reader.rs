//! A reader that makes numbers, lists and type trees from arbitrary bytes.

use dtype_core::{BaseType, TypeTree};

/// A reader of numbers and nodes from the fuzzer's bytes. When the bytes run out, the reader returns zeros.
pub struct Reader<'a>(pub &'a [u8]);

impl Reader<'_> {
    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn distance(&mut self) -> i64 {
        match self.byte() {
            255 => i64::MAX,
            254 => i64::MIN,
            253 => 1 << 40,
            252 => -(1 << 62),
            byte => (i64::from(byte) - 100) * 4,
        }
    }

    fn count(&mut self) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => 1 << 40,
            253 => 1000,
            byte => u64::from(byte % 12),
        }
    }

    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> T) -> Vec<T> {
        (0..self.byte() % 5).map(|_| item(self)).collect()
    }

    pub fn tree(&mut self, depth: u8) -> TypeTree {
        let kind = if depth == 0 { 0 } else { self.byte() % 5 };
        match kind {
            1 => TypeTree::vector(self.count(), self.distance(), self.tree(depth - 1)),
            2 => TypeTree::index(self.list(Self::distance), self.tree(depth - 1)),
            3 => {
                let stride = self.distance();
                let buckets = self.list(|reader| (reader.count(), reader.distance()));
                let (buckets, at): (Vec<_>, Vec<_>) = buckets.into_iter().unzip();
                TypeTree::index_bucket(stride, buckets, at, self.tree(depth - 1))
            }
            4 => {
                let parts = self.list(|reader| (reader.distance(), reader.tree(depth - 1)));
                let (at, children): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
                TypeTree::structure(at, children)
            }
            _ => TypeTree::Leaf([BaseType::U8, BaseType::F64][usize::from(self.byte() % 2)]),
        }
    }
}
