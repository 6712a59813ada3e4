//! Benchmarks of the algorithms and of packing; they need no MPI. See `benches/`.
