//! Runs every example to its end, on the number of ranks that the example is written for.

use std::time::Duration;

use xtask::launch::{Finished, run};

fn succeeds(finished: &Finished, expected: &str) {
    assert!(
        finished.status.is_some_and(|status| status.success()),
        "{:?}\n{}",
        finished.status,
        finished.output
    );
    assert!(finished.output.contains(expected), "no `{expected}` in:\n{}", finished.output);
}

#[cfg(feature = "mpi")]
fn on_ranks(ranks: usize, program: &str, expected: &str) {
    let mut command = xtask::launch::on_ranks(xtask::launch::mpiexec(), ranks, program);
    succeeds(&run(&mut command, Duration::from_mins(4)).unwrap(), expected);
}

#[test]
fn pack_prints_the_error_and_the_board() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pack"));
    succeeds(&run(&mut command, Duration::from_mins(1)).unwrap(), ".#.#.#..");
}

#[test]
fn segments_arrive_over_an_unreliable_link() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_segments"));
    succeeds(&run(&mut command, Duration::from_mins(1)).unwrap(), "100 readings have arrived in 30 segments");
}

#[test]
fn explain_draws_the_triangle() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_explain"));
    succeeds(&run(&mut command, Duration::from_mins(1)).unwrap(), "· ■ ■ ■ ■ ■ ■ ■   └─ f64");
}

#[cfg(feature = "mpi")]
#[test]
fn ring_brings_the_particles_home() {
    on_ranks(4, env!("CARGO_BIN_EXE_ring"), "1000 particles returned to each of 4 ranks");
}

#[cfg(feature = "mpi")]
#[test]
fn column_becomes_a_row() {
    on_ranks(2, env!("CARGO_BIN_EXE_column"), "column 3 has become row 7, and nothing else has changed");
}

#[cfg(feature = "mpi")]
#[test]
fn heat_flows_through_the_halos() {
    for ranks in [1, 4, 6] {
        let expected = format!("{ranks} boxes hold after 200 steps what a single one does");
        on_ranks(ranks, env!("CARGO_BIN_EXE_heat"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn heat_flows_while_messages_are_under_way() {
    for ranks in [1, 4, 6] {
        let expected = format!("{ranks} boxes hold after 20 steps what a single one does");
        on_ranks(ranks, env!("CARGO_BIN_EXE_heat3d"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn arrays_move_files_and_windows_hold_them_and_closures_reduce_them() {
    for ranks in [1, 3, 4] {
        let expected = format!("{ranks} ranks transform an array of [12, 10, 8] as one rank does");
        on_ranks(ranks, env!("CARGO_BIN_EXE_pencil"), &expected);
        let expected = format!("{} ranks have read what {ranks} have written", ranks.max(2) - 1);
        on_ranks(ranks, env!("CARGO_BIN_EXE_checkpoint"), &expected);
        let expected = format!("{ranks} ranks hold after 25 steps what a single one does");
        on_ranks(ranks, env!("CARGO_BIN_EXE_ghosts"), &expected);
        on_ranks(ranks, env!("CARGO_BIN_EXE_dot"), "and element 699 is the largest");
    }
}

#[cfg(feature = "mpi")]
#[test]
fn a_checkpoint_is_read_by_c_and_by_numpy() {
    use std::{path::Path, process::Command};

    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, program) = (folder.join("cells.bin"), folder.join("checkpoint-in-c"));
    let checkpoint = env!("CARGO_BIN_EXE_checkpoint");
    let mut writer = xtask::launch::on_ranks(xtask::launch::mpiexec(), 4, checkpoint);
    succeeds(&run(writer.arg(&file), Duration::from_mins(4)).unwrap(), "3 ranks have read");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut compiler = Command::new("cc");
    compiler.arg(examples.join("checkpoint.c")).arg("-o").arg(&program);
    succeeds(&run(&mut compiler, Duration::from_mins(1)).unwrap(), "");
    let read = "600 cells have been read";
    succeeds(&run(Command::new(&program).arg(&file), Duration::from_mins(1)).unwrap(), read);
    // Without numpy, `cargo xtask test` says that it is missing.
    if let Ok(numpy) = xtask::launch::mpi4py() {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", numpy).arg(examples.join("checkpoint.py")).arg(&file);
        succeeds(&run(&mut python, Duration::from_mins(1)).unwrap(), read);
    }
    std::fs::remove_file(file).unwrap();
}

#[cfg(feature = "mpi")]
#[test]
fn python_sends_columns_by_rust() {
    use xtask::launch;

    // Without mpi4py, `cargo xtask test` says that it is missing.
    let Ok(mpi4py) = launch::mpi4py() else { return };
    launch::build("dtype-example-extension", &["--lib"]).unwrap();
    let library = std::env::current_exe().unwrap().parent().unwrap().with_file_name("libextension.so");
    let folder = launch::folder(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = launch::on_ranks(launch::mpiexec(), 3, "python3");
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/extension/program.py")).arg(library);
    command.envs(launch::python(&launch::mpicc(), mpi4py, &folder).unwrap());
    let finished = run(&mut command, Duration::from_mins(1)).unwrap();
    succeeds(&finished, "3 ranks of Python have sent columns by Rust");
}

#[cfg(feature = "mpi")]
#[test]
fn a_matrix_is_transposed_by_datatypes_alone() {
    for ranks in [1, 4] {
        on_ranks(ranks, env!("CARGO_BIN_EXE_transpose"), "have transposed a matrix of 24 rows");
    }
}

#[cfg(feature = "mpi")]
#[test]
fn a_product_is_distributed_by_columns() {
    for ranks in [1, 3] {
        let expected = format!("the product of {ranks} ranks is that of one");
        on_ranks(ranks, env!("CARGO_BIN_EXE_product"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn an_unstructured_mesh_exchanges_its_border() {
    on_ranks(
        3,
        env!("CARGO_BIN_EXE_gather"),
        "100 temperatures of 1000 nodes went to each neighbour of 3 ranks",
    );
}

#[cfg(feature = "mpi")]
#[test]
fn the_demo_checks_every_byte_and_prints_its_table() {
    on_ranks(2, env!("CARGO_BIN_EXE_demo"), "by hand");
    on_ranks(4, env!("CARGO_BIN_EXE_demo"), "a column, a block and a face were exchanged");
}

#[cfg(not(feature = "mpi"))]
#[test]
fn the_demo_shows_what_needs_no_mpi() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_demo"));
    succeeds(&run(&mut command, Duration::from_mins(1)).unwrap(), "travelled as");
}

#[cfg(feature = "mpi")]
#[test]
fn particles_move_to_other_ranks_and_none_is_lost() {
    for ranks in [1, 4] {
        on_ranks(
            ranks,
            env!("CARGO_BIN_EXE_migrate"),
            &format!("{} particles on {ranks} ranks", 100 * ranks),
        );
    }
}

#[cfg(feature = "mpi")]
#[test]
fn values_of_any_type_are_sorted_on_all_ranks() {
    for ranks in [1, 3, 4] {
        let expected = format!("{} numbers and as many records are sorted on {ranks} ranks", 1000 * ranks);
        on_ranks(ranks, env!("CARGO_BIN_EXE_sort"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn a_triangle_is_divided_into_unequal_parts() {
    for ranks in [1, 3, 4] {
        let expected = format!("the 5050 elements of a triangle came back from {ranks} ranks");
        on_ranks(ranks, env!("CARGO_BIN_EXE_unequal"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn a_configuration_reaches_all_ranks() {
    for ranks in [1, 3] {
        let last = format!("rank {}: bridge, first load, 2 materials, output to bridge.out", ranks - 1);
        on_ranks(ranks, env!("CARGO_BIN_EXE_config"), &last);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn workers_take_tasks_of_any_size() {
    for ranks in [2, 4] {
        let expected = format!("1600 numbers have been factored by {} workers", ranks - 1);
        on_ranks(ranks, env!("CARGO_BIN_EXE_workers"), &expected);
    }
}

#[cfg(feature = "mpi")]
#[test]
fn a_mesh_is_divided_and_put_together_again() {
    for ranks in [1, 3] {
        let expected = format!("a mesh of 100000 cells is whole again after {ranks} ranks had its parts");
        on_ranks(ranks, env!("CARGO_BIN_EXE_mesh"), &expected);
    }
}
