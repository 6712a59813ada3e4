//! A mesh with vectors of several types is divided among the ranks and put together again. The large vectors
//! are not copied: MPI sends them from where they are, and the largest one becomes a `Vec` as it arrives.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/mesh`.

use dtype_runtime::{Comm, MpiDatatype, MpiMessage, Result, run};

#[derive(MpiMessage, Clone, Debug, Default, PartialEq)]
struct Mesh {
    name: String,
    points: Vec<[f64; 3]>,
    cells: Vec<Cell>,
    /// Named groups of cells.
    groups: Vec<(String, Vec<u32>)>,
}

#[derive(MpiDatatype, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Cell {
    corners: [u32; 4],
    material: u8,
}

/// Returns a strip of tetrahedra.
fn strip(cells: u32) -> Mesh {
    let point = |i| [f64::from(i), f64::from(i % 2), f64::from(i / 2 % 2)];
    let cell = |i| Cell { corners: [i, i + 1, i + 2, i + 3], material: (i % 3) as u8 };
    Mesh {
        name: "strip".to_owned(),
        points: (0..cells + 3).map(point).collect(),
        cells: (0..cells).map(cell).collect(),
        groups: vec![("ends".to_owned(), vec![0, cells - 1]), ("all".to_owned(), (0..cells).collect())],
    }
}

/// Returns the part of a mesh that consists of a range of its cells.
fn part(mesh: &Mesh, cells: std::ops::Range<usize>) -> Mesh {
    let own = |cell: &&u32| cells.contains(&(**cell as usize));
    let groups = mesh.groups.iter();
    Mesh {
        name: format!("{} {}..{}", mesh.name, cells.start, cells.end),
        points: mesh.points.clone(),
        cells: mesh.cells[cells.clone()].to_vec(),
        groups: groups
            .map(|(name, cells)| (name.clone(), cells.iter().filter(own).copied().collect()))
            .collect(),
    }
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let (rank, size) = (world.rank(), world.size());
    let whole = strip(100_000);
    let of = |rank: usize| whole.cells.len() * rank / size..whole.cells.len() * (rank + 1) / size;

    let parts: Option<Vec<_>> = (rank == 0).then(|| (0..size).map(|i| part(&whole, of(i))).collect());
    let own = world.scatter(0, parts.as_deref())?;
    assert_eq!(own, part(&whole, of(rank)));

    if rank > 0 {
        world.peer(0).send(&own)?;
        return Ok(());
    }
    let (mut cells, mut arrived) = (own.cells, Mesh::default());
    for other in 1..size {
        world.peer(other).receive_into(&mut arrived)?;
        cells.append(&mut arrived.cells);
    }
    assert_eq!(cells, whole.cells);
    println!("a mesh of {} cells is whole again after {size} ranks had its parts", cells.len());
    Ok(())
}
