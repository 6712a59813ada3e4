/* Values of `long double` and of the types made of it travel from rank 0 to rank 1. A `long double` of
   x86 has ten bytes of data and six of padding, which MPI libraries need not copy. Rank 1 prints sums of
   the values that it has received, and the number of bytes that were written into gaps. */
#include <complex.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    long double value;
    int index;
};

struct mixed {
    int id;
    long double value;
    char tag;
    long double complex both[2];
};

enum { COUNT = 600, GAP = 0x5a };

/* Sends every second element of a datatype from rank 0 to rank 1, and returns the memory after that. */
static unsigned char *exchange(const char *name, MPI_Datatype type, const void *filled, size_t size,
                               int rank) {
    MPI_Datatype columns;
    size_t bytes = 2 * COUNT * size, gaps = 0;
    unsigned char *memory = malloc(bytes);
    MPI_Type_vector(COUNT, 1, 2, type, &columns);
    MPI_Type_commit(&columns);
    if (rank == 0) {
        memcpy(memory, filled, bytes);
        MPI_Send(memory, 1, columns, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(memory, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        memset(memory, GAP, bytes);
        MPI_Recv(memory, 1, columns, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(memory, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        for (size_t i = 1; i < 2 * COUNT; i += 2) {
            for (size_t at = 0; at < size; at++) {
                gaps += memory[i * size + at] != GAP;
            }
        }
        printf("%s-gaps %zu\n", name, gaps);
    }
    MPI_Type_free(&columns);
    return memory;
}

int main(int arguments, char **argument) {
    static long double values[2 * COUNT];
    static struct pair pairs[2 * COUNT];
    static struct mixed structs[2 * COUNT];
    long double sum = 0;
    int rank;
    MPI_Init(&arguments, &argument);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(values, 0xc3, sizeof values);
    memset(pairs, 0xc3, sizeof pairs);
    memset(structs, 0xc3, sizeof structs);
    for (int i = 0; i < 2 * COUNT; i++) {
        values[i] = 1.0L / (3 + i);
        pairs[i].value = 1.0L / (5 + i);
        pairs[i].index = i;
        structs[i].id = i;
        structs[i].value = 1.0L / (7 + i);
        structs[i].tag = i % 128;
        structs[i].both[0] = values[i] + 2.0L * I;
        structs[i].both[1] = 3.0L + values[i] * I;
    }

    long double *got = (void *)exchange("values", MPI_LONG_DOUBLE, values, sizeof *values, rank);
    for (int i = 0; i < 2 * COUNT; i += 2) {
        sum += got[i] * (i + 1);
    }
    if (rank == 1) {
        printf("values %La\n", sum);
    }
    free(got);

    struct pair *two = (void *)exchange("pairs", MPI_LONG_DOUBLE_INT, pairs, sizeof *pairs, rank);
    for (int i = 0; i < 2 * COUNT; i += 2) {
        sum += two[i].value * two[i].index;
    }
    if (rank == 1) {
        printf("pairs %La\n", sum);
    }
    free(two);

    MPI_Datatype parts[4] = {MPI_INT, MPI_LONG_DOUBLE, MPI_CHAR, MPI_C_LONG_DOUBLE_COMPLEX}, made, type;
    int lengths[4] = {1, 1, 1, 2};
    MPI_Aint places[4] = {offsetof(struct mixed, id), offsetof(struct mixed, value),
                          offsetof(struct mixed, tag), offsetof(struct mixed, both)};
    MPI_Type_create_struct(4, lengths, places, parts, &made);
    MPI_Type_create_resized(made, 0, sizeof(struct mixed), &type);
    struct mixed *all = (void *)exchange("structs", type, structs, sizeof *structs, rank);
    for (int i = 0; i < 2 * COUNT; i += 2) {
        sum += all[i].id + all[i].value * all[i].tag + creall(all[i].both[0]) * cimagl(all[i].both[1]);
    }
    if (rank == 1) {
        printf("structs %La\n", sum);
    }
    free(all);
    MPI_Type_free(&made);
    MPI_Type_free(&type);
    return MPI_Finalize();
}
