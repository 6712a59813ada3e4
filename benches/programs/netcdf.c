/* Each rank writes a block of a cube to a file by PnetCDF, and reads a block of another shape.
 *
 *     mpicc -O2 netcdf.c -lpnetcdf && mpiexec -n 4 ./a.out FILE
 */

#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 128 };

static void check(int status) {
    if (status == NC_NOERR) return;
    fprintf(stderr, "%s\n", ncmpi_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks, file, variable, names[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *path = argc > 1 ? argv[1] : "cube.nc";
    check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_OFFSET, MPI_INFO_NULL, &file));
    const char *const axes[3] = {"z", "y", "x"};
    for (int i = 0; i < 3; i++) check(ncmpi_def_dim(file, axes[i], SIDE, &names[i]));
    check(ncmpi_def_var(file, "cube", NC_DOUBLE, 3, names, &variable));
    check(ncmpi_enddef(file));
    MPI_Offset share = SIDE / ranks, own = share * SIDE * SIDE;
    double *values = malloc(own * sizeof *values), sum = 0, total;
    for (int round = 0; round < 10; round++) {
        /* A share of x is written, a share of y is read. The last ranks' rest is left out. */
        for (MPI_Offset i = 0; i < own; i++) values[i] = rank * 1000 + i % 777 + round;
        MPI_Offset starts[3] = {0, 0, rank * share}, counts[3] = {SIDE, SIDE, share};
        check(ncmpi_put_vara_double_all(file, variable, starts, counts, values));
        starts[1] = rank * share, starts[2] = 0, counts[1] = share, counts[2] = share * ranks;
        check(ncmpi_get_vara_double_all(file, variable, starts, counts, values));
        for (MPI_Offset i = 0; i < SIDE * share * share * ranks; i++) sum += values[i] * (i % 13);
    }
    check(ncmpi_close(file));
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %.0f\n", total);
    if (rank == 0) remove(path);
    free(values);
    MPI_Finalize();
    return 0;
}
