/* A program that asks for functions by their names, and prints which ones there are. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int arguments, char **argument) {
    int i;
    MPI_Init(NULL, NULL);
    for (i = 1; i < arguments; i++)
        printf("%s %s\n", argument[i], dlsym(RTLD_DEFAULT, argument[i]) ? "found" : "missing");
    return MPI_Finalize();
}
