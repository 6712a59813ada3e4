# Reads the file that the example `checkpoint` has written, without MPI and without this library: 30 x 20 cells in
# row-major order, each of nine bytes.

import sys

import numpy

cells = numpy.fromfile(sys.argv[1], numpy.dtype([("is_wall", "?"), ("pressure", "=f8")])).reshape(30, 20)
index = numpy.arange(600).reshape(30, 20)
assert (cells["is_wall"] == (index % 7 == 0)).all()
assert (cells["pressure"] == index).all()
print(cells.size, "cells have been read")
