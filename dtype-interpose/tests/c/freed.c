/* Attributes of datatypes whose delete function sends a message of another datatype, and messages of the null
   datatype. Each rank sends to itself, and prints how many attributes are deleted when a datatype has been
   freed, and the class of each error. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { COUNT = 400, BYTES = 40 };

static int deleted, rank;
static MPI_Datatype column, backwards[2];
static double matrix[2 * COUNT], received[2 * COUNT];
static char text[1 << 16], arrived[1 << 16];

static void travel(MPI_Datatype type, const void *from, void *to) {
    MPI_Sendrecv(from, 1, type, 0, 0, to, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static int delete(MPI_Datatype type, int key, void *value, void *state) {
    (void)type, (void)key, (void)value, (void)state;
    deleted++;
    travel(column, matrix, received);
    travel(backwards[1], text + BYTES, arrived + BYTES);
    return MPI_SUCCESS;
}

/* The library doubts if MPI packs strides of -1 byte as the standard says. */
static MPI_Datatype made(int which) {
    MPI_Datatype type;
    if (which == 0) {
        MPI_Type_vector(COUNT, 1, 2, MPI_DOUBLE, &type);
    } else {
        MPI_Type_create_hvector(BYTES + deleted, 1, -1, MPI_BYTE, &type);
    }
    MPI_Type_commit(&type);
    return type;
}

int main(int argc, char **argv) {
    int key, code, class;
    MPI_Comm own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete, &key, NULL);
    column = made(0);
    for (int which = 0; which < 2; which++) {
        for (int round = 0; round < 4; round++) {
            MPI_Datatype type = made(which);
            backwards[1] = made(1);
            MPI_Type_set_attr(type, key, NULL);
            travel(type, which ? (void *)(text + 2000) : matrix, which ? (void *)(arrived + 2000) : received);
            MPI_Type_free(&type);
            printf("deleted-%d-%d-%d %d\n", rank, which, round, deleted);
            MPI_Type_free(&backwards[1]);
        }
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    code = MPI_Send(matrix, COUNT, MPI_DATATYPE_NULL, rank, 0, own);
    MPI_Error_class(code, &class);
    printf("null-%d %d\n", rank, class == MPI_ERR_TYPE);
    MPI_Datatype freed = made(0);
    MPI_Type_free(&freed);
    code = MPI_Send(matrix, 1, freed, MPI_PROC_NULL, 0, own);
    MPI_Error_class(code, &class);
    printf("freed-%d %d\n", rank, class == MPI_ERR_TYPE);
    MPI_Comm_free(&own);
    MPI_Type_free(&column);
    MPI_Type_free_keyval(&key);
    MPI_Finalize();
}
