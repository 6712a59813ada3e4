//! A tree as a graph for Graphviz, with equal subtrees drawn once.

use std::fmt::{self, Write};

use dtype_core::{CostModel, TypeTree};

/// Writes the graph of a tree. Each node shows the cost of its subtree.
pub(super) fn write(f: &mut String, tree: &TypeTree, costs: &dyn CostModel) -> fmt::Result {
    writeln!(f, "digraph layout {{")?;
    writeln!(f, "    node [shape=box, fontname=\"monospace\"];\n    edge [fontname=\"monospace\"];")?;
    let mut graph = Graph { costs, nodes: Vec::new() };
    graph.node(f, tree)?;
    writeln!(f, "}}")
}

struct Graph<'a> {
    costs: &'a dyn CostModel,
    /// The nodes that are already written.
    nodes: Vec<&'a TypeTree>,
}

impl<'a> Graph<'a> {
    /// Writes a node and its subtree, unless an equal one is already written. Returns the node's number.
    fn node(&mut self, f: &mut String, tree: &'a TypeTree) -> Result<usize, fmt::Error> {
        if let Some(number) = self.nodes.iter().position(|known| *known == tree) {
            return Ok(number);
        }
        let number = self.nodes.len();
        self.nodes.push(tree);
        let drawn = tree.to_string();
        let label = drawn.lines().next().unwrap_or_default();
        writeln!(f, "    n{number} [label=\"{label}\\ncost {}\"];", tree.cost(self.costs))?;
        for (i, child) in tree.children().iter().enumerate() {
            let child = self.node(f, child)?;
            match tree {
                TypeTree::Struct { displacements, .. } => {
                    writeln!(f, "    n{number} -> n{child} [label=\"@ {}\"];", displacements[i])?;
                }
                _ => writeln!(f, "    n{number} -> n{child};")?,
            }
        }
        Ok(number)
    }
}
