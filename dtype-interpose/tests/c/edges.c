/* Halos by MPI_Neighbor_alltoallw on grids with edges and without: rows, which are one block, and columns.
   Some neighbours do not exist, and some are the rank itself. Prints sums of what is in the array then. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2000, COLUMNS = 400 };

static double array[ROWS + 2][COLUMNS + 2];

static void fill(int rank) {
    for (int i = 0; i < ROWS + 2; i++)
        for (int j = 0; j < COLUMNS + 2; j++) array[i][j] = 1000.0 * i + j + 0.25 * rank;
}

static void print(const char *name, int turn, int rank) {
    double sum = 0;
    for (int i = 0; i < ROWS + 2; i++)
        for (int j = 0; j < COLUMNS + 2; j++) sum += array[i][j] * ((i * 7 + j * 3) % 101);
    printf("%s-%d-of-%d %.2f\n", name, turn, rank, sum);
}

static MPI_Aint place(int i, int j) { return (char *)&array[i][j] - (char *)array; }

int main(int argc, char **argv) {
    int rank, size;
    MPI_Datatype row, column;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(COLUMNS, MPI_DOUBLE, &row);
    /* Some rows only, since libraries copy regular columns as fast. */
    int places[ROWS], count = 0;
    for (int i = 0; i < ROWS; i++)
        if (i * i % 11 < 8) places[count++] = i * (COLUMNS + 2);
    MPI_Type_create_indexed_block(count, 1, places, MPI_DOUBLE, &column);
    MPI_Type_commit(&row);
    MPI_Type_commit(&column);
    int counts[4] = {1, 1, 1, 1}, some[4] = {0, 0, 1, 1};
    MPI_Datatype types[4] = {row, row, column, column};
    MPI_Aint sent[4] = {place(1, 1), place(ROWS, 1), place(1, 1), place(1, COLUMNS)};
    MPI_Aint received[4] = {place(0, 1), place(ROWS + 1, 1), place(1, 0), place(1, COLUMNS + 1)};
    /* Datatypes of the blocks by their addresses. */
    MPI_Datatype from[4], to[4];
    MPI_Aint nowhere[4] = {0, 0, 0, 0};
    for (int block = 0; block < 4; block++) {
        MPI_Aint start, address;
        MPI_Get_address(array, &start);
        address = start + sent[block];
        MPI_Type_create_hindexed_block(1, 1, &address, types[block], &from[block]);
        address = start + received[block];
        MPI_Type_create_hindexed_block(1, 1, &address, types[block], &to[block]);
        MPI_Type_commit(&from[block]);
        MPI_Type_commit(&to[block]);
    }
    for (int grid = 0; grid < 4; grid++) {
        int shape[2] = {grid & 1 ? size : 1, grid & 1 ? 1 : size}, periods[2] = {grid >> 1, 0};
        MPI_Comm cartesian;
        MPI_Cart_create(MPI_COMM_WORLD, 2, shape, periods, 0, &cartesian);
        for (int turn = 0; turn < 20; turn++) {
            fill(rank);
            MPI_Neighbor_alltoallw(array, counts, sent, types, array, counts, received, types, cartesian);
        }
        print("all", grid, rank);
        fill(rank);
        MPI_Neighbor_alltoallw(array, some, sent, types, array, some, received, types, cartesian);
        print("some", grid, rank);
        fill(rank);
        MPI_Request request;
        MPI_Ineighbor_alltoallw(array, counts, sent, types, array, counts, received, types, cartesian,
                                &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        print("later", grid, rank);
        for (int turn = 0; turn < 20; turn++) {
            fill(rank);
            MPI_Neighbor_alltoallw(MPI_BOTTOM, counts, nowhere, from, MPI_BOTTOM, counts, nowhere, to,
                                   cartesian);
        }
        print("absolute", grid, rank);
        MPI_Comm_free(&cartesian);
    }
    for (int block = 0; block < 4; block++) {
        MPI_Type_free(&from[block]);
        MPI_Type_free(&to[block]);
    }
    MPI_Type_free(&row);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
