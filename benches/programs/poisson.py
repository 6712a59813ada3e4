"""Poisson's equation in a square is solved by PETSc on a distributed array, whose ghost cells move.

    mpiexec -n 4 /usr/bin/python3 poisson.py
"""

import petsc4py

petsc4py.init()
from petsc4py import PETSc  # noqa: E402  (PETSc is initialized first)

side = 200
grid = PETSc.DMDA().create([side, side], stencil_width=1, comm=PETSc.COMM_WORLD)
matrix = grid.createMatrix()
(x_start, x_end), (y_start, y_end) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(y_start, y_end):
    for x in range(x_start, x_end):
        row.index = (x, y)
        for index, value in (((x, y), 4.0), ((x - 1, y), -1.0), ((x + 1, y), -1.0), ((x, y - 1), -1.0), ((x, y + 1), -1.0)):
            if 0 <= index[0] < side and 0 <= index[1] < side:
                column.index = index
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right, solution = grid.createGlobalVec(), grid.createGlobalVec()
right.set(1.0)
solver = PETSc.KSP().create(grid.getComm())
solver.setOperators(matrix)
solver.setType("cg")
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-8)
solver.solve(right, solution)
local = grid.createLocalVec()
for _ in range(2000):
    grid.globalToLocal(solution, local)
PETSc.Sys.Print(f"{solver.getIterationNumber()} iterations, norm {int(solution.norm() * 1e3)} e-3")
