! Sends rows of a matrix back and forth, and says how long it takes.
!
!   mpif90 -O2 -o rows rows.f90
!   mpiexec -n 2 ./rows
!   dtype run mpiexec -n 2 ./rows
program rows
  use mpi_f08
  implicit none
  integer, parameter :: n = 2000, rounds = 400
  double precision, allocatable :: matrix(:, :)
  double precision :: began, least
  type(MPI_Datatype) :: row
  integer :: rank, i

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  ! A row of a matrix that is stored by columns.
  call MPI_Type_vector(n, 1, n, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)
  allocate(matrix(n, n))
  matrix = rank
  least = huge(least)
  do i = 1, rounds
    began = MPI_Wtime()
    if (rank == 0) then
      call MPI_Send(matrix(5, 1), 1, row, 1, 0, MPI_COMM_WORLD)
      call MPI_Recv(matrix(5, 1), 1, row, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    else if (rank == 1) then
      call MPI_Recv(matrix(5, 1), 1, row, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      call MPI_Send(matrix(5, 1), 1, row, 0, 0, MPI_COMM_WORLD)
    end if
    least = min(least, MPI_Wtime() - began)
  end do
  if (rank == 0) print '(a, i0, a, f0.1, a)', 'A row of ', n, ' numbers in Fortran: ', least / 2 * 1d6, ' us each way'
  if (rank == 1 .and. any(matrix(5, :) /= 0)) error stop 'the row is wrong'
  if (rank == 1 .and. any(matrix(4, :) /= 1)) error stop 'another row was written'
  call MPI_Type_free(row)
  call MPI_Finalize()
end program
