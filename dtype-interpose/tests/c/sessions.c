/* A program without MPI_Init: its communicator comes from a session (MPI 4.0 section 11.3). It prints a line
   for each layout, with a checksum of what has arrived. MPICH 4.0 crashes if a second session follows. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 3000, BYTES = 32 };

static unsigned sum(const unsigned char *bytes, size_t length) {
    unsigned sum = 2166136261u;
    for (size_t i = 0; i < length; i++) sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

static void exchange(MPI_Comm comm, const char *name, MPI_Datatype type) {
    int rank;
    MPI_Request requests[2];
    static unsigned char sent[ITEMS * BYTES], received[ITEMS * BYTES];
    MPI_Comm_rank(comm, &rank);
    for (size_t i = 0; i < sizeof sent; i++) sent[i] = (unsigned char)(i * 7 + (size_t)rank * 131 + i / 251);
    memset(received, 0x55, sizeof received);
    MPI_Type_commit(&type);
    MPI_Irecv(received, ITEMS, type, 1 - rank, 5, comm, &requests[0]);
    MPI_Isend(sent, ITEMS, type, 1 - rank, 5, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    printf("%s-of-%d %u\n", name, rank, sum(received, sizeof received));
    MPI_Sendrecv(sent, ITEMS, type, 1 - rank, 6, received, ITEMS, type, 1 - rank, 6, comm, MPI_STATUS_IGNORE);
    printf("%s-again-of-%d %u\n", name, rank, sum(received, sizeof received));
    fflush(stdout);
    MPI_Type_free(&type);
}

int main(void) {
    MPI_Session session;
    MPI_Group world;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    MPI_Comm_create_from_group(world, "dtype", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&world);
    const int lengths[2] = {1, 2};
    const MPI_Aint displacements[2] = {0, 8};
    const MPI_Datatype types[2] = {MPI_DOUBLE, MPI_SHORT};
    MPI_Datatype item, resized;
    MPI_Type_create_struct(2, lengths, displacements, types, &item);
    MPI_Type_create_resized(item, 0, 16, &resized);
    MPI_Type_free(&item);
    exchange(comm, "mixed", resized);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &item);
    MPI_Type_create_resized(item, 0, BYTES, &resized);
    MPI_Type_free(&item);
    exchange(comm, "strided", resized);
    MPI_Comm_disconnect(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
