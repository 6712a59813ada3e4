/* Requests that are complete when they are made: libraries return one handle for all of them. Prints sums of
   what has arrived. */
#include <mpi.h>
#include <stdio.h>

enum { COUNT = 4000 };

static double from[2 * COUNT], first[2 * COUNT], second[2 * COUNT];

static void clear(void) {
    for (int i = 0; i < 2 * COUNT; i++) first[i] = second[i] = 0;
}

static void print(const char *name, int rank, int turn) {
    double sums[2] = {0, 0};
    for (int i = 0; i < 2 * COUNT; i++) sums[0] += first[i] * (i + 1), sums[1] += second[i] * (i + 1);
    printf("%s-%d-of-%d %.0f %.0f\n", name, turn, rank, sums[0], sums[1]);
    fflush(stdout);
}

int main(int argc, char **argv) {
    int rank, one = 1, zero = 0;
    MPI_Datatype column;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 2 * COUNT; i++) from[i] = i + rank + 1;
    for (int turn = 0; turn < 4; turn++) {
        clear();
        MPI_Iallgatherv(from, 1, column, first, &one, &zero, column, MPI_COMM_SELF, &requests[0]);
        MPI_Iallgatherv(from, 1, column, second, &one, &zero, column, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        print("together", rank, turn);

        clear();
        MPI_Iallgather(from, 1, column, first, 1, column, MPI_COMM_SELF, &requests[0]);
        MPI_Isend(from, 1, column, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Iallgather(from, 1, column, second, 1, column, MPI_COMM_SELF, &requests[1]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        print("mixed", rank, turn);
    }
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
