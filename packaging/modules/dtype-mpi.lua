-- The module of an installation of the wheel `dtype-mpi`, for Lmod and for Environment Modules 5:
--   pip install --no-deps --prefix /opt/dtype-mpi/0.1.0 dtype_mpi-0.1.0-….whl
-- Then put this file at MODULEPATH/dtype-mpi/0.1.0.lua, with the prefix that was chosen.
help([[
dtype-mpi makes MPI messages of structs and parts of arrays faster, without compiling programs again:

  dtype run mpiexec -n 2 ./program
  dtype run --print mpiexec -n 2 ./program     # prints the command for a job script
]])
whatis("Name: dtype-mpi")
whatis("Description: faster MPI messages of structs and parts of arrays, without compiling again")

prepend_path("PATH", "/opt/dtype-mpi/0.1.0/bin")
