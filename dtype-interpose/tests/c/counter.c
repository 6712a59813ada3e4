/* Another tool: counts the sends of a program, and prints their number. It forwards calls by PMPI, as
   profilers do, or with -DNEXT to the next function of that name, as preloaded libraries do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    sends++;
#ifdef NEXT
    int (*next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Send");
    return next(buffer, count, type, to, tag, comm);
#else
    return PMPI_Send(buffer, count, type, to, tag, comm);
#endif
}

int MPI_Finalize(void) {
    printf("%d sends\n", sends);
#ifdef NEXT
    int (*next)(void) = dlsym(RTLD_NEXT, "MPI_Finalize");
    return next();
#else
    return PMPI_Finalize();
#endif
}
