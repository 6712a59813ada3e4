use dtype_runtime::{MpiDatatype, layout};

#[derive(MpiDatatype, Clone, Copy)]
struct Cell {
    pressure: f64,
    is_wall: bool,
}

fn main() {
    let n = 3;
    let mut cells = [Cell { pressure: 0.5, is_wall: false }; 3];
    let pressures = layout!(Cell[3] => [..].pressure);
    let sum: f64 = pressures.of(&cells).iter().map(|cell| cell.pressure).sum();
    let walls = layout!(Cell[n] => [..].is_wall).unwrap();
    walls.of_mut(&mut cells).unwrap().for_each_mut(|cell| cell.is_wall = sum > 1.0);
    for cell in &pressures.of(&cells) {
        println!("{}", cell.pressure);
    }
}
