/* Constants of mpi.h that rsmpi does not have. */
#include <mpi.h>

MPI_Datatype dtype_interpose_packed(void) { return MPI_PACKED; }
void *dtype_interpose_in_place(void) { return MPI_IN_PLACE; }
int dtype_interpose_root(void) { return MPI_ROOT; }
