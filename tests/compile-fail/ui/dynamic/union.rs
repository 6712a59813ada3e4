use dtype_runtime::MpiMessage;

#[derive(MpiMessage)]
union Bad {
    number: u64,
    letter: char,
}

fn main() {}
