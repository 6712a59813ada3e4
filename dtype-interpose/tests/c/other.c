/* A program that seems to run with another MPI library, because it has a symbol of that library. */
#include <mpi.h>

int SYMBOL;

int main(int arguments, char **argument) {
    MPI_Init(&arguments, &argument);
    return MPI_Finalize();
}
