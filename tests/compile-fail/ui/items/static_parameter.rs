use dtype_runtime::MpiDatatype;

#[derive(MpiDatatype)]
struct Marked<T> {
    value: f64,
    marker: std::marker::PhantomData<T>,
}

fn carried<T: MpiDatatype>() {}

fn borrowed<'a>(_: &'a u8) {
    carried::<Marked<&'a u8>>();
}

fn main() {}
