# Sends a structured array of numpy back and forth, and says how long it takes.
#
#   mpiexec -n 2 python3 particles.py
#   dtype run mpiexec -n 2 python3 particles.py
import numpy
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype

COUNT, ROUNDS = 10_000, 200
world = MPI.COMM_WORLD
rank = world.Get_rank()
layout = numpy.dtype([("kind", "u1"), ("mass", "f8"), ("charge", "i2"), ("spin", "f4")], align=True)
particle = from_numpy_dtype(layout).Commit()

particles = numpy.zeros(COUNT, layout)
particles["mass"] = numpy.arange(COUNT) * 0.5 + rank
took = []
for _ in range(ROUNDS):
    began = MPI.Wtime()
    if rank == 0:
        world.Send([particles, COUNT, particle], 1)
        world.Recv([particles, COUNT, particle], 1)
    elif rank == 1:
        world.Recv([particles, COUNT, particle], 0)
        world.Send([particles, COUNT, particle], 0)
    took.append(MPI.Wtime() - began)
if rank == 0:
    took.sort()
    print(f"{COUNT} structs of numpy in Python: {took[ROUNDS // 2] / 2 * 1e6:.1f} us each way")
if rank < 2:
    assert (particles["mass"] == numpy.arange(COUNT) * 0.5).all(), "the structs are wrong"
particle.Free()
