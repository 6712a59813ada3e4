use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Callbacks {
    boxed: Box<f64>,
    dynamic: [Box<dyn Fn()>; 2],
    function: fn(f64) -> f64,
}

fn main() {}
