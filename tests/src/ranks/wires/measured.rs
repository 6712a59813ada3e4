//! Measurements between ranks, and tables that the program provides: values arrive, whatever a table says.

use dtype_runtime::{Error, Wire, layout, traits::*, wire, wire::Calibration};
use dtype_tests::is_intel;
use mpi::{
    topology::{Color, SimpleCommunicator},
    traits::*,
};

use super::{WIRES, neighbours};

/// Sends by measured tables, by tables with the opposite choices, and by a table of a communicator that is
/// then dropped.
pub fn measured(world: &SimpleCommunicator) {
    travel(world, None);
    // The built-in table has rows for every library that this test runs with, but for Intel MPI.
    let followed = if is_intel() { String::new() } else { wire::table_library() };
    assert_eq!(wire::table_followed().unwrap(), followed);
    let calibration = wire::calibrate(world).unwrap();
    let text = calibration.to_string();
    agree(world, &text);
    let rows: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert_eq!(rows.is_empty(), world.size() == 1, "{text}");
    let library = wire::table_library();
    let column = layout!(f64[512][8] => [.., 3]);
    let row = wire::table_row(&column.of(&[[0.5; 8]; 512]));
    assert_eq!(row, Some(format!("{library} strided 8 4096")));
    assert_eq!(wire::table_row(&[0.5; 512]), None);
    for row in &rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [of, _, _, _, _, least, most, rounds] = words[..] else { panic!("{row}") };
        assert!(of.starts_with(&library), "{row}");
        // If ranks share a processor, one wire may seem to take no time.
        assert_eq!(least, most, "{row}");
        assert!(least.parse::<f64>().unwrap() >= 0.0 && rounds.parse::<u32>().unwrap() > 0, "{row}");
    }
    travel(world, Some(&calibration));

    // The text of a calibration is a table. All ranks use the table of rank 0.
    let again = wire::calibrate_with(world, &text).unwrap();
    assert_eq!(again.to_string(), text);
    for (way, pieces) in [("typed", "segments"), ("packed", "packed")] {
        let rows = ["strided", "nested", "listed"].map(|order| format!("{library} {order} 8 64 {way}\n"));
        let table = rows.concat() + &format!("{library}-between-nodes pieces 131072 262144 {pieces}\n");
        let table = if world.rank() == 0 { table } else { String::from("what is no table") };
        let calibration = wire::calibrate_with(world, &table).unwrap();
        agree(world, &calibration.to_string());
        travel(world, Some(&calibration));
    }
    let all_pieces = format!("{library} pieces 131072 262144 segments\n");
    travel(world, Some(&wire::calibrate_with(world, &all_pieces).unwrap()));
    let error = wire::calibrate_with(world, &format!("{library} strided 8 64 quickly")).unwrap_err();
    assert!(matches!(error, Error::Table { .. }) && error.to_string().contains("of rank 0"), "{error}");
    // A table longer than the limit is an error on every rank, even if the limit lies within a character.
    let longer = "é".repeat((4 << 20) + 1);
    let error = wire::calibrate_with(world, if world.rank() == 0 { &longer } else { "" }).unwrap_err();
    assert!(matches!(error, Error::Table { .. }) && error.to_string().contains("8388608"), "{error}");

    // A calibration of a communicator with some of the ranks, which is then dropped.
    let half = world.split_by_color(Color::with_value(world.rank() % 2)).expect("every rank is in one");
    let calibration = wire::calibrate(&half).unwrap();
    travel(&half, Some(&calibration));
    drop(half);
    travel(world, None);
}

/// Checks that all ranks have the same text.
fn agree(world: &SimpleCommunicator, text: &str) {
    let mut of_root = text.as_bytes().to_vec();
    let mut length = of_root.len();
    world.process_at_rank(0).broadcast_into(&mut length);
    of_root.resize(length, 0);
    world.process_at_rank(0).broadcast_into(&mut of_root[..]);
    assert_eq!(text.as_bytes(), of_root);
}

/// Sends parts of arrays of all kinds to the next rank, on every wire and on the wire that both sides look up
/// in the calibration.
fn travel(world: &SimpleCommunicator, calibration: Option<&Calibration>) {
    wire::attach(world).unwrap();
    let (next, previous, from) = neighbours(world);
    for n in [6usize, 48, 400] {
        let number = |rank: i32, i: usize| f64::from(rank) * 1e6 + i as f64;
        let own: Vec<f64> = (0..n * n).map(|i| number(world.rank(), i)).collect();
        let list: Vec<usize> = (0..n / 2).map(|i| 2 * i + i * i % 2).collect();
        let layouts = [
            layout!(f64[n][n] => [.., 3]).unwrap(),
            layout!(f64[n][n] => [1..-1, 2..-1]).unwrap(),
            layout!(f64[n][n] => [{ &list }, {&list}]).unwrap(),
        ];
        for layout in layouts {
            let view = layout.of(&own).unwrap();
            let named = |rank| calibration.map_or(Wire::Auto, |found| found.wire(&view, rank));
            for wire in WIRES.map(Some).into_iter().chain([None]) {
                let mut received = vec![-1.0; n * n];
                let mut into = layout.of_mut(&mut received).unwrap();
                let send = wire.unwrap_or_else(|| named(next.rank()));
                let receive = wire.unwrap_or_else(|| named(previous.rank()));
                let sent = mpi::request::scope(|scope| {
                    let sending = next.immediate_send_over_with_tag(scope, send, &view, 5).unwrap();
                    previous.receive_over_with_tag(receive, &mut into, 5).unwrap();
                    sending.wait()
                });
                sent.unwrap();
                let mut expected = vec![-1.0; n * n];
                let of_previous: Vec<f64> = (0..n * n).map(|i| number(from, i)).collect();
                let packed = layout.of(&of_previous).unwrap().pack();
                layout.of_mut(&mut expected).unwrap().unpack(&packed).unwrap();
                assert!(received == expected, "{n} {send:?} {receive:?}");
            }
        }
    }
}
