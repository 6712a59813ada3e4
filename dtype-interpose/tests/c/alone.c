/* A program that begins MPI and ends it. */
#include <mpi.h>

int main(int arguments, char **argument) {
    MPI_Init(&arguments, &argument);
    return MPI_Finalize();
}
