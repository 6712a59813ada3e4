/* Datatypes that some MPI libraries pack otherwise than the standard says: a stride of -1 byte, complex
   numbers at distances that are no multiples of their size, structs with an empty part, copies that share
   bytes, and darrays with block-cyclic dimensions. Messages of each travel from rank 0 to rank 1. Rank 1
   prints a checksum of what each message brings into numbers without gaps, and of what it brings into the
   same datatype. The first message must bring the same as the last one. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 24, MOST = 1 << 20 };

static unsigned char *memory, *received;
static int rank;

static uint64_t checksum(const unsigned char *bytes, size_t length) {
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ bytes[i]) * 1099511628211u;
    }
    return sum;
}

/* Sends `count` elements to numbers of type `base` without gaps and to the same elements, in turn. Elements
   whose negative count is given are always received as numbers. */
static void travel(const char *name, MPI_Datatype type, MPI_Datatype base, int count, int offset) {
    int size, of_base, numbers, in_turn = count > 0;
    count = abs(count);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Type_size(base, &of_base);
    numbers = size / of_base * count;
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Send(memory + offset, count, type, 1, 0, MPI_COMM_WORLD);
        } else if (rank == 1) {
            memset(received, 0, MOST);
            int is_same = in_turn && round % 2;
            MPI_Recv(received + offset, is_same ? count : numbers, is_same ? type : base, 0, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%s-%d-%d %016llx\n", name, count, round,
                   (unsigned long long)checksum(received, MOST));
        }
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    MPI_Datatype type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memory = malloc(MOST);
    received = malloc(MOST);
    for (int i = 0; i < MOST; i++) {
        memory[i] = (unsigned char)(i * 2654435761u >> 24);
    }
    for (int count = 1; count <= 3; count++) {
        MPI_Type_create_hvector(20000, 1, -1, MPI_CHAR, &type);
        travel("reversed", type, MPI_CHAR, count, 20000);
        MPI_Type_create_hvector(2000, 1, 24, MPI_C_DOUBLE_COMPLEX, &type);
        travel("complex", type, MPI_C_DOUBLE_COMPLEX, count, 0);
        MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_DATATYPE_NULL};
        int none = 0, ones[2] = {1, 1};
        MPI_Aint places[2] = {0, 40};
        MPI_Type_indexed(1, &none, &none, MPI_SHORT, &parts[1]);
        MPI_Type_create_struct(2, ones, places, parts, &type);
        MPI_Type_free(&parts[1]);
        travel("empty", type, MPI_DOUBLE, 1000 * count, 0);
        /* Blocks of 1000 numbers, 1000 bytes apart. They are only sent: nothing may be received twice. */
        MPI_Type_create_hvector(20, 1000, 1000, MPI_DOUBLE, &type);
        travel("shared", type, MPI_DOUBLE, -count, 0);
        for (int of = 0; of < 3; of++) {
            /* Each of 2 x 2 processes has half of the first dimension, and some blocks of the last one. */
            int fortran = of == 1, kind = of == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
            int sizes[3] = {fortran ? 400 : 5, 3, fortran ? 5 : 400};
            int kinds[3] = {fortran ? MPI_DISTRIBUTE_BLOCK : kind, MPI_DISTRIBUTE_BLOCK,
                            fortran ? kind : MPI_DISTRIBUTE_BLOCK};
            int blocks[3] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
            int processes[3] = {2, 1, 2};
            if (of > 0) {
                blocks[fortran ? 2 : 0] = 2;
            }
            MPI_Type_create_darray(4, fortran ? 2 : 1, 3, sizes, kinds, blocks, processes,
                                   fortran ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_DOUBLE, &type);
            travel(of == 0 ? "block" : fortran ? "cyclic-fortran" : "cyclic-c", type, MPI_DOUBLE, count, 0);
        }
    }
    MPI_Finalize();
}
