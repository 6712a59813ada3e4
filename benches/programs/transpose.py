"""A matrix of complex numbers moves from rows to columns and back by mpi4py-fft, on any number of ranks.

    mpiexec -n 4 /usr/bin/python3 benches/python/transpose.py
"""

import time

import numpy as np
from mpi4py import MPI
from mpi4py_fft.pencil import Pencil, Subcomm

comm = MPI.COMM_WORLD
for side in (512, 2048):
    rows = Pencil(Subcomm(comm, [0, 1]), (side, side), 1)
    columns = rows.pencil(0)
    transfer = rows.transfer(columns, complex)
    first = np.random.random(rows.subshape) + 1j
    between = np.zeros(columns.subshape, complex)
    last = np.zeros(rows.subshape, complex)
    times = []
    for _ in range(60):
        comm.Barrier()
        start = time.perf_counter()
        transfer.forward(first, between)
        transfer.backward(between, last)
        times.append(comm.allreduce(time.perf_counter() - start, MPI.MAX))
    assert (first == last).all()
    if comm.rank == 0:
        print(f"{side} rows on {comm.size} ranks, there and back: {1e6 * np.median(times):.1f} us", flush=True)
