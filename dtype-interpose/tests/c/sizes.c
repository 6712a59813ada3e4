/* Datatypes of many sizes from few call sites, as a benchmark makes them, for a report.

   Each size has a datatype of its own, which is committed, sent back and forth, and freed. */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

enum { SIZES = 60, ROUNDS = 5, MOST = 1 << 22 };

static int rank;
static char *memory;

static void swap(int count, MPI_Datatype type) {
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            MPI_Send(memory, count, type, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(memory, count, type, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(memory, count, type, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(memory, count, type, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* Every second number. */
static void columns(int size) {
    MPI_Datatype type;
    MPI_Type_vector(size * 100, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    swap(1, type);
    MPI_Type_free(&type);
}

/* A list of blocks of one to three numbers, which differs for each size. */
static void lists(int size) {
    int count = size * 50;
    int *lengths = malloc(count * sizeof *lengths), *places = malloc(count * sizeof *places);
    for (int i = 0, place = 0; i < count; i++, place += 3 + (i * size) % 3) {
        lengths[i] = 1 + (i * 7 + size) % 3;
        places[i] = place;
    }
    MPI_Datatype type;
    MPI_Type_indexed(count, lengths, places, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    swap(1, type);
    MPI_Type_free(&type);
    free(lengths);
    free(places);
}

/* One block, which packing cannot speed up. */
static void blocks(int size) {
    MPI_Datatype type;
    MPI_Type_contiguous(size * 2000, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    swap(1, type);
    MPI_Type_free(&type);
}

/* Small structs: the first messages have only a few of them. */
static void structs(int size) {
    struct mixed {
        char kind;
        double mass;
        short charge;
    };
    int lengths[3] = {1, 1, 1};
    MPI_Aint places[3] = {offsetof(struct mixed, kind), offsetof(struct mixed, mass),
                          offsetof(struct mixed, charge)};
    MPI_Datatype fields[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, bare, type;
    MPI_Type_create_struct(3, lengths, places, fields, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(struct mixed), &type);
    MPI_Type_free(&bare);
    MPI_Type_commit(&type);
    swap(size * 8, type);
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memory = calloc(MOST, 1);
    for (int size = 1; size <= SIZES; size++) {
        columns(size);
        lists(size);
        blocks(size);
        structs(size);
    }
    free(memory);
    MPI_Finalize();
    return 0;
}
