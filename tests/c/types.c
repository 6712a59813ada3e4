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

/* The predefined datatype of a name; MPI_DATATYPE_NULL where the library does not have it. */
void c_named(const char *name, MPI_Datatype *type) {
#define IS(handle) if (strcmp(name, #handle) == 0) return (void)(*type = handle)
    IS(MPI_INT8_T);
    IS(MPI_INT16_T);
    IS(MPI_INT32_T);
    IS(MPI_INT64_T);
    IS(MPI_UINT8_T);
    IS(MPI_UINT16_T);
    IS(MPI_UINT32_T);
    IS(MPI_UINT64_T);
    IS(MPI_FLOAT);
    IS(MPI_DOUBLE);
    IS(MPI_C_BOOL);
    IS(MPI_C_FLOAT_COMPLEX);
    IS(MPI_C_DOUBLE_COMPLEX);
    IS(MPI_BYTE);
    IS(MPI_CHAR);
    IS(MPI_SIGNED_CHAR);
    IS(MPI_SHORT);
    IS(MPI_INT);
    IS(MPI_LONG);
    IS(MPI_LONG_LONG_INT);
    IS(MPI_UNSIGNED_CHAR);
    IS(MPI_UNSIGNED_SHORT);
    IS(MPI_UNSIGNED);
    IS(MPI_UNSIGNED_LONG);
    IS(MPI_UNSIGNED_LONG_LONG);
    IS(MPI_LONG_DOUBLE);
    IS(MPI_WCHAR);
    IS(MPI_AINT);
    IS(MPI_OFFSET);
    IS(MPI_COUNT);
    IS(MPI_C_COMPLEX);
    IS(MPI_C_LONG_DOUBLE_COMPLEX);
    IS(MPI_CHARACTER);
    IS(MPI_LOGICAL);
    IS(MPI_INTEGER);
    IS(MPI_REAL);
    IS(MPI_DOUBLE_PRECISION);
    IS(MPI_COMPLEX);
    IS(MPI_DOUBLE_COMPLEX);
    IS(MPI_INTEGER1);
    IS(MPI_INTEGER2);
    IS(MPI_INTEGER4);
    IS(MPI_INTEGER8);
    IS(MPI_REAL4);
    IS(MPI_REAL8);
    IS(MPI_COMPLEX8);
    IS(MPI_COMPLEX16);
    IS(MPI_FLOAT_INT);
    IS(MPI_DOUBLE_INT);
    IS(MPI_LONG_INT);
    IS(MPI_2INT);
    IS(MPI_SHORT_INT);
    IS(MPI_LONG_DOUBLE_INT);
    IS(MPI_2REAL);
    IS(MPI_2DOUBLE_PRECISION);
    IS(MPI_2INTEGER);
    IS(MPI_PACKED);
#ifdef MPI_LOGICAL1
    IS(MPI_LOGICAL1);
#endif
#ifdef MPI_LOGICAL2
    IS(MPI_LOGICAL2);
#endif
#ifdef MPI_LOGICAL4
    IS(MPI_LOGICAL4);
#endif
#ifdef MPI_LOGICAL8
    IS(MPI_LOGICAL8);
#endif
#ifdef MPI_LOGICAL16
    IS(MPI_LOGICAL16);
#endif
#ifdef MPI_INTEGER16
    IS(MPI_INTEGER16);
#endif
#ifdef MPI_REAL2
    IS(MPI_REAL2);
#endif
#ifdef MPI_REAL16
    IS(MPI_REAL16);
#endif
#ifdef MPI_COMPLEX4
    IS(MPI_COMPLEX4);
#endif
#ifdef MPI_COMPLEX32
    IS(MPI_COMPLEX32);
#endif
#ifdef MPI_CXX_BOOL
    IS(MPI_CXX_BOOL);
#endif
#ifdef MPI_CXX_FLOAT_COMPLEX
    IS(MPI_CXX_FLOAT_COMPLEX);
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
    IS(MPI_CXX_DOUBLE_COMPLEX);
#endif
#ifdef MPI_CXX_LONG_DOUBLE_COMPLEX
    IS(MPI_CXX_LONG_DOUBLE_COMPLEX);
#endif
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
