/* Sees through the profiling interface (MPI 4.1 section 15.2) which communicators are made: the contexts of
   segments are nobody's but the library's, and a test that attacks them has to find them. And makes a library
   that builds other datatypes than it is asked for. */
#include <mpi.h>

static MPI_Comm made[64];
static int count;

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *new) {
    int code = PMPI_Comm_create(comm, group, new);
    if (code == MPI_SUCCESS && count < 64) made[count++] = *new;
    return code;
}

/* The i-th of them. */
MPI_Comm c_made(int i) { return i < count ? made[i] : MPI_COMM_NULL; }

static int mistakes;

/* How many of the next contiguous datatypes are to be one copy too short. */
void c_make_mistakes(int count) { mistakes = count; }

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *new) {
    return PMPI_Type_contiguous(mistakes > 0 ? (mistakes--, count - 1) : count, old, new);
}
