/* Messages to and from MPI_PROC_NULL, as at the edges of a grid: nothing is moved, so the buffer may be
   memory that nobody can read. Prints the statuses. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

enum { COUNT = 8000 };

static double from[2 * COUNT], to[2 * COUNT];

static void print(const char *name, MPI_Status *status, MPI_Datatype column) {
    int count;
    MPI_Get_count(status, column, &count);
    int is_of_nobody = status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG;
    printf("%s %d\n", name, count == 0 && is_of_nobody);
}

int main(int argc, char **argv) {
    MPI_Datatype column;
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    /* So that the datatype is planned. */
    for (int turn = 0; turn < 10; turn++)
        MPI_Sendrecv(from, 1, column, 0, 0, to, 1, column, 0, 0, MPI_COMM_SELF, &status);
    void *nowhere = mmap(NULL, sizeof from, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MPI_Send(nowhere, 1, column, MPI_PROC_NULL, 0, world);
    MPI_Ssend(nowhere, 1, column, MPI_PROC_NULL, 0, world);
    MPI_Recv(nowhere, 1, column, MPI_PROC_NULL, 0, world, &status);
    print("received", &status, column);

    MPI_Isend(nowhere, 1, column, MPI_PROC_NULL, 0, world, &requests[0]);
    MPI_Irecv(nowhere, 1, column, MPI_PROC_NULL, 0, world, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    print("later", &statuses[1], column);

    MPI_Send_init(nowhere, 1, column, MPI_PROC_NULL, 0, world, &requests[0]);
    MPI_Recv_init(nowhere, 1, column, MPI_PROC_NULL, 0, world, &requests[1]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        print(turn ? "again" : "prepared", &statuses[1], column);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    MPI_Sendrecv(nowhere, 1, column, MPI_PROC_NULL, 0, nowhere, 1, column, MPI_PROC_NULL, 0, world, &status);
    print("exchanged", &status, column);
    MPI_Sendrecv_replace(nowhere, 1, column, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, world, &status);
    print("replaced", &status, column);

    /* At an edge, what is replaced is only sent, or only received. */
    int rank, size;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    for (int turn = 0; turn < 2; turn++) {
        double sum = 0;
        int count;
        for (int i = 0; i < 2 * COUNT; i++) to[i] = i + 0.5 * rank;
        MPI_Sendrecv_replace(to, 1, column, turn ? down : up, 0, turn ? up : down, 0, world, &status);
        for (int i = 0; i < 2 * COUNT; i++) sum += to[i] * (i % 97);
        MPI_Get_count(&status, column, &count);
        printf("%s-of-%d %.1f %d\n", turn ? "down" : "up", rank, sum, count);
    }
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
