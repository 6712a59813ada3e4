//! An unstructured mesh. Each rank sends the temperatures of its border nodes to a neighbour, which keeps
//! copies of these nodes. The values go straight from the sender's structs into the neighbour's structs.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/gather`.

use dtype_runtime::{Comm, MpiDatatype, Result, layout, run};

#[derive(MpiDatatype, Clone, Debug, Default, PartialEq)]
struct Node {
    position: [f64; 3],
    temperature: f64,
    material: u8,
    /// The nodes that this node is connected with.
    #[mpi(skip)]
    edges: Vec<usize>,
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);

    let nodes = 1000;
    let temperature = |rank: usize, node: usize| 273.0 + rank as f64 + node as f64 / 1000.0;
    let mut mesh: Vec<Node> = (0..nodes)
        .map(|node| Node { temperature: temperature(rank, node), edges: vec![node + 1], ..Node::default() })
        .collect();

    // Two lists from the tool that partitioned the mesh: the border nodes, in no order, and the places of the
    // copies of the neighbour's nodes. The lists hold 32-bit integers, which `layout!` takes without
    // conversion.
    let border: Vec<i32> = (0..100).map(|k| k * 7919 % 1000).collect();
    let copies: Vec<i32> = (0..100).map(|k| (k * 7919 + 500) % 1000).collect();
    let (outgoing, incoming) =
        (layout!(Node[nodes] => [{&border}].temperature)?, layout!(Node[nodes] => [{&copies}].temperature)?);

    let own = mesh.clone();
    world.exchange([(next, &outgoing.of(&own)?)], [(previous, &mut incoming.of_mut(&mut mesh)?)])?;

    for (border, copy) in border.iter().zip(&copies) {
        assert_eq!(mesh[*copy as usize].temperature, temperature(previous, *border as usize));
    }
    let changed = mesh.iter().zip(&own).filter(|(new, old)| new != old).count();
    assert!(changed <= 100);
    if rank == 0 {
        println!("{} temperatures of {nodes} nodes went to each neighbour of {size} ranks", border.len());
        // The solver finds out that this list is regular.
        let every_third: Vec<usize> = (0..nodes).step_by(3).collect();
        println!("{}", layout!(Node[nodes] => [{every_third}].temperature)?.explain());
    }
    Ok(())
}
