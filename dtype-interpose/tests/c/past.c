/* Other tools. Each intercepts a few calls and forwards them by PMPI, past all libraries behind it. */
#include <mpi.h>

#ifdef WAITS
int MPI_Wait(MPI_Request *request, MPI_Status *status) { return PMPI_Wait(request, status); }

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
    return PMPI_Waitall(count, requests, statuses);
}
#endif

#ifdef STARTS
int MPI_Start(MPI_Request *request) { return PMPI_Start(request); }

int MPI_Startall(int count, MPI_Request *requests) { return PMPI_Startall(count, requests); }
#endif

#ifdef FENCES
int MPI_Win_fence(int assertion, MPI_Win window) { return PMPI_Win_fence(assertion, window); }
#endif

#ifdef RECEIVES
int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status) {
    return PMPI_Recv(buffer, count, type, from, tag, comm, status);
}
#endif

/* A tool behind the preloaded library, whose flush takes long. */
#ifdef SLEEPS
#include <unistd.h>

int MPI_Win_flush_all(MPI_Win window) {
    int code = PMPI_Win_flush_all(window);
    usleep(300000);
    return code;
}
#endif
