//! `Display` of a type tree: one line for each node, with drawn branches and shortened lists.

use alloc::string::String;
use core::fmt;

use crate::TypeTree;

impl fmt::Display for TypeTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        draw(self, None, &mut String::new(), f)
    }
}

/// Draws `tree` and its descendants. `at` is its displacement in a strc parent. `margin` is the text to the
/// left of its children's branches.
fn draw(tree: &TypeTree, at: Option<i64>, margin: &mut String, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some(at) = at {
        write!(f, "@ {at}: ")?;
    }
    match tree {
        TypeTree::Leaf(base) => writeln!(f, "{base}"),
        TypeTree::Vector { count, stride, .. } => writeln!(f, "vec {count}, stride {stride}"),
        TypeTree::Index { displacements, .. } => {
            writeln!(f, "idx {} at {}", displacements.len(), short(displacements))
        }
        TypeTree::IndexBucket { stride, buckets, displacements, .. } => writeln!(
            f,
            "idxbuc {} of {} at {}, stride {stride}",
            buckets.len(),
            short(buckets),
            short(displacements)
        ),
        TypeTree::Struct { children, .. } => writeln!(f, "strc {}", children.len()),
    }?;
    let children = tree.children();
    for (i, child) in children.iter().enumerate() {
        let last = i + 1 == children.len();
        let (branch, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        write!(f, "{margin}{branch}")?;
        let at = match tree {
            TypeTree::Struct { displacements, .. } => displacements.get(i).copied(),
            _ => None,
        };
        let length = margin.len();
        margin.push_str(below);
        draw(child, at, margin, f)?;
        margin.truncate(length);
    }
    Ok(())
}

/// A list that is written as `[a, b, c]`. The middle of a long list is left out unless `all` is set.
pub(crate) struct List<'a, T> {
    pub(crate) items: &'a [T],
    pub(crate) all: bool,
}

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ENDS: usize = 6;
        let list = |f: &mut fmt::Formatter<'_>, items: &[T]| {
            items
                .iter()
                .enumerate()
                .try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { "" } else { ", " }))
        };
        let Self { items, all } = *self;
        f.write_str("[")?;
        if all || items.len() <= 2 * ENDS {
            list(f, items)?;
        } else {
            list(f, &items[..ENDS])?;
            f.write_str(", …, ")?;
            list(f, &items[items.len() - 2..])?;
        }
        f.write_str("]")
    }
}

/// Returns the list in its short form.
fn short<T>(items: &[T]) -> List<'_, T> {
    List { items, all: false }
}
