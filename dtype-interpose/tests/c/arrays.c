/* Structs of arrays of several base types travel from rank 0 to rank 1. Both ranks have the same signature,
   but each has a layout of its own: all items of an array, items at equal distances, or chosen ones. After
   each 100 messages, rank 1 prints a checksum of everything that it has received, with the gaps. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 6, KINDS = 5 };

static uint64_t state;

/* Returns a random number below `limit`. */
static unsigned below(unsigned limit) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

/* Returns the datatype of signature `signature` in layout `layout`, and its extent. */
static MPI_Datatype make(int signature, int layout, MPI_Aint *extent) {
    const MPI_Datatype bases[KINDS] = {MPI_DOUBLE, MPI_INT, MPI_FLOAT, MPI_SHORT, MPI_CHAR};
    const int sizes[KINDS] = {8, 4, 4, 2, 1};
    MPI_Datatype parts[MOST], all, resized;
    MPI_Aint places[MOST], end = 0;
    int arrays, kinds[MOST], items[MOST], ones[MOST];
    state = signature;
    arrays = 2 + below(MOST - 2);
    for (int i = 0; i < arrays; i++) {
        kinds[i] = below(KINDS);
        items[i] = 1 + below(below(3) == 0 ? 3 : below(2) == 0 ? 3000 : 60);
        ones[i] = 1;
    }
    state = 1000003 * (uint64_t)layout;
    for (int i = 0; i < arrays; i++) {
        MPI_Datatype base = bases[kinds[i]];
        int *indices = malloc(items[i] * sizeof *indices);
        int how = below(4), stride = how == 0 ? 1 : 1 + below(5), last = 0;
        for (int j = 0; j < items[i]; j++) {
            indices[j] = last;
            last += how < 2 ? stride : 1 + (int)below(3);
        }
        if (how < 2) {
            MPI_Type_vector(items[i], 1, stride, base, &parts[i]);
        } else {
            MPI_Type_create_indexed_block(items[i], 1, indices, base, &parts[i]);
        }
        free(indices);
        end = (end + 7) / 8 * 8;
        places[i] = end;
        end += (MPI_Aint)last * sizes[kinds[i]];
    }
    MPI_Type_create_struct(arrays, ones, places, parts, &all);
    for (int i = 0; i < arrays; i++) {
        MPI_Type_free(&parts[i]);
    }
    *extent = (end + 15) / 16 * 16;
    MPI_Type_create_resized(all, 0, *extent, &resized);
    MPI_Type_free(&all);
    MPI_Type_commit(&resized);
    return resized;
}

int main(int arguments, char **argument) {
    MPI_Init(&arguments, &argument);
    int rank, rounds = atoi(argument[1]);
    uint64_t sum = 0xcbf29ce484222325u;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        MPI_Aint extent;
        MPI_Datatype type = make(i + 1, 2 * i + rank, &extent);
        state = i;
        int count = 1 + below(4), room = count + below(2), found;
        size_t bytes = extent * room;
        unsigned char *memory = malloc(bytes);
        for (size_t at = 0; at < bytes; at++) {
            memory[at] = rank == 0 ? at * 2654435761u >> 13 : 0xab;
        }
        if (rank == 0) {
            MPI_Send(memory, count, type, 1, i, MPI_COMM_WORLD);
        } else {
            MPI_Request request;
            MPI_Status status;
            MPI_Irecv(memory, room, type, 0, i, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
            MPI_Get_count(&status, type, &found);
            sum += found;
            for (size_t at = 0; at < bytes; at++) {
                sum = (sum ^ memory[at]) * 0x100000001b3u;
            }
        }
        free(memory);
        MPI_Type_free(&type);
        if (rank == 1 && i % 100 == 99) {
            printf("rounds-%d %016llx\n", i + 1, (unsigned long long)sum);
        }
    }
    return MPI_Finalize();
}
