/* A cube of complex numbers moves from x to y to z and back by dtFFT, whose default is derived datatypes.
 *
 *     mpicc -O2 dtfft.c -ldtfft && mpiexec -n 4 ./a.out
 */

#include <dtfft.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(dtfft_error_t error) {
    if (error == DTFFT_SUCCESS) return;
    fprintf(stderr, "%s\n", dtfft_get_error_string(error));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Moves a cube of `side`³ complex numbers there and back `times` times. */
static void cube(int side, int times) {
    int grid[3] = {1, 0, 0}, rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, grid);
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 3, grid, (int[]){0, 0, 0}, 0, &comm);
    dtfft_plan_t plan;
    check(dtfft_create_plan_c2c(3, (int32_t[]){side, side, side}, comm, DTFFT_DOUBLE, DTFFT_ESTIMATE,
                                DTFFT_EXECUTOR_NONE, &plan));
    size_t bytes;
    check(dtfft_get_alloc_bytes(plan, &bytes));
    double *x = malloc(bytes), *z = malloc(bytes), *back = malloc(bytes);
    for (size_t i = 0; i < bytes / sizeof *x; i++) x[i] = rank + 1e-7 * i;
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (int i = 0; i < times; i++) {
        memcpy(back, x, bytes);
        check(dtfft_execute(plan, back, z, DTFFT_EXECUTE_FORWARD, NULL));
        check(dtfft_execute(plan, z, back, DTFFT_EXECUTE_BACKWARD, NULL));
    }
    double took = MPI_Wtime() - start;
    int is_same = 1, is_all;
    int32_t starts[3], counts[3];
    check(dtfft_get_local_sizes(plan, starts, counts, NULL, NULL, NULL));
    size_t own = 2ul * counts[0] * counts[1] * counts[2];
    for (size_t i = 0; i < own; i++) is_same &= x[i] == back[i];
    MPI_Allreduce(&is_same, &is_all, 1, MPI_INT, MPI_LAND, comm);
    if (rank == 0)
        printf("%d³: %s, there and back %.3f ms\n", side, is_all ? "same" : "DIFFERENT", 1e3 * took / times);
    free(x);
    free(z);
    free(back);
    check(dtfft_destroy(&plan));
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    cube(32, 200);
    cube(128, 20);
    MPI_Finalize();
    return 0;
}
