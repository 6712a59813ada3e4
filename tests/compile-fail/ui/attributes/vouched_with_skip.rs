use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
#[mpi(unsafe_equivalence)]
struct Node {
    value: f64,
    #[mpi(skip)]
    neighbours: Vec<usize>,
}

fn main() {}
