# Sends columns of numpy's matrices by a library in Rust.
#
#   cargo build --release -p dtype-example-extension
#   mpiexec -n 4 python3 examples/extension/program.py target/release/libextension.so
import ctypes
import sys

import numpy
from mpi4py import MPI  # first, since the library takes the MPI library that is loaded

extension = ctypes.CDLL(sys.argv[1])
matrix = numpy.ctypeslib.ndpointer(numpy.float64, ndim=2, flags="C")
extension.shift.argtypes = [ctypes.c_int, matrix, matrix, ctypes.c_size_t, ctypes.c_size_t]

world = MPI.COMM_WORLD.Dup()  # a communicator of its own, so that its messages meet no others
rank, size = world.Get_rank(), world.Get_size()
own, ghost = numpy.full((300, 200), float(rank)), numpy.zeros((300, 200))
own[:, -1] += numpy.arange(300)
assert extension.shift(world.py2f(), own, ghost, *own.shape) == 0

assert (ghost[:, 0] == (rank - 1) % size + numpy.arange(300)).all() and (ghost[:, 1:] == 0).all()
if rank == 0:
    print(f"{size} ranks of Python have sent columns by Rust")
