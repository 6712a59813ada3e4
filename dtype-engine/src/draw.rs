//! Pictures of plans.

use dtype_core::{BaseType, Bounds, NodeCosts, TypeTree, picture::Picture};

use super::{
    Plan,
    node::{Kind, Node, Placed, Places},
};
use crate::Error;

impl Plan {
    /// Returns a picture of the plan: the loops and blocks that the engine runs, as a type tree over bytes.
    ///
    /// ```
    /// use dtype_runtime::{pack::Plan, tree::{BaseType, TypeTree}};
    /// let plan = Plan::new(&TypeTree::vector(4, 24, TypeTree::Leaf(BaseType::F64)))?;
    /// assert!(plan.draw()?.text(false).contains("vec 4, stride 24"));
    /// # Ok::<(), dtype_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Tree`] if the numbers of the tree overflow.
    pub fn draw(&self) -> Result<Picture, Error> {
        let tree = placed(&self.compiled().part);
        let picture = Picture::new("plan", &tree, Bounds::of_extent(self.extent() as i64))?;
        // These costs count a node as often as it is run.
        Ok(picture.tree("what is run", &tree, 0, &NodeCosts::processing())?)
    }
}

fn placed(Placed { a, node, .. }: &Placed) -> TypeTree {
    match (a, tree(node)) {
        (0, tree) => tree,
        (a, tree) => TypeTree::index([*a as i64], tree),
    }
}

fn tree(node: &Node) -> TypeTree {
    let block = |size: usize| TypeTree::vector(size as u64, 1, TypeTree::Leaf(BaseType::Byte));
    match &node.kind {
        Kind::Block => block(node.size),
        Kind::Repeat { count, a: Places::Every(stride), child, .. } => {
            TypeTree::vector(*count as u64, *stride as i64, tree(child))
        }
        Kind::Repeat { a: Places::At(places), child, .. } => {
            TypeTree::index(places.iter().map(|at| *at as i64).collect::<Vec<_>>(), tree(child))
        }
        Kind::Blocks(blocks) => TypeTree::index_bucket(
            1,
            blocks.iter().map(|block| block.size as u64).collect::<Vec<_>>(),
            blocks.iter().map(|block| block.a as i64).collect::<Vec<_>>(),
            TypeTree::Leaf(BaseType::Byte),
        ),
        Kind::Buckets { a, buckets, child, .. } => {
            let copies = |count: usize| (0..count).map(|i| a.nth(i) as i64);
            let all = buckets.iter().flat_map(|bucket| copies(bucket.count).map(|at| at + bucket.a as i64));
            TypeTree::index(all.collect::<Vec<_>>(), tree(child))
        }
        Kind::Sequence(parts) => {
            let (places, children): (Vec<i64>, Vec<TypeTree>) =
                parts.iter().map(|part| (part.a as i64, tree(&part.node))).unzip();
            TypeTree::structure(places, children)
        }
    }
}
