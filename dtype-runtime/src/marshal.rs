//! Layouts as bytes (the feature `marshal`). The bytes describe a layout to another process, such as the
//! target of one-sided communication, or describe the contents of a file.
//!
//! The nodes of a tree are written one after another, children before their parents, with `serde` and
//! `postcard`. So reading needs no recursion, however deep the tree is.

use dtype_core::{BaseType, Bounds, TypeTree};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The largest number of levels of a tree, leaves included.
const MOST_LEVELS: usize = 256;

/// The serialized form of a layout.
#[derive(Serialize, Deserialize)]
struct Marshalled {
    version: u8,
    lower_bound: i64,
    extent: i64,
    nodes: Vec<Node>,
}

const VERSION: u8 = 2;

/// A node of the tree. Its children precede it.
#[derive(Serialize, Deserialize)]
enum Node {
    /// The name of a base type.
    Leaf(String),
    Vector {
        count: u64,
        stride: i64,
    },
    Index {
        displacements: Vec<i64>,
    },
    IndexBucket {
        stride: i64,
        buckets: Vec<u64>,
        displacements: Vec<i64>,
    },
    Struct {
        displacements: Vec<i64>,
    },
}

/// Writes a layout as bytes: its tree, lower bound and extent.
///
/// ```
/// use dtype_runtime::{
///     marshal::{marshal, unmarshal},
///     tree::{BaseType, Bounds, TypeTree},
/// };
///
/// let column = TypeTree::vector(100, 800, TypeTree::Leaf(BaseType::F64));
/// let bytes = marshal(&column, Bounds::of_extent(8))?;
/// assert_eq!(bytes.len(), 13);
/// assert_eq!(unmarshal(&bytes)?, (column, Bounds::of_extent(8)));
/// # Ok::<(), dtype_runtime::Error>(())
/// ```
///
/// # Errors
/// `Argument` for an invalid tree, and `Type` for a tree of more than 256 levels.
pub fn marshal(tree: &TypeTree, bounds: Bounds) -> Result<Vec<u8>, Error> {
    tree.measure()?;
    let mut nodes = Vec::new();
    write(tree, MOST_LEVELS, &mut nodes)?;
    let Bounds { lower_bound, extent } = bounds;
    postcard::to_allocvec(&Marshalled { version: VERSION, lower_bound, extent, nodes })
        .map_err(|error| refused(&error))
}

/// Reads a layout from bytes, which may come from an untrusted source.
///
/// # Errors
/// `Type` if the bytes are not in the format of `marshal`, and `Argument` if they describe an invalid tree.
pub fn unmarshal(bytes: &[u8]) -> Result<(TypeTree, Bounds), Error> {
    let (marshalled, rest) =
        postcard::take_from_bytes::<Marshalled>(bytes).map_err(|error| refused(&error))?;
    let Marshalled { version, lower_bound, extent, nodes } = marshalled;
    if version != VERSION {
        return Err(refused(&format!(
            "their version is {version}, but this program reads version {VERSION}"
        )));
    }
    if !rest.is_empty() {
        return Err(refused(&format!("{} bytes follow the description", rest.len())));
    }
    // The trees without a parent so far, and the depth of each.
    let mut trees: Vec<(TypeTree, usize)> = Vec::new();
    for node in nodes {
        let children = match &node {
            Node::Leaf(_) => 0,
            Node::Struct { displacements } => displacements.len(),
            _ => 1,
        };
        let Some(first) = trees.len().checked_sub(children) else {
            return Err(refused(&"a node lacks children"));
        };
        let mut children = trees.split_off(first);
        let level = 1 + children.iter().map(|(_, level)| *level).max().unwrap_or(0);
        if level > MOST_LEVELS {
            return Err(too_deep());
        }
        let mut child = || children.pop().map_or_else(|| TypeTree::structure([], []), |(tree, _)| tree);
        let tree = match node {
            Node::Leaf(name) => {
                let known = BaseType::all().find(|base| base.name() == name);
                TypeTree::Leaf(known.ok_or_else(|| refused(&format!("`{name}` is no base type")))?)
            }
            Node::Vector { count, stride } => TypeTree::vector(count, stride, child()),
            Node::Index { displacements } => TypeTree::index(displacements, child()),
            Node::IndexBucket { stride, buckets, displacements } => {
                TypeTree::index_bucket(stride, buckets, displacements, child())
            }
            Node::Struct { displacements } => {
                let children: Vec<_> = children.into_iter().map(|(tree, _)| tree).collect();
                TypeTree::structure(displacements, children)
            }
        };
        trees.push((tree, level));
    }
    let (Some((tree, _)), true) = (trees.pop(), trees.is_empty()) else {
        return Err(refused(&"the nodes do not form a single tree"));
    };
    tree.measure()?;
    Ok((tree, Bounds { lower_bound, extent }))
}

/// Appends the nodes of a tree, which may have at most `levels` levels.
fn write(tree: &TypeTree, levels: usize, nodes: &mut Vec<Node>) -> Result<(), Error> {
    let below = levels.checked_sub(1).ok_or_else(too_deep)?;
    tree.children().iter().try_for_each(|child| write(child, below, nodes))?;
    nodes.push(match tree {
        TypeTree::Leaf(base) => Node::Leaf(base.name().to_owned()),
        TypeTree::Vector { count, stride, .. } => Node::Vector { count: *count, stride: *stride },
        TypeTree::Index { displacements, .. } => Node::Index { displacements: displacements.clone() },
        TypeTree::IndexBucket { stride, buckets, displacements, .. } => Node::IndexBucket {
            stride: *stride,
            buckets: buckets.clone(),
            displacements: displacements.clone(),
        },
        TypeTree::Struct { displacements, .. } => Node::Struct { displacements: displacements.clone() },
    });
    Ok(())
}

fn too_deep() -> Error {
    refused(&format!("the tree has more than {MOST_LEVELS} levels"))
}

fn refused(reason: &dyn std::fmt::Display) -> Error {
    Error::Marshal { reason: reason.to_string() }
}
