/* A library before the MPI library by which the eighth packed byte is another one. PMPI's names find it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Pack(const void *buffer, int count, MPI_Datatype datatype, void *packed, int size, int *position,
              MPI_Comm communicator) {
    int (*next)(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Pack");
    int start = *position, code = next(buffer, count, datatype, packed, size, position, communicator);
    if (*position - start > 7) ((unsigned char *)packed)[start + 7] ^= 1;
    return code;
}

int PMPI_Unpack(const void *packed, int size, int *position, void *buffer, int count, MPI_Datatype datatype,
                MPI_Comm communicator) {
    int (*next)(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
    *(void **)&next = dlsym(RTLD_NEXT, "PMPI_Unpack");
    unsigned char *copy = malloc(size);
    memcpy(copy, packed, size);
    if (size - *position > 7) copy[*position + 7] ^= 1;
    int code = next(copy, size, position, buffer, count, datatype, communicator);
    free(copy);
    return code;
}
