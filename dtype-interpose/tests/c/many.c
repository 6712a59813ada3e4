/* Sends structs of more datatypes than the preloaded library has slots, all of them committed and live; of
   their duplicates; and of predefined datatypes that are committed. Rank 1 prints the number of correct
   messages. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TYPES = 9000, RECORDS = 700, EACH = 9 };

typedef struct {
    unsigned char kind;
    double value;
    short level;
    float weight;
} Record;

static int rank, sent, right;
static Record records[RECORDS], received[RECORDS];

static void exchange(MPI_Datatype type, int number) {
    sent++;
    for (int i = 0; i < RECORDS; i++) {
        records[i].kind = (unsigned char)(number + i);
        records[i].value = number * 1000.0 + i;
        records[i].level = (short)(number - i);
        records[i].weight = (float)i / 3;
    }
    if (rank == 0) {
        MPI_Send(records, RECORDS, type, 1, number, MPI_COMM_WORLD);
        return;
    }
    memset(received, 0x77, sizeof received);
    MPI_Recv(received, RECORDS, type, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int same = 1;
    for (int i = 0; i < RECORDS; i++) {
        same &= received[i].kind == records[i].kind && received[i].value == records[i].value &&
                received[i].level == records[i].level && received[i].weight == records[i].weight;
    }
    right += same;
}

int main(int arguments, char **argument) {
    static MPI_Datatype types[TYPES];
    int lengths[4] = {1, 1, 1, 1};
    MPI_Aint places[4] = {0, 8, 16, 20};
    MPI_Datatype fields[4] = {MPI_UNSIGNED_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_FLOAT}, type;
    MPI_Init(&arguments, &argument);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < TYPES; i++) {
        MPI_Type_create_struct(4, lengths, places, fields, &type);
        MPI_Type_create_resized(type, 0, sizeof(Record), &types[i]);
        MPI_Type_free(&type);
        MPI_Type_commit(&types[i]);
    }
    /* Several messages of one datatype, so that the sender plans it. */
    for (int i = 0; i < TYPES; i += TYPES / 30) {
        for (int k = 0; k < EACH; k++) {
            exchange(types[rank == 0 ? i : TYPES - 1 - i], i);
        }
        MPI_Type_dup(types[i], &type);
        MPI_Type_free(&types[i]);
        exchange(type, i);
        types[i] = type;
    }
    MPI_Datatype predefined[2] = {MPI_DOUBLE, MPI_DOUBLE_INT};
    for (int i = 0; i < 2; i++) {
        MPI_Aint lower, extent;
        MPI_Type_commit(&predefined[i]);
        MPI_Type_get_extent(predefined[i], &lower, &extent);
        int count = (int)(200000 / extent);
        char *from = calloc((size_t)count, (size_t)extent), *to = calloc((size_t)count, (size_t)extent);
        for (int k = 0; k < EACH; k++) {
            sent++;
            memset(from, k + 1, (size_t)count * (size_t)extent);
            MPI_Sendrecv(from, count, predefined[i], 1 - rank, 1, to, count, predefined[i], 1 - rank, 1,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            right += to[0] == k + 1 && to[(long)(count - 1) * extent] == k + 1;
        }
        free(from);
        free(to);
    }
    if (rank == 1) {
        printf("%d of %d messages\n", right, sent);
    }
    for (int i = 0; i < TYPES; i++) {
        MPI_Type_free(&types[i]);
    }
    MPI_Finalize();
}
