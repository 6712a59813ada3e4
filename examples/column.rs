//! A column of one rank's matrix becomes a row of the other's: `layout!` and views.
//!
//! Run it on two ranks: `mpiexec -n 2 target/debug/column`.

use dtype_runtime::{Result, layout, run};

fn main() {
    run(|world| -> Result {
        match world.rank() {
            0 => {
                let mut matrix = [[0.0f64; 100]; 100];
                for (i, row) in matrix.iter_mut().enumerate() {
                    row[3] = i as f64;
                }
                let column = layout!(f64[100][100] => [.., 3]);
                world.peer(1).send(&column.of(&matrix))?;
            }
            1 => {
                let mut matrix = [[-1.0f64; 100]; 100];
                // Another shape with the same number of elements: only these must agree.
                let row = layout!(f64[100][100] => [7, ..]);
                world.peer(0).receive_into(&mut row.of_mut(&mut matrix))?;
                for (i, line) in matrix.iter().enumerate() {
                    for (j, value) in line.iter().enumerate() {
                        assert_eq!(*value, if i == 7 { j as f64 } else { -1.0 });
                    }
                }
                println!("column 3 has become row 7, and nothing else has changed");
            }
            _ => {}
        }
        Ok(())
    });
}
