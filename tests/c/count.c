/* Counts collective calls through the profiling interface (MPI 4.1 section 15.2): how many this rank makes,
   the bytes that they hand to MPI or get from it, and the numbers that they name for each rank in lists. */
#include <mpi.h>

static long long calls, bytes, listed;

static long long size_of(long long count, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    return count * size;
}

static int ranks_of(MPI_Comm comm) {
    int ranks = 0;
    PMPI_Comm_size(comm, &ranks);
    return ranks;
}

static int is_root(int root, MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

static long long sum(const int counts[], MPI_Comm comm) {
    long long all = 0;
    listed += 2 * ranks_of(comm);
    for (int i = 0; i < ranks_of(comm); i++) all += counts[i];
    return all;
}

static void count(long long more) {
    calls++;
    bytes += more;
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    count(size_of(n, type));
    return PMPI_Bcast(buffer, n, type, root, comm);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    count(2 * size_of(n, type));
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Gather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype into, int root,
               MPI_Comm comm) {
    count(size_of(n, type) + (is_root(root, comm) ? size_of(m, into) * ranks_of(comm) : 0));
    return PMPI_Gather(from, n, type, to, m, into, root, comm);
}

int MPI_Gatherv(const void *from, int n, MPI_Datatype type, void *to, const int m[], const int starts[],
                MPI_Datatype into, int root, MPI_Comm comm) {
    count(size_of(n, type) + (is_root(root, comm) ? size_of(sum(m, comm), into) : 0));
    return PMPI_Gatherv(from, n, type, to, m, starts, into, root, comm);
}

int MPI_Scatter(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype into, int root,
                MPI_Comm comm) {
    count((is_root(root, comm) ? size_of(n, type) * ranks_of(comm) : 0) + size_of(m, into));
    return PMPI_Scatter(from, n, type, to, m, into, root, comm);
}

int MPI_Scatterv(const void *from, const int n[], const int starts[], MPI_Datatype type, void *to, int m,
                 MPI_Datatype into, int root, MPI_Comm comm) {
    count((is_root(root, comm) ? size_of(sum(n, comm), type) : 0) + size_of(m, into));
    return PMPI_Scatterv(from, n, starts, type, to, m, into, root, comm);
}

int MPI_Allgather(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype into,
                  MPI_Comm comm) {
    count(size_of(n, type) + size_of(m, into) * ranks_of(comm));
    return PMPI_Allgather(from, n, type, to, m, into, comm);
}

int MPI_Allgatherv(const void *from, int n, MPI_Datatype type, void *to, const int m[], const int starts[],
                   MPI_Datatype into, MPI_Comm comm) {
    count(size_of(n, type) + size_of(sum(m, comm), into));
    return PMPI_Allgatherv(from, n, type, to, m, starts, into, comm);
}

int MPI_Alltoall(const void *from, int n, MPI_Datatype type, void *to, int m, MPI_Datatype into,
                 MPI_Comm comm) {
    count((size_of(n, type) + size_of(m, into)) * ranks_of(comm));
    return PMPI_Alltoall(from, n, type, to, m, into, comm);
}

int MPI_Alltoallv(const void *from, const int n[], const int starts[], MPI_Datatype type, void *to,
                  const int m[], const int starts_in[], MPI_Datatype into, MPI_Comm comm) {
    count(size_of(sum(n, comm), type) + size_of(sum(m, comm), into));
    return PMPI_Alltoallv(from, n, starts, type, to, m, starts_in, into, comm);
}

/* Calls, bytes and listed numbers since this was last asked. */
void c_counted(long long counted[3]) {
    counted[0] = calls, counted[1] = bytes, counted[2] = listed;
    calls = bytes = listed = 0;
}
