"""The largest eigenvalues of a Laplacian are found by SLEPc.

    mpiexec -n 4 /usr/bin/python3 eigenvalues.py
"""

import slepc4py

slepc4py.init()
from petsc4py import PETSc  # noqa: E402  (SLEPc is initialized first)
from slepc4py import SLEPc  # noqa: E402

side = 100
matrix = PETSc.Mat().createAIJ([side * side] * 2, nnz=5)
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    y, x = divmod(row, side)
    matrix[row, row] = 4.0
    for column, is_inside in ((row - 1, x > 0), (row + 1, x < side - 1), (row - side, y > 0), (row + side, y < side - 1)):
        if is_inside:
            matrix[row, column] = -1.0
matrix.assemble()
solver = SLEPc.EPS().create()
solver.setOperators(matrix)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setDimensions(4)
solver.setTolerances(1e-8, 500)
solver.solve()
values = [round(solver.getEigenvalue(i).real * 1e6) for i in range(min(4, solver.getConverged()))]
PETSc.Sys.Print(f"{solver.getConverged() >= 4}: {values} e-6")
