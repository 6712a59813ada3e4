/* Datatypes as a C program has them, which rsmpi has no names for. */
#include <mpi.h>

/* All predefined datatypes of numbers that there are here, and how many. */
int c_predefined(MPI_Datatype *types) {
    const MPI_Datatype all[] = {
        MPI_BYTE, MPI_CHAR, MPI_SIGNED_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,
        MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX,
        MPI_C_BOOL, MPI_WCHAR, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_INT8_T, MPI_UINT64_T,
        MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
        MPI_CHARACTER, MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_2INTEGER, MPI_2REAL,
    };
    int count = 0;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != MPI_DATATYPE_NULL) types[count++] = all[i];
    return count;
}

MPI_Errhandler c_errors_return(void) { return MPI_ERRORS_RETURN; }

/* What no base type stands for. */
int c_others(MPI_Datatype *types) {
    types[0] = MPI_LONG_DOUBLE;
    types[1] = MPI_LONG_DOUBLE_INT;
    types[2] = MPI_PACKED;
    return 3;
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
    MPI_Count lengths[2] = {2, 3}, places[2] = {0, 40}, sizes[2] = {5, 6}, subsizes[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Datatype olds[2] = {MPI_DOUBLE, MPI_SHORT};
    int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, blocks[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[2] = {2, 2};
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
    MPI_Type_create_darray_c(4, 3, 2, sizes, distributions, blocks, grid, MPI_ORDER_C, MPI_DOUBLE, &types[count++]);
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
