//! The layouts of the demo, and their descriptions.

use dtype_runtime::{
    Layout, MpiDatatype, layout,
    layout::LayoutOrigin,
    tree::{Optimality, Program, Runs, TypeTree},
};

/// A struct of base types and arrays, solved during macro expansion.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Particle {
    pub position: [f64; 3],
    pub velocity: [f64; 3],
    pub id: u64,
    pub kind: u8,
}

impl Particle {
    /// Returns a particle in which every field depends on its rank and index.
    pub fn of(rank: i32, index: usize) -> Self {
        let x = index as f64 + f64::from(rank) / 8.0;
        let id = index as u64 * 1000 + (rank + 1) as u64;
        Self { position: [x, -x, 0.5], velocity: [1.0, x * x, -2.0], id, kind: (index % 251) as u8 }
    }
}

/// A struct of different base types, with padding between the fields.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct Mixed {
    pub flag: u8,
    pub value: f64,
    pub level: i16,
    pub weight: f32,
}

/// A struct of structs in the order that the compiler chooses, solved during constant evaluation.
#[derive(MpiDatatype, Clone, Copy, Debug, Default, PartialEq)]
pub struct Cell {
    pub occupied: bool,
    pub particles: [Particle; 2],
    pub summary: Mixed,
}

#[cfg(feature = "mpi")]
pub type Matrix = [[f64; 1000]; 1000];
#[cfg(feature = "mpi")]
pub type Grid = [[[f64; 64]; 64]; 64];

/// Returns a matrix on the heap: eight megabytes are too many for the stack.
#[cfg(feature = "mpi")]
pub fn zero_matrix() -> Box<Matrix> {
    vec![[0.0; 1000]; 1000].try_into().expect("1000 rows")
}

/// Returns a grid on the heap.
#[cfg(feature = "mpi")]
pub fn zero_grid() -> Box<Grid> {
    vec![[[0.0; 64]; 64]; 64].try_into().expect("64 planes")
}

/// The solution for one layout, with a title.
struct Description<'a> {
    title: &'a str,
    type_map: Runs,
    tree: &'a TypeTree,
    cost: u64,
    optimality: Optimality,
    origin: LayoutOrigin,
    program: &'a Program,
}

impl Description<'_> {
    fn print(&self) {
        let least = match self.optimality {
            Optimality::Proven => "proven least",
            Optimality::UpperBound => "an upper bound",
        };
        println!("{}", self.title);
        println!("  type map      {}", self.type_map);
        print_lines("  tree          ", &self.tree.to_string());
        println!("  cost          {} ({least})", self.cost);
        println!("  solved at     {}", self.origin);
        print_lines("  calls         ", &self.program.to_string());
        println!();
    }
}

/// Prints `label` before the first line, and indents the other lines by its width.
fn print_lines(label: &str, lines: &str) {
    for (i, line) in lines.lines().enumerate() {
        println!("{}{line}", if i == 0 { label } else { "                " });
    }
}

fn describe_type<T: MpiDatatype>(title: &str) {
    Description {
        title,
        type_map: T::type_map().expect("few runs"),
        tree: T::tree(),
        cost: T::cost(),
        optimality: T::optimality(),
        origin: T::layout_origin(),
        program: T::constructor_calls(),
    }
    .print();
}

fn describe_layout(title: &str, layout: &impl Layout) {
    Description {
        title,
        type_map: layout.type_map().expect("few runs"),
        tree: layout.tree(),
        cost: layout.cost(),
        optimality: layout.optimality(),
        origin: layout.layout_origin(),
        program: layout.constructor_calls(),
    }
    .print();
}

/// Prints the solution for each layout.
pub fn describe() {
    describe_type::<Particle>(
        "struct Particle { position: [f64; 3], velocity: [f64; 3], id: u64, kind: u8 }",
    );
    describe_type::<Mixed>("struct Mixed { flag: u8, value: f64, level: i16, weight: f32 }");
    describe_type::<Cell>("struct Cell { occupied: bool, particles: [Particle; 2], summary: Mixed }");
    describe_layout("column: f64[1000][1000] => [.., 3]", &layout!(f64[1000][1000] => [.., 3]));
    describe_layout(
        "block: f64[1000][1000] => [100..300, 40..90]",
        &layout!(f64[1000][1000] => [100..300, 40..90]),
    );
    describe_layout(
        "face: f64[64][64][64] => [1..63, 1..63, 0]",
        &layout!(f64[64][64][64] => [1..63, 1..63, 0]),
    );
}

/// Packs values and unpacks them into other places, without MPI.
#[cfg(not(feature = "mpi"))]
pub fn pack_and_unpack() {
    let cells: Vec<Cell> = (0..100)
        .map(|i| Cell {
            occupied: i % 2 == 0,
            particles: [Particle::of(1, i), Particle::of(2, i)],
            ..Cell::default()
        })
        .collect();
    let bytes = dtype_runtime::pack(&cells);
    let mut copies = vec![Cell::default(); cells.len()];
    dtype_runtime::unpack_into(&bytes, &mut copies).expect("the bytes of these cells");
    assert_eq!(copies, cells);
    println!(
        "100 cells, {} bytes in memory, travelled as {} packed bytes",
        size_of_val(&cells[..]),
        bytes.len()
    );
}
