/* A program that seems to run with another MPI library: it has a symbol of that one's. */
#include <mpi.h>

int SYMBOL;

int main(int arguments, char **argument) {
    MPI_Init(&arguments, &argument);
    return MPI_Finalize();
}
