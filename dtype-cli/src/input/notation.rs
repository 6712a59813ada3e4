//! The notation of the papers: `vec(3, 16, idx([0, 8], f64))`.
//!
//! - a leaf: its base type, or `leaf(f64)`
//! - `con(c, base)`: adjacent copies (Träff 2014)
//! - `vec(count, stride, tree)`
//! - `idx([displacements], tree)`
//! - `idxbuc(stride, [buckets], [displacements], tree)`
//! - `strc([displacements], [trees])`
//!
//! The counts that the papers write before lists are optional. Lists may also be in `⟨…⟩` or round brackets.
//! Strides and displacements are in bytes. Arrays have the arguments of MPI's constructors, in elements:
//!
//! - `subarray([sizes], [subsizes], [starts], tree)`, optionally with `C` or `Fortran` before the tree
//! - `darray(rank, [sizes], [block, cyclic(2), none], [processes], tree)`, likewise

use dtype_core::{
    ArrayOrder, BaseType, Constructor, Datatype, Distributed, Distribution, Subdimension, TypeTree,
};

use super::scanner::{Read, Scanner};

/// The greatest depth of nested nodes. Each level is a recursive call.
const MOST_LEVELS: usize = 256;

/// Reads a tree. A leaf without a type has the type `base`.
pub(super) fn read(text: &str, base: Option<BaseType>) -> Read<Datatype> {
    let mut reader = Reader { scanner: Scanner::new(text), base };
    let datatype = reader.tree(MOST_LEVELS)?;
    reader.scanner.end()?;
    Ok(datatype)
}

/// The words that a tree may begin with, except base types.
pub(super) const NODES: [&str; 8] = ["leaf", "con", "vec", "idx", "idxbuc", "strc", "subarray", "darray"];

struct Reader<'a> {
    scanner: Scanner<'a>,
    base: Option<BaseType>,
}

impl Reader<'_> {
    fn tree(&mut self, levels: usize) -> Read<Datatype> {
        const EXPECTED: &str = "a base type, or one of leaf, con, vec, idx, idxbuc, strc, subarray, darray";
        let place = self.scanner.place();
        if levels == 0 {
            return Err(self
                .scanner
                .unexpected("a leaf, because nodes are nested 256 levels deep, the limit"));
        }
        let Some(word) = self.scanner.word() else { return Err(self.scanner.unexpected(EXPECTED)) };
        if word == "leaf" && !self.scanner.sees("(") {
            return self.leaf_of_no_type(place);
        }
        if !NODES.contains(&word) {
            self.scanner.go_back(place);
            return Ok(Datatype::base(self.base_type(EXPECTED)?));
        }
        self.scanner.expect("(")?;
        let levels = levels - 1;
        let made = match word {
            "leaf" => Ok(Datatype::base(self.base_type("a base type")?)),
            "con" => {
                let count = self.scanner.number("a count")?;
                let oldtype = if self.scanner.takes(",") {
                    Datatype::base(self.base_type("a base type")?)
                } else {
                    self.leaf_of_no_type(self.scanner.place())?
                };
                Constructor::Contiguous { count, oldtype }.datatype()
            }
            "vec" => {
                let (count, stride) = (self.argument("a count")?, self.argument("a stride in bytes")?);
                Datatype::of_tree(TypeTree::vector(count, stride, self.tree(levels)?.tree))
            }
            "idx" => {
                let displacements = self.counted("a list of displacements")?;
                Datatype::of_tree(TypeTree::index(displacements, self.tree(levels)?.tree))
            }
            "idxbuc" => {
                let (count, stride) = self.count_and_stride()?;
                let buckets: Vec<u64> = self.list("a list of bucket lengths", count)?;
                let displacements: Vec<i64> = self.list("a list of displacements", count)?;
                let child = self.tree(levels)?.tree;
                Datatype::of_tree(TypeTree::index_bucket(stride, buckets, displacements, child))
            }
            "strc" => {
                let displacements: Vec<i64> = self.counted("a list of displacements")?;
                let one = |reader: &mut Self| reader.tree(levels).map(|child| child.tree);
                let children = match self.scanner.opens() {
                    Some(close) => self.items(close, one)?,
                    None if self.scanner.takes("(") => self.items(")", one)?,
                    None => {
                        let mut children = vec![one(self)?];
                        while self.scanner.takes(",") {
                            children.push(one(self)?);
                        }
                        children
                    }
                };
                Datatype::of_tree(TypeTree::structure(displacements, children))
            }
            "subarray" => self.subarray(levels)?,
            _ => self.darray(levels)?,
        };
        let made = made.map_err(|error| self.scanner.wrong_at(place, error))?;
        self.scanner.expect(")")?;
        Ok(made)
    }

    fn leaf_of_no_type(&self, place: usize) -> Read<Datatype> {
        let unknown =
            || self.scanner.unexpected_at(place, "a base type, as `leaf(f64)` or with `--type f64`");
        self.base.map(Datatype::base).ok_or_else(unknown)
    }

    fn base_type(&mut self, expected: &str) -> Read<BaseType> {
        let place = self.scanner.place();
        let base = self.scanner.word().and_then(|word| word.parse().ok());
        base.ok_or_else(|| self.scanner.unexpected_at(place, expected))
    }

    fn argument<T: std::str::FromStr>(&mut self, expected: &str) -> Read<T> {
        let number = self.scanner.number(expected)?;
        self.scanner.expect(",")?;
        Ok(number)
    }

    /// Reads the optional count and the stride of an idxbuc.
    fn count_and_stride(&mut self) -> Read<(Option<usize>, i64)> {
        let first: i64 = self.argument("a stride in bytes")?;
        match usize::try_from(first) {
            Ok(count) if self.scanner.sees_number() => Ok((Some(count), self.argument("a stride in bytes")?)),
            _ => Ok((None, first)),
        }
    }

    /// Reads a list with an optional count before it.
    fn counted<T: std::str::FromStr>(&mut self, expected: &str) -> Read<Vec<T>> {
        let count = if self.scanner.sees_number() { Some(self.argument("a count")?) } else { None };
        self.list(expected, count)
    }

    /// Reads a list as an argument. If `count` is given, the list must have that many numbers.
    fn list<T: std::str::FromStr>(&mut self, expected: &str, count: Option<usize>) -> Read<Vec<T>> {
        let place = self.scanner.place();
        let list = if self.scanner.takes("(") {
            self.scanner.items(")", |scanner| scanner.number("a number"))?
        } else {
            self.scanner.list(expected, |scanner| scanner.number("a number"))?
        };
        if let Some(count) = count.filter(|count| *count != list.len()) {
            return Err(self.scanner.unexpected_at(place, format!("{count} numbers, as given by the count")));
        }
        self.scanner.expect(",")?;
        Ok(list)
    }

    fn items<T>(&mut self, close: &str, mut one: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        while !self.scanner.takes(close) {
            items.push(one(self)?);
            self.scanner.behind_item(close)?;
        }
        Ok(items)
    }

    fn order(&mut self) -> Read<ArrayOrder> {
        let order = if self.scanner.takes_word("fortran") {
            ArrayOrder::ColumnMajor
        } else if self.scanner.takes_word("c") {
            ArrayOrder::RowMajor
        } else {
            return Ok(ArrayOrder::RowMajor);
        };
        self.scanner.expect(",")?;
        Ok(order)
    }

    fn subarray(&mut self, levels: usize) -> Read<Result<Datatype, dtype_core::Error>> {
        let sizes: Vec<u64> = self.list("a list of sizes", None)?;
        let subsizes: Vec<u64> = self.list("a list of subsizes", Some(sizes.len()))?;
        let starts: Vec<u64> = self.list("a list of starts", Some(sizes.len()))?;
        let order = self.order()?;
        let dimension = |k: usize| Subdimension { size: sizes[k], subsize: subsizes[k], start: starts[k] };
        let dimensions = (0..sizes.len()).map(dimension).collect();
        let oldtype = self.tree(levels)?;
        Ok(Constructor::Subarray { dimensions, order, oldtype }.datatype())
    }

    fn darray(&mut self, levels: usize) -> Read<Result<Datatype, dtype_core::Error>> {
        let rank = self.argument("a rank")?;
        let sizes: Vec<u64> = self.list("a list of sizes", None)?;
        let place = self.scanner.place();
        let Some(close) = self.scanner.opens() else {
            return Err(self.scanner.unexpected("a list of block, cyclic and none"));
        };
        let distributions = self.items(close, Self::distribution)?;
        if distributions.len() != sizes.len() {
            let expected = format!("{} distributions, one for each size", sizes.len());
            return Err(self.scanner.unexpected_at(place, expected));
        }
        self.scanner.expect(",")?;
        let processes: Vec<u64> = self.list("a list of processes", Some(sizes.len()))?;
        let order = self.order()?;
        let dimension = |k: usize| Distributed {
            size: sizes[k],
            distribution: distributions[k],
            processes: processes[k],
        };
        let dimensions = (0..sizes.len()).map(dimension).collect();
        let oldtype = self.tree(levels)?;
        Ok(Constructor::Darray { rank, dimensions, order, oldtype }.datatype())
    }

    /// Reads `block`, `cyclic` or `none`. The first two may have a block length in brackets.
    fn distribution(&mut self) -> Read<Distribution> {
        const EXPECTED: &str = "`block`, `cyclic` or `none`";
        let place = self.scanner.place();
        let Some(word) = self.scanner.word() else { return Err(self.scanner.unexpected(EXPECTED)) };
        let block = if word != "none" && self.scanner.takes("(") {
            let block = self.scanner.number("the length of a block")?;
            self.scanner.expect(")")?;
            Some(block)
        } else {
            None
        };
        match word {
            "block" => Ok(Distribution::Block(block)),
            "cyclic" => Ok(Distribution::Cyclic(block)),
            "none" => Ok(Distribution::None),
            _ => Err(self.scanner.unexpected_at(place, EXPECTED)),
        }
    }
}
