use dtype_runtime::{MpiDatatype, layout};

#[derive(MpiDatatype)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    id: u64,
}

fn main() {
    let _ = layout!(Particle => .position[1..=3]);
}
