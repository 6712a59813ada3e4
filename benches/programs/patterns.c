/* The access patterns of DDTBench (Schneider, Gerstenberger, Hoefler 2012): the datatypes that published
 * applications send. Each is made, sent there and back 20 times, and freed, 10 times over.
 *
 *     mpicc -O2 patterns.c && mpiexec -n 2 ./a.out
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MADE = 10, SENT = 20 };

/* Returns the datatype of a part of an array of `dimensions` dimensions in C's order. */
static MPI_Datatype part(int dimensions, const int *sizes, const int *subsizes, const int *starts,
                         MPI_Datatype element) {
    MPI_Datatype result;
    MPI_Type_create_subarray(dimensions, sizes, subsizes, starts, MPI_ORDER_C, element, &result);
    return result;
}

/* Returns the datatype of several parts, each at an address in bytes, and frees those of the parts. */
static MPI_Datatype together(int count, const MPI_Aint *displacements, MPI_Datatype *parts) {
    int ones[8];
    for (int i = 0; i < count; i++) ones[i] = 1;
    MPI_Datatype result;
    MPI_Type_create_struct(count, ones, displacements, parts, &result);
    for (int i = 0; i < count; i++) MPI_Type_free(&parts[i]);
    return result;
}

/* WRF: the halo of weather fields in x (`is_x`) or y: three surfaces, two fields, and four tracers. */
static MPI_Datatype wrf(int side, int is_x) {
    int high = 28, all = side + 8, from = 4, width = 3;
    MPI_Datatype parts[6];
    MPI_Aint displacements[6], at = 0;
    int xs = is_x ? width : side, ys = is_x ? side : width;
    for (int i = 0; i < 6; i++) {
        displacements[i] = at;
        int tracers = i == 5 ? 4 : 1, levels = i < 3 ? 1 : high;
        parts[i] = part(4, (int[]){tracers, all, levels, all}, (int[]){tracers, ys, levels, xs},
                        (int[]){0, from, 0, from}, MPI_FLOAT);
        at += (MPI_Aint)tracers * all * levels * all * sizeof(float);
    }
    return together(6, displacements, parts);
}
static MPI_Datatype wrf_x(int side) { return wrf(side, 1); }
static MPI_Datatype wrf_y(int side) { return wrf(side, 0); }

/* NAS MG: a face of a cube of doubles. */
static MPI_Datatype face(int side, int dimension) {
    int subsizes[3] = {side - 2, side - 2, side - 2};
    subsizes[dimension] = 1;
    return part(3, (int[]){side, side, side}, subsizes, (int[]){1, 1, 1}, MPI_DOUBLE);
}
static MPI_Datatype mg_x(int side) { return face(side, 2); }
static MPI_Datatype mg_y(int side) { return face(side, 1); }
static MPI_Datatype mg_z(int side) { return face(side, 0); }

/* NAS LU: two planes of a cube of five doubles. */
static MPI_Datatype lu(int side, int is_x) {
    int all = side + 4;
    return part(4, (int[]){all, all, all, 5}, (int[]){side, is_x ? side : 2, is_x ? 2 : side, 5},
                (int[]){2, 2, 2, 0}, MPI_DOUBLE);
}
static MPI_Datatype lu_x(int side) { return lu(side, 1); }
static MPI_Datatype lu_y(int side) { return lu(side, 0); }

/* MILC: vectors of 3 complex numbers at the lower end of z, in a lattice of four dimensions. */
static MPI_Datatype milc(int side) {
    MPI_Datatype vector, row, result;
    MPI_Type_contiguous(6, MPI_FLOAT, &vector);
    MPI_Type_vector(side, side * side / 2, side * side * side / 2, vector, &row);
    MPI_Type_create_hvector(2, 1, (MPI_Aint)side * side * side * side / 2 * 24, row, &result);
    MPI_Type_free(&vector);
    MPI_Type_free(&row);
    return result;
}

/* The transpose of an FFT: a quarter of each column of a square of complex numbers. */
static MPI_Datatype fft(int side) {
    MPI_Datatype number, column, shifted, result;
    MPI_Type_contiguous(2, MPI_DOUBLE, &number);
    MPI_Type_vector(side, 1, side, number, &column);
    MPI_Type_create_resized(column, 0, 16, &shifted);
    MPI_Type_contiguous(side / 4, shifted, &result);
    MPI_Type_free(&number);
    MPI_Type_free(&column);
    MPI_Type_free(&shifted);
    return result;
}

/* Returns each third index on average, of `count` indices, increasing. */
static int *chosen(int count) {
    int *indices = malloc(count * sizeof *indices);
    unsigned state = 7;
    for (int i = 0, at = 0; i < count; i++) {
        indices[i] = at;
        state = state * 1664525 + 1013904223;
        at += 1 + (state >> 16) % 5;
    }
    return indices;
}

/* Returns the datatype of items at chosen indices, in elements of `length` numbers. */
static MPI_Datatype at_indices(int count, int length, MPI_Datatype number) {
    int *indices = chosen(count);
    for (int i = 0; i < count; i++) indices[i] *= length;
    MPI_Datatype result;
    MPI_Type_create_indexed_block(count, length, indices, number, &result);
    free(indices);
    return result;
}

/* LAMMPS: positions, velocities, and five properties of chosen atoms, each in an array of its own. */
static MPI_Datatype lammps(int atoms) {
    MPI_Datatype parts[7];
    MPI_Aint displacements[7];
    for (int i = 0; i < 7; i++) {
        MPI_Datatype number = i < 3 ? MPI_DOUBLE : MPI_INT;
        parts[i] = at_indices(atoms, i < 2 ? 3 : 1, number);
        displacements[i] = (MPI_Aint)i * atoms * 5 * 24;
    }
    return together(7, displacements, parts);
}

/* SPECFEM3D: one number at each chosen point of the outer core, three at each of the mantle. */
static MPI_Datatype specfem_core(int points) { return at_indices(points, 1, MPI_FLOAT); }
static MPI_Datatype specfem_mantle(int points) { return at_indices(points, 3, MPI_FLOAT); }

static const struct {
    const char *name;
    MPI_Datatype (*datatype)(int);
    int sizes[2];
} patterns[] = {
    {"WRF, x", wrf_x, {32, 96}},          {"WRF, y", wrf_y, {32, 96}},
    {"NAS MG, x", mg_x, {34, 130}},       {"NAS MG, y", mg_y, {34, 130}},
    {"NAS MG, z", mg_z, {34, 130}},       {"NAS LU, x", lu_x, {33, 64}},
    {"NAS LU, y", lu_y, {33, 64}},        {"MILC", milc, {8, 16}},
    {"FFT", fft, {128, 512}},             {"LAMMPS", lammps, {1000, 20000}},
    {"SPECFEM3D, core", specfem_core, {1000, 50000}}, {"SPECFEM3D, mantle", specfem_mantle, {1000, 50000}},
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < 2 * sizeof patterns / sizeof *patterns; i++) {
        int size = patterns[i / 2].sizes[i % 2];
        MPI_Datatype datatype = patterns[i / 2].datatype(size);
        MPI_Aint low, extent;
        MPI_Type_get_true_extent(datatype, &low, &extent);
        MPI_Type_free(&datatype);
        size_t bytes = low + extent;
        unsigned char *data = calloc(bytes, 1);
        if (rank == 0) for (size_t at = 0; at < bytes; at++) data[at] = at * 2654435761u >> 16;
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int made = 0; made < MADE; made++) {
            datatype = patterns[i / 2].datatype(size);
            MPI_Type_commit(&datatype);
            for (int sent = 0; sent < SENT; sent++) {
                if (rank == 0) {
                    MPI_Send(data, 1, datatype, 1, sent, MPI_COMM_WORLD);
                    MPI_Recv(data, 1, datatype, 1, sent, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                } else if (rank == 1) {
                    MPI_Recv(data, 1, datatype, 0, sent, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    MPI_Send(data, 1, datatype, 0, sent, MPI_COMM_WORLD);
                }
            }
            MPI_Type_free(&datatype);
        }
        double took = MPI_Wtime() - start;
        unsigned long sum = 0;
        for (size_t at = 0; at < bytes; at++) sum = sum * 31 + data[at];
        free(data);
        unsigned long sums[2] = {0, 0};
        if (rank < 2) sums[rank] = sum;
        MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UNSIGNED_LONG, MPI_BXOR, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s, %d: %lx %lx, %.1f us\n", patterns[i / 2].name, size, sums[0], sums[1],
                   1e6 * took / (2 * MADE * SENT));
    }
    MPI_Finalize();
    return 0;
}
