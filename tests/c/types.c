/* Datatypes as a C program has them, which rsmpi has no names for. */
#include <mpi.h>
#include <string.h>

#if MPI_VERSION >= 4
static MPI_Session session;
#endif

/* Opens a session without MPI_Init, and gives a communicator of all processes; 0 where the library has no
   sessions. */
int c_open_session(MPI_Comm *all) {
#if MPI_VERSION >= 4
    MPI_Group group;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "dtype", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, all);
    return MPI_Group_free(&group) == MPI_SUCCESS;
#else
    (void)all;
    return 0;
#endif
}

void c_close_session(MPI_Comm *all) {
    (void)all;
#if MPI_VERSION >= 4
    MPI_Comm_free(all);
    MPI_Session_finalize(&session);
#endif
}

void c_maxloc(MPI_Op *op) { *op = MPI_MAXLOC; }

/* The size of a handle in bytes. */
int c_width(void) { return sizeof(MPI_Datatype); }

/* The predefined datatype of a name; MPI_DATATYPE_NULL where the library does not have it. The names are
   those of the table of base types. */
void c_named(const char *name, MPI_Datatype *type) {
#define IS(handle) if (strcmp(name, #handle) == 0) return (void)(*type = handle)
#include "names.h"
    *type = MPI_DATATYPE_NULL;
}

/* The types of Fortran numbers of so many digits; nothing where the library has none. */
int c_f90(MPI_Datatype *types) {
    int count = 0;
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (MPI_Type_create_f90_real(6, MPI_UNDEFINED, &types[count]) == MPI_SUCCESS) count++;
    if (MPI_Type_create_f90_real(15, 300, &types[count]) == MPI_SUCCESS) count++;
    if (MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &types[count]) == MPI_SUCCESS) count++;
    if (MPI_Type_create_f90_integer(9, &types[count]) == MPI_SUCCESS) count++;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
    return count;
}

/* Datatypes made with large counts; nothing where the library has no such constructors. */
int c_large(MPI_Datatype *types) {
    int count = 0;
    (void)types;
#if MPI_VERSION >= 4
    MPI_Count lengths[2] = {2, 3}, places[2] = {0, 40}, sizes[2] = {5, 6}, subsizes[2] = {2, 3},
              starts[2] = {1, 2};
    MPI_Datatype olds[2] = {MPI_DOUBLE, MPI_SHORT};
    int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
        blocks[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 2};
    MPI_Type_contiguous_c(3, MPI_DOUBLE, &types[count++]);
    MPI_Type_vector_c(3, 2, 5, MPI_DOUBLE, &types[count++]);
    MPI_Type_create_hvector_c(3, 2, 50, MPI_DOUBLE, &types[count++]);
    MPI_Type_indexed_c(2, lengths, places, MPI_SHORT, &types[count++]);
    MPI_Type_create_hindexed_c(2, lengths, places, MPI_SHORT, &types[count++]);
    MPI_Type_create_indexed_block_c(2, 3, places, MPI_INT, &types[count++]);
    MPI_Type_create_hindexed_block_c(2, 3, places, MPI_INT, &types[count++]);
    MPI_Type_create_struct_c(2, lengths, places, olds, &types[count++]);
    MPI_Type_create_resized_c(MPI_SHORT, -2, 24, &types[count++]);
    MPI_Type_create_subarray_c(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &types[count++]);
    MPI_Type_create_darray_c(4, 3, 2, sizes, distributions, blocks, grid, MPI_ORDER_C, MPI_DOUBLE,
                             &types[count++]);
#endif
    return count;
}

/* A value and its index, which are predefined and not to be freed. */
int c_value_index(MPI_Datatype *types) {
    int count = 0;
    (void)types;
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &types[count++]);
#endif
    return count;
}
