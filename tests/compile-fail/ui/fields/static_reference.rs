use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Named {
    name: &'static str,
    values: &'static [f64],
}

fn main() {}
