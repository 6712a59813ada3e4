//! The writer of loops in C that pack and unpack a type tree as a programmer would write them.
//!
//! Lengths, strides and block sizes are constants in the code. A few blocks are written out; long lists are
//! tables. If the block lengths are in a table too, there are two ways: a loop over the elements, and
//! `memcpy`.

use std::fmt::Write as _;

use dtype_core::TypeTree;

use crate::generate::{Sample, list_unit, lists};

/// Returns the C file for all samples: the functions, and a table of them.
pub fn source(samples: &[Sample]) -> String {
    let mut text = String::from("#include <stddef.h>\n#include <string.h>\n");
    let functions = [
        ("pack", "const char", "char", "memcpy(p, m, n)"),
        ("unpack", "char", "const char", "memcpy(m, p, n)"),
    ];
    let mut table = String::new();
    for (number, sample) in samples.iter().enumerate() {
        let _ = writeln!(text, "\n/* {} */", sample.name);
        let _ = write!(table, "    {{");
        let bodies = [true, false].map(|elementwise| Writer::body(sample, elementwise));
        for (i, body) in bodies.iter().enumerate() {
            // If no length is in a table, both ways are the same function.
            let way = if bodies[0] == bodies[1] { 0 } else { i };
            for (function, memory, packed, copy) in functions {
                let name = format!("{function}_{number}_{way}");
                let _ = write!(table, "(void *){name}, ");
                if way < i {
                    continue;
                }
                let _ = write!(
                    text,
                    "#define COPY(m, p, n) {copy}\n\
                     static void {name}({memory} *restrict m, {packed} *restrict p, const int *const *t) {{\n\
                     \x20   (void)t;\n{}}}\n#undef COPY\n",
                    body.replace("MEMORY", memory),
                );
            }
        }
        let _ = writeln!(table, "}},");
    }
    let _ = write!(
        text,
        "\nstatic void *const all[][4] = {{\n{table}}};\n\
         void *const *by_hand(size_t number) {{ return all[number]; }}\n"
    );
    text
}

/// A writer of one C function.
struct Writer {
    text: String,
    /// The number of the next list.
    list: usize,
    /// The number of the last loop variable.
    variable: usize,
    depth: usize,
    elementwise: bool,
}

/// Returns the displacement and the size in bytes of a tree that is one contiguous block.
fn block(tree: &TypeTree) -> Option<(i64, u64)> {
    let measure = tree.measure().ok()?;
    (measure.size == measure.true_extent() as u64 && in_order(tree))
        .then_some((measure.lower_bound, measure.size))
}

/// Returns `true` if the bytes of a gapless tree are packed in the order of their addresses.
fn in_order(tree: &TypeTree) -> bool {
    let ends = |tree: &TypeTree| tree.measure().map_or((0, 0), |m| (m.lower_bound, m.upper_bound));
    match tree {
        TypeTree::Leaf(_) => true,
        TypeTree::Vector { count, stride, child } => {
            in_order(child) && (*count == 1 || block(child).is_some_and(|(_, size)| size as i64 == *stride))
        }
        TypeTree::Index { displacements, child } => {
            let (lower, upper) = ends(child);
            in_order(child) && displacements.windows(2).all(|pair| pair[1] - pair[0] == upper - lower)
        }
        TypeTree::IndexBucket { .. } => false,
        TypeTree::Struct { displacements, children } => {
            let places: Vec<_> =
                displacements.iter().zip(children).map(|(at, child)| (at, ends(child))).collect();
            children.iter().all(in_order)
                && places.windows(2).all(|pair| pair[0].0 + pair[0].1.1 == pair[1].0 + pair[1].1.0)
        }
    }
}

impl Writer {
    /// The longest list that is written out.
    const FEW: usize = 8;

    fn body(sample: &Sample, elementwise: bool) -> String {
        let mut writer = Self { text: String::new(), list: 0, variable: 0, depth: 1, elementwise };
        let Sample { tree, extent, count, .. } = sample;
        if *count == 1 {
            writer.part(tree, "m", 0);
        } else if let Some((at, size)) = block(tree).filter(|(_, size)| *size as i64 == *extent) {
            writer.copy("m", at, &(size * count).to_string());
        } else {
            writer.repeat(&count.to_string(), *extent, tree, "m", 0);
        }
        writer.text
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:width$}{line}", "", width = 4 * self.depth);
    }

    fn copy(&mut self, memory: &str, at: i64, size: &str) {
        self.line(&format!("COPY({memory} + {at}, p, {size}); p += {size};"));
    }

    fn flush(&mut self, memory: &str, pending: &mut Option<(i64, u64)>) {
        if let Some((at, size)) = pending.take() {
            self.copy(memory, at, &size.to_string());
        }
    }

    /// Begins a loop whose body has a pointer of its own. Returns the number that is part of the names of the
    /// loop variable and the pointer. `offset` returns the C expression for the displacement of the pointer
    /// in bytes.
    fn begin(&mut self, count: &str, memory: &str, at: i64, offset: impl Fn(usize) -> String) -> usize {
        self.variable += 1;
        let i = self.variable;
        self.line(&format!("for (ptrdiff_t i{i} = 0; i{i} < {count}; i{i}++) {{"));
        self.depth += 1;
        self.line(&format!("MEMORY *m{i} = {memory} + {at} + {};", offset(i)));
        i
    }

    fn repeat(&mut self, count: &str, stride: i64, child: &TypeTree, memory: &str, at: i64) {
        let i = self.begin(count, memory, at, |i| format!("i{i} * {stride}"));
        self.part(child, &format!("m{i}"), 0);
        self.end();
    }

    /// Begins a loop over a list.
    fn begin_list(&mut self, list: usize, displacements: &[i64], memory: &str, at: i64) -> usize {
        let unit = list_unit(displacements);
        let offset = |i| format!("t[{list}][i{i}] * (ptrdiff_t){unit}");
        self.begin(&displacements.len().to_string(), memory, at, offset)
    }

    fn end(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn skip(&mut self, tree: &TypeTree) {
        self.list += lists(tree).len();
    }

    fn part(&mut self, tree: &TypeTree, memory: &str, at: i64) {
        if let Some((within, size)) = block(tree) {
            self.skip(tree);
            return self.copy(memory, at + within, &size.to_string());
        }
        match tree {
            TypeTree::Leaf(_) => unreachable!("a number is a block"),
            TypeTree::Vector { count, stride, child } => {
                self.repeat(&count.to_string(), *stride, child, memory, at);
            }
            TypeTree::Struct { displacements, children } => {
                // Adjacent blocks are copied as one.
                let mut pending: Option<(i64, u64)> = None;
                for (displacement, child) in displacements.iter().zip(children) {
                    let next = block(child).map(|(within, size)| (at + displacement + within, size));
                    if let (Some((start, length)), Some((here, size))) = (&mut pending, next)
                        && *start + *length as i64 == here
                    {
                        *length += size;
                        self.skip(child);
                        continue;
                    }
                    self.flush(memory, &mut pending);
                    match next {
                        Some(_) => self.skip(child),
                        None => self.part(child, memory, at + displacement),
                    }
                    pending = next;
                }
                self.flush(memory, &mut pending);
            }
            TypeTree::Index { displacements, child } => {
                let list = self.list;
                self.list += 1;
                if displacements.len() <= Self::FEW && lists(child).is_empty() {
                    return displacements.iter().for_each(|here| self.part(child, memory, at + here));
                }
                let i = self.begin_list(list, displacements, memory, at);
                self.part(child, &format!("m{i}"), 0);
                self.end();
            }
            TypeTree::IndexBucket { stride, buckets, displacements, child } => {
                let list = self.list;
                self.list += 2;
                let one = block(child).filter(|(_, size)| *size as i64 == *stride);
                if displacements.len() <= Self::FEW && lists(child).is_empty() {
                    for (here, count) in displacements.iter().zip(buckets) {
                        match one {
                            Some((within, size)) => {
                                self.copy(memory, at + here + within, &(size * count).to_string());
                            }
                            None => self.repeat(&count.to_string(), *stride, child, memory, at + here),
                        }
                    }
                    return;
                }
                let i = self.begin_list(list, displacements, memory, at);
                let length = format!("t[{}][i{i}]", list + 1);
                if let Some((within, size)) = one.filter(|_| !self.elementwise) {
                    self.line(&format!("size_t n{i} = {length} * (size_t){size};"));
                    self.copy(&format!("m{i}"), within, &format!("n{i}"));
                } else {
                    self.repeat(&length, *stride, child, &format!("m{i}"), 0);
                }
                self.end();
            }
        }
    }
}
