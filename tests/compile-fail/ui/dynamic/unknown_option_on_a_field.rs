use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
struct Bad {
    #[mpi(rename = "b")]
    name: String,
}

fn main() {}
