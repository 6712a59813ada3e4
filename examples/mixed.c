/* The part of the program `mixed` that is written in C. It gets the datatype of a Rust struct. */
#include <mpi.h>

int swap(const void *sent, void *received, int count, MPI_Datatype datatype, int other,
         MPI_Comm communicator) {
    return MPI_Sendrecv(sent, count, datatype, other, 0, received, count, datatype, other, 0, communicator,
                        MPI_STATUS_IGNORE);
}
