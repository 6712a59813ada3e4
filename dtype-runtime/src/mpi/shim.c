/* What only a C compiler can tell: the constants of mpi.h, which are macros and enumerations that differ from library to library, and
   the calls with large counts, where the library has them. Everything else is done in Rust. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

#define LARGE (MPI_VERSION >= 4)

/* ---- Predefined datatypes ---- */

MPI_Datatype dtype_shim_byte(void) { return MPI_BYTE; }
MPI_Datatype dtype_shim_packed(void) { return MPI_PACKED; }

/* A number of a predefined datatype: signed or unsigned integer, floating point, complex, bool, byte. */
struct part { int32_t kind, size; int64_t offset; };

/* The numbers that a predefined datatype is made of, and how many they are; 0 for one that is not known. */
int dtype_shim_named(MPI_Datatype type, struct part parts[2]) {
    int size = 0;
    MPI_Type_size(type, &size);
#define ONE(handle, letter) if (type == (handle)) { parts[0] = (struct part){letter, size, 0}; return 1; }
#define PAIR(handle, letter, first, second) if (type == (handle)) { \
        struct pair { first a; second b; }; \
        parts[0] = (struct part){letter, sizeof(first), 0}; \
        parts[1] = (struct part){'i', sizeof(second), offsetof(struct pair, b)}; \
        return 2; \
    }
#define TWICE(handle, letter) if (type == (handle)) { \
        parts[0] = (struct part){letter, size / 2, 0}; \
        parts[1] = (struct part){letter, size / 2, size / 2}; \
        return 2; \
    }
    if (type == MPI_DATATYPE_NULL) return 0;
    ONE(MPI_BYTE, 'x')
    ONE(MPI_CHAR, (char)-1 < 0 ? 'i' : 'u')
    ONE(MPI_SIGNED_CHAR, 'i') ONE(MPI_SHORT, 'i') ONE(MPI_INT, 'i') ONE(MPI_LONG, 'i') ONE(MPI_LONG_LONG, 'i')
    ONE(MPI_UNSIGNED_CHAR, 'u') ONE(MPI_UNSIGNED_SHORT, 'u') ONE(MPI_UNSIGNED, 'u') ONE(MPI_UNSIGNED_LONG, 'u')
    ONE(MPI_UNSIGNED_LONG_LONG, 'u')
    ONE(MPI_INT8_T, 'i') ONE(MPI_INT16_T, 'i') ONE(MPI_INT32_T, 'i') ONE(MPI_INT64_T, 'i')
    ONE(MPI_UINT8_T, 'u') ONE(MPI_UINT16_T, 'u') ONE(MPI_UINT32_T, 'u') ONE(MPI_UINT64_T, 'u')
    ONE(MPI_FLOAT, 'f') ONE(MPI_DOUBLE, 'f') ONE(MPI_LONG_DOUBLE, 'f')
    ONE(MPI_C_BOOL, 'b')
    ONE(MPI_C_FLOAT_COMPLEX, 'c') ONE(MPI_C_DOUBLE_COMPLEX, 'c') ONE(MPI_C_LONG_DOUBLE_COMPLEX, 'c')
    ONE(MPI_WCHAR, (wchar_t)-1 < 0 ? 'i' : 'u')
    ONE(MPI_AINT, 'i') ONE(MPI_OFFSET, 'i') ONE(MPI_COUNT, 'i')
    PAIR(MPI_FLOAT_INT, 'f', float, int) PAIR(MPI_DOUBLE_INT, 'f', double, int) PAIR(MPI_LONG_INT, 'i', long, int)
    PAIR(MPI_2INT, 'i', int, int) PAIR(MPI_SHORT_INT, 'i', short, int)
    PAIR(MPI_LONG_DOUBLE_INT, 'f', long double, int)
    /* Fortran's, which libraries without Fortran give as MPI_DATATYPE_NULL. */
    ONE(MPI_CHARACTER, 'u') ONE(MPI_LOGICAL, 'i') ONE(MPI_INTEGER, 'i') ONE(MPI_REAL, 'f') ONE(MPI_DOUBLE_PRECISION, 'f')
    ONE(MPI_COMPLEX, 'c') ONE(MPI_DOUBLE_COMPLEX, 'c')
    ONE(MPI_INTEGER1, 'i') ONE(MPI_INTEGER2, 'i') ONE(MPI_INTEGER4, 'i') ONE(MPI_INTEGER8, 'i')
    ONE(MPI_REAL4, 'f') ONE(MPI_REAL8, 'f') ONE(MPI_COMPLEX8, 'c') ONE(MPI_COMPLEX16, 'c')
    TWICE(MPI_2INTEGER, 'i') TWICE(MPI_2REAL, 'f') TWICE(MPI_2DOUBLE_PRECISION, 'f')
    /* C++'s. */
    ONE(MPI_CXX_BOOL, 'b') ONE(MPI_CXX_FLOAT_COMPLEX, 'c') ONE(MPI_CXX_DOUBLE_COMPLEX, 'c')
    return 0;
}

/* ---- Envelopes (MPI 4.1 section 5.1.13) ---- */

/* The same numbers on every library. */
enum combiner {
    OTHER, NAMED, DUP, CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCT, SUBARRAY, DARRAY,
    F90_REAL, F90_COMPLEX, F90_INTEGER, RESIZED, VALUE_INDEX
};

static enum combiner combiner_of(int combiner) {
    switch (combiner) {
    case MPI_COMBINER_NAMED: return NAMED;
    case MPI_COMBINER_DUP: return DUP;
    case MPI_COMBINER_CONTIGUOUS: return CONTIGUOUS;
    case MPI_COMBINER_VECTOR: return VECTOR;
    case MPI_COMBINER_HVECTOR: return HVECTOR;
    case MPI_COMBINER_INDEXED: return INDEXED;
    case MPI_COMBINER_HINDEXED: return HINDEXED;
    case MPI_COMBINER_INDEXED_BLOCK: return INDEXED_BLOCK;
    case MPI_COMBINER_HINDEXED_BLOCK: return HINDEXED_BLOCK;
    case MPI_COMBINER_STRUCT: return STRUCT;
    case MPI_COMBINER_SUBARRAY: return SUBARRAY;
    case MPI_COMBINER_DARRAY: return DARRAY;
    case MPI_COMBINER_F90_REAL: return F90_REAL;
    case MPI_COMBINER_F90_COMPLEX: return F90_COMPLEX;
    case MPI_COMBINER_F90_INTEGER: return F90_INTEGER;
    case MPI_COMBINER_RESIZED: return RESIZED;
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX: return VALUE_INDEX;
#endif
    default: return OTHER;
    }
}

/* How many integers, addresses, large counts and datatypes a datatype was made of, and how. */
int dtype_shim_envelope(MPI_Datatype type, int64_t numbers[4], int32_t *combiner) {
    int kind, code;
#if LARGE
    MPI_Count n[4];
    code = MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &kind);
#else
    int n[4] = {0};
    code = MPI_Type_get_envelope(type, &n[0], &n[1], &n[3], &kind);
#endif
    if (code != MPI_SUCCESS) return code;
    for (int i = 0; i < 4; i++) numbers[i] = n[i];
    *combiner = combiner_of(kind);
    return code;
}

int dtype_shim_contents(MPI_Datatype type, const int64_t numbers[4], int *integers, MPI_Aint *addresses, MPI_Count *counts,
                        MPI_Datatype *types) {
#if LARGE
    return MPI_Type_get_contents_c(type, numbers[0], numbers[1], numbers[2], numbers[3], integers, addresses, counts, types);
#else
    (void)counts;
    return MPI_Type_get_contents(type, (int)numbers[0], (int)numbers[1], (int)numbers[3], integers, addresses, types);
#endif
}

/* The constants among the arguments of subarrays and darrays. */
int dtype_shim_is_fortran_order(int order) { return order == MPI_ORDER_FORTRAN; }
int dtype_shim_default_darg(int darg) { return darg == MPI_DISTRIBUTE_DFLT_DARG; }
int dtype_shim_distribution(int distribution) {
    return distribution == MPI_DISTRIBUTE_BLOCK ? 'b' : distribution == MPI_DISTRIBUTE_CYCLIC ? 'c' : 'n';
}

/* ---- Constructors with large counts (MPI 4.1 section 5.1.2): only where dtype_shim_has_large_counts() says so ---- */

int dtype_shim_has_large_counts(void) { return LARGE; }

#if LARGE
#define LARGE_CALL(call) return call
#else
#define LARGE_CALL(call) return MPI_ERR_UNSUPPORTED_OPERATION
#endif

int dtype_shim_contiguous(int64_t count, MPI_Datatype old, MPI_Datatype *new) {
    (void)count, (void)old, (void)new;
    LARGE_CALL(MPI_Type_contiguous_c(count, old, new));
}
int dtype_shim_hvector(int64_t count, int64_t blocklength, int64_t stride, MPI_Datatype old, MPI_Datatype *new) {
    (void)count, (void)blocklength, (void)stride, (void)old, (void)new;
    LARGE_CALL(MPI_Type_create_hvector_c(count, blocklength, stride, old, new));
}
int dtype_shim_hindexed_block(int64_t count, int64_t blocklength, const MPI_Count *displacements, MPI_Datatype old,
                              MPI_Datatype *new) {
    (void)count, (void)blocklength, (void)displacements, (void)old, (void)new;
    LARGE_CALL(MPI_Type_create_hindexed_block_c(count, blocklength, displacements, old, new));
}
int dtype_shim_hindexed(int64_t count, const MPI_Count *blocklengths, const MPI_Count *displacements, MPI_Datatype old,
                        MPI_Datatype *new) {
    (void)count, (void)blocklengths, (void)displacements, (void)old, (void)new;
    LARGE_CALL(MPI_Type_create_hindexed_c(count, blocklengths, displacements, old, new));
}
int dtype_shim_struct(int64_t count, const MPI_Count *blocklengths, const MPI_Count *displacements, const MPI_Datatype *old,
                      MPI_Datatype *new) {
    (void)count, (void)blocklengths, (void)displacements, (void)old, (void)new;
    LARGE_CALL(MPI_Type_create_struct_c(count, blocklengths, displacements, old, new));
}

/* ---- Errors that are ours to tell ---- */

/* How deep this thread is in calls whose errors become values, and the code of the last error there. MPICH 5 returns MPI_SUCCESS
   after a handler that returns, so the code is read here and not from the call. */
static _Thread_local int depth, last;

/* Stands in for MPI_ERRORS_ARE_FATAL during calls of ours: errors in them are returned, those of other threads are fatal as before. */
static void all_but_ours(MPI_Comm *comm, int *code, ...) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (depth) {
        last = *code;
        return;
    }
    MPI_Error_string(*code, text, &length);
    fprintf(stderr, "%.*s\n", length, text);
    MPI_Abort(*comm, *code);
}

static MPI_Errhandler stand_in;

int dtype_shim_make_stand_in(void) { return MPI_Comm_create_errhandler(all_but_ours, &stand_in); }
int dtype_shim_free_stand_in(void) { return MPI_Errhandler_free(&stand_in); }

void dtype_shim_enter(void) { depth++; }
void dtype_shim_leave(void) { depth--; }

/* The code of the last error of this thread, which is forgotten. */
int dtype_shim_last_error(void) {
    int code = last;
    last = MPI_SUCCESS;
    return code;
}

static int is_fatal(MPI_Errhandler handler) {
#if LARGE
    if (handler == MPI_ERRORS_ABORT) return 1;
#endif
    return handler == MPI_ERRORS_ARE_FATAL;
}

/* Puts the stand-in where errors are fatal: then this is 1, and `before` the handler that was there. All others stay. */
int dtype_shim_stand_in(MPI_Comm comm, MPI_Errhandler *before) {
    if (MPI_Comm_get_errhandler(comm, before) != MPI_SUCCESS) return 0;
    if (is_fatal(*before) && MPI_Comm_set_errhandler(comm, stand_in) == MPI_SUCCESS) return 1;
    MPI_Errhandler_free(before);
    return 0;
}

/* Puts back what was there before; where other threads may set handlers, only if the stand-in is still there. */
void dtype_shim_put_back(MPI_Comm comm, MPI_Errhandler *before, int may_have_changed) {
    int is_there = 1;
    if (may_have_changed) {
        MPI_Errhandler now;
        if (MPI_Comm_get_errhandler(comm, &now) == MPI_SUCCESS) {
            is_there = now == stand_in;
            MPI_Errhandler_free(&now);
        }
    }
    if (is_there) MPI_Comm_set_errhandler(comm, *before);
    MPI_Errhandler_free(before);
}

/* Errors on a communicator of our own are returned always. */
int dtype_shim_return_errors(MPI_Comm comm) { return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); }

/* ---- Messages ---- */

/* The greatest tag. */
int dtype_shim_greatest_tag(void) {
    int *greatest, found = 0;
    if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &greatest, &found) != MPI_SUCCESS || !found) return 32767;
    return *greatest;
}

/* Whether the library may write a message that is too long behind the buffer before it reports that: Open MPI does (4 and 5, where one
   process reads the memory of another), unless the datatype has gaps. */
int dtype_shim_writes_too_much(void) {
#ifdef OPEN_MPI
    return 1;
#else
    return 0;
#endif
}
