use dtype_runtime::{MpiDatatype, layout};

#[derive(MpiDatatype)]
#[repr(C)]
struct Particle {
    position: [f64; 3],
    id: u64,
}

fn main() {
    let mut particles = [Particle { position: [0.0; 3], id: 0 }, Particle { position: [0.0; 3], id: 0 }];
    layout!(Particle[2] => [..].position + [0].position[1]).of_mut(&mut particles);
}
