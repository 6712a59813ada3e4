/* What of mpi.h is constants and what differs from library to library, beyond what rsmpi has. */
#include <mpi.h>

void *dtype_interpose_in_place(void) { return MPI_IN_PLACE; }
MPI_Datatype dtype_interpose_packed(void) { return MPI_PACKED; }
int dtype_interpose_root(void) { return MPI_ROOT; }

/* Stores the constructor of a datatype, and the numbers of its integers, addresses and datatypes: also of a
   constructor with large counts, of which the old call to ask knows nothing. */
void dtype_interpose_envelope(MPI_Datatype datatype, int *numbers) {
    int combiner;
#if MPI_VERSION >= 4
    MPI_Count integers = 0, addresses = 0, counts = 0, datatypes = 0;
    int code = MPI_Type_get_envelope_c(datatype, &integers, &addresses, &counts, &datatypes, &combiner);
    integers += counts;
#else
    int integers = 0, addresses = 0, datatypes = 0;
    int code = MPI_Type_get_envelope(datatype, &integers, &addresses, &datatypes, &combiner);
#endif
    int is_there = code == MPI_SUCCESS;
    numbers[0] = is_there ? combiner : 0;
    numbers[1] = is_there ? (int)integers : 0;
    numbers[2] = is_there ? (int)addresses : 0;
    numbers[3] = is_there ? (int)datatypes : 0;
}

int dtype_interpose_parts(MPI_Datatype datatype) {
    int numbers[4];
    dtype_interpose_envelope(datatype, numbers);
    return numbers[3];
}
