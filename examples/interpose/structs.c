/* Sends 10,000 structs back and forth, and says how long it takes.

   mpicc -O2 -o structs structs.c
   mpiexec -n 2 ./structs
   dtype run mpiexec -n 2 ./structs */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    uint8_t kind;
    double mass;
    int16_t charge;
    float spin;
} particle;

enum { COUNT = 10000, ROUNDS = 200 };

static int earlier(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    int lengths[4] = {1, 1, 1, 1};
    MPI_Aint places[4] = {offsetof(particle, kind), offsetof(particle, mass), offsetof(particle, charge),
                          offsetof(particle, spin)};
    MPI_Datatype fields[4] = {MPI_UINT8_T, MPI_DOUBLE, MPI_INT16_T, MPI_FLOAT}, bare, type;
    MPI_Type_create_struct(4, lengths, places, fields, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(particle), &type);
    MPI_Type_commit(&type);

    particle *particles = calloc(COUNT, sizeof *particles);
    for (int i = 0; i < COUNT; i++) {
        particles[i] = (particle){(uint8_t)i, rank + i * 0.5, (int16_t)-i, 1.0f / (float)(i + 1)};
    }
    double took[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double began = MPI_Wtime();
        if (rank == 0) {
            MPI_Send(particles, COUNT, type, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(particles, COUNT, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(particles, COUNT, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(particles, COUNT, type, 0, 0, MPI_COMM_WORLD);
        }
        took[i] = MPI_Wtime() - began;
    }
    if (rank == 0) {
        qsort(took, ROUNDS, sizeof *took, earlier);
        printf("%d structs {u8, f64, i16, f32} in C: %.1f us each way\n", COUNT, took[ROUNDS / 2] / 2 * 1e6);
    }
    for (int i = 0; i < COUNT; i++) {
        /* All ranks have those of rank 0 now. */
        if (rank < 2 && particles[i].mass != i * 0.5) {
            printf("rank %d: struct %d is wrong\n", rank, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    free(particles);
    MPI_Type_free(&bare);
    MPI_Type_free(&type);
    MPI_Finalize();
}
