/* What of mpi.h is constants and what differs from library to library, beyond what rsmpi has. */
#include <mpi.h>

void *dtype_interpose_in_place(void) { return MPI_IN_PLACE; }
MPI_Datatype dtype_interpose_packed(void) { return MPI_PACKED; }
int dtype_interpose_root(void) { return MPI_ROOT; }

/* Of how many others a datatype was made: also by a constructor with large counts, of which the old call to
   ask knows nothing. */
int dtype_interpose_parts(MPI_Datatype datatype) {
    int combiner;
#if MPI_VERSION >= 4
    MPI_Count integers, addresses, counts, datatypes = 0;
    int code = MPI_Type_get_envelope_c(datatype, &integers, &addresses, &counts, &datatypes, &combiner);
#else
    int integers, addresses, datatypes = 0;
    int code = MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
#endif
    return code == MPI_SUCCESS ? (int)datatypes : 0;
}
