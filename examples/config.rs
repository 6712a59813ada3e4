//! A configuration with texts, lists and choices is read by one rank and sent to all.
//!
//! Run it on any number of ranks: `mpiexec -n 4 target/debug/config`.

use std::{collections::BTreeMap, time::Duration};

use dtype_runtime::{Comm, MpiMessage, Result, run};

#[derive(MpiMessage, Debug, PartialEq)]
struct Config {
    title: String,
    output: Output,
    materials: BTreeMap<String, Vec<f64>>,
    limit: Option<Duration>,
}

#[derive(MpiMessage, Debug, PartialEq)]
enum Output {
    Nothing,
    File { name: String, every: u32 },
}

/// Returns the configuration that a program would read from a file.
fn read() -> Config {
    Config {
        title: "bridge, first load".to_owned(),
        output: Output::File { name: "bridge.out".to_owned(), every: 10 },
        materials: BTreeMap::from([
            ("steel".to_owned(), vec![210.0, 0.3]),
            ("concrete".to_owned(), vec![30.0, 0.2, 2.4]),
        ]),
        limit: Some(Duration::from_mins(90)),
    }
}

fn main() {
    run(program);
}

fn program(world: &Comm) -> Result {
    let own = (world.rank() == 0).then(read);
    let config = world.broadcast(0, own)?;
    assert_eq!(config, read());
    let report = match &config.output {
        Output::Nothing => "no output".to_owned(),
        Output::File { name, every } => format!("output to {name} every {every} steps"),
    };
    let line =
        format!("rank {}: {}, {} materials, {report}", world.rank(), config.title, config.materials.len());
    if let Some(lines) = world.gather(0, &line)? {
        println!("{}", lines.join("\n"));
    }
    Ok(())
}
