/* Datatypes that are never freed. Each of 20,000 lists has places of its own and an attribute (Open MPI makes
   a table of about 1,100 bytes for the first one), and travels from rank 0 to rank 1 and back. Then each rank
   prints how many bytes of memory a datatype has taken. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DATATYPES = 20000, BLOCKS = 100, ROUNDS = 3 };

static long resident(void) {
    char line[256];
    long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file)) {
        sscanf(line, "VmRSS: %ld", &kilobytes);
    }
    fclose(file);
    return kilobytes * 1024;
}

int main(int argc, char **argv) {
    int rank, key, places[BLOCKS];
    double *memory = malloc(40 * BLOCKS * sizeof *memory);
    MPI_Datatype type;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    memset(memory, 0, 40 * BLOCKS * sizeof *memory);
    long before = 0;
    for (int i = 0; i < DATATYPES; i++) {
        if (i == 1000) {
            before = resident();
        }
        for (int j = 0; j < BLOCKS; j++) {
            places[j] = 40 * j + (j + i) * (i % 13 + 1) % 37;
        }
        places[0] = i % 40;
        places[1] = 40 + i / 40 % 40;
        places[2] = 80 + i / 1600 % 40;
        MPI_Type_create_indexed_block(BLOCKS, 1, places, MPI_DOUBLE, &type);
        MPI_Type_commit(&type);
        MPI_Type_set_attr(type, key, NULL);
        for (int round = 0; round < ROUNDS; round++) {
            if (rank == 0) {
                MPI_Send(memory, 1, type, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(memory, 1, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == 1) {
                MPI_Recv(memory, 1, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(memory, 1, type, 0, 0, MPI_COMM_WORLD);
            }
        }
    }
    printf("rank-%d %ld bytes\n", rank, (resident() - before) / (DATATYPES - 1000));
    free(memory);
    MPI_Finalize();
}
