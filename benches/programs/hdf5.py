"""Each rank writes a block of a cube to an HDF5 file by h5py, and reads a block of another shape.

    mpiexec -n 4 /usr/bin/python3 hdf5.py FILE
"""

import os
import sys

import h5py
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
path = sys.argv[1] if len(sys.argv) > 1 else "cube.h5"
side = 96
share = side // comm.size
own = slice(comm.rank * share, (comm.rank + 1) * share)
total = 0.0
with h5py.File(path, "w", driver="mpio", comm=comm) as file:
    cube = file.create_dataset("cube", (side, side, side), "f8")
    for turn in range(5):
        values = np.arange(side * side * share, dtype="f8").reshape(side, side, share) % 777 + comm.rank + turn
        with cube.collective:
            cube[:, :, own] = values
            total += cube[:, own, : share * comm.size].sum()
total = comm.allreduce(total)
if comm.rank == 0:
    os.remove(path)
    print(f"sum {total:.0f}".replace(".", ","))
