//! Layouts for the benchmarks: random ones, the same for the same seed, and those of published applications.
//! The build script writes C loops for them, so this module uses type trees only.

mod drawn;
mod published;

pub use drawn::{Random, Sample, list_unit, lists, samples};

/// Returns the layouts that are measured: random samples of all sizes, and the layouts of published
/// applications.
pub fn measured(seed: u64) -> Vec<Sample> {
    let mut all: Vec<_> = samples(seed, 64, 16 << 20).take(drawn::DRAWN).collect();
    all.extend(published::samples());
    all
}
