use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
enum Bad {
    #[mpi(skip)]
    One,
    Two(String),
}

fn main() {}
