/* Code that only a C compiler can provide: it reads the constants of mpi.h, which are macros and
   enumerators that differ between libraries, and selects the plain or the large-count version of a call.
   Everything else is in Rust. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGE (MPI_VERSION >= 4)

/* ---- Predefined datatypes ---- */

/* Predefined datatypes that some libraries lack. */
#ifndef MPI_CXX_BOOL
#define MPI_CXX_BOOL MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_FLOAT_COMPLEX
#define MPI_CXX_FLOAT_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_DOUBLE_COMPLEX
#define MPI_CXX_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_CXX_LONG_DOUBLE_COMPLEX
#define MPI_CXX_LONG_DOUBLE_COMPLEX MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL1
#define MPI_LOGICAL1 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL2
#define MPI_LOGICAL2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL4
#define MPI_LOGICAL4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL8
#define MPI_LOGICAL8 MPI_DATATYPE_NULL
#endif
#ifndef MPI_LOGICAL16
#define MPI_LOGICAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_INTEGER16
#define MPI_INTEGER16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL2
#define MPI_REAL2 MPI_DATATYPE_NULL
#endif
#ifndef MPI_REAL16
#define MPI_REAL16 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX4
#define MPI_COMPLEX4 MPI_DATATYPE_NULL
#endif
#ifndef MPI_COMPLEX32
#define MPI_COMPLEX32 MPI_DATATYPE_NULL
#endif

/* The handles of the base types, in the order of `BaseType` of dtype-core. MPI_DATATYPE_NULL stands for a
   type that the library lacks. */
static MPI_Datatype handle_of(int base) {
    static const MPI_Datatype handles[] = {
        MPI_INT8_T,
        MPI_INT16_T,
        MPI_INT32_T,
        MPI_INT64_T,
        MPI_UINT8_T,
        MPI_UINT16_T,
        MPI_UINT32_T,
        MPI_UINT64_T,
        MPI_FLOAT,
        MPI_DOUBLE,
        MPI_C_BOOL,
        MPI_C_FLOAT_COMPLEX,
        MPI_C_DOUBLE_COMPLEX,
        MPI_BYTE,
        MPI_CHAR,
        MPI_SIGNED_CHAR,
        MPI_SHORT,
        MPI_INT,
        MPI_LONG,
        MPI_LONG_LONG_INT,
        MPI_UNSIGNED_CHAR,
        MPI_UNSIGNED_SHORT,
        MPI_UNSIGNED,
        MPI_UNSIGNED_LONG,
        MPI_UNSIGNED_LONG_LONG,
        MPI_LONG_DOUBLE,
        MPI_WCHAR,
        MPI_AINT,
        MPI_OFFSET,
        MPI_COUNT,
        MPI_C_COMPLEX,
        MPI_C_LONG_DOUBLE_COMPLEX,
        MPI_CXX_BOOL,
        MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX,
        MPI_CXX_LONG_DOUBLE_COMPLEX,
        MPI_CHARACTER,
        MPI_LOGICAL,
        MPI_LOGICAL1,
        MPI_LOGICAL2,
        MPI_LOGICAL4,
        MPI_LOGICAL8,
        MPI_LOGICAL16,
        MPI_INTEGER,
        MPI_REAL,
        MPI_DOUBLE_PRECISION,
        MPI_COMPLEX,
        MPI_DOUBLE_COMPLEX,
        MPI_INTEGER1,
        MPI_INTEGER2,
        MPI_INTEGER4,
        MPI_INTEGER8,
        MPI_INTEGER16,
        MPI_REAL2,
        MPI_REAL4,
        MPI_REAL8,
        MPI_REAL16,
        MPI_COMPLEX4,
        MPI_COMPLEX8,
        MPI_COMPLEX16,
        MPI_COMPLEX32,
        MPI_FLOAT_INT,
        MPI_DOUBLE_INT,
        MPI_LONG_INT,
        MPI_2INT,
        MPI_SHORT_INT,
        MPI_LONG_DOUBLE_INT,
        MPI_2REAL,
        MPI_2DOUBLE_PRECISION,
        MPI_2INTEGER,
        MPI_PACKED,
    };
    enum { COUNT = sizeof handles / sizeof *handles };
    return base >= 0 && base < COUNT ? handles[base] : MPI_DATATYPE_NULL;
}

MPI_Datatype dtype_shim_handle(int base) { return handle_of(base); }

/* ---- Envelopes (MPI 4.1 section 5.1.13) ---- */

/* Returns a letter for a combiner, the same with every library; 0 for an unknown one. */
static int letter_of(int combiner) {
    switch (combiner) {
    case MPI_COMBINER_NAMED: return 'n';
    case MPI_COMBINER_DUP: return 'd';
    case MPI_COMBINER_CONTIGUOUS: return 'c';
    case MPI_COMBINER_VECTOR: return 'v';
    case MPI_COMBINER_HVECTOR: return 'V';
    case MPI_COMBINER_INDEXED: return 'i';
    case MPI_COMBINER_HINDEXED: return 'I';
    case MPI_COMBINER_INDEXED_BLOCK: return 'b';
    case MPI_COMBINER_HINDEXED_BLOCK: return 'B';
    case MPI_COMBINER_STRUCT: return 's';
    case MPI_COMBINER_SUBARRAY: return 'a';
    case MPI_COMBINER_DARRAY: return 'A';
    case MPI_COMBINER_F90_REAL: return 'R';
    case MPI_COMBINER_F90_COMPLEX: return 'C';
    case MPI_COMBINER_F90_INTEGER: return 'N';
    case MPI_COMBINER_RESIZED: return 'r';
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    case MPI_COMBINER_VALUE_INDEX: return 'p';
#endif
    default: return 0;
    }
}

/* Writes the numbers of integers, addresses, large counts and datatypes of the constructor, and its
   letter. */
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
    *combiner = letter_of(kind);
    return code;
}

int dtype_shim_contents(MPI_Datatype type, const int64_t numbers[4], int *integers, MPI_Aint *addresses,
                        MPI_Count *counts, MPI_Datatype *types) {
#if LARGE
    return MPI_Type_get_contents_c(type, numbers[0], numbers[1], numbers[2], numbers[3], integers, addresses,
                                   counts, types);
#else
    (void)counts;
    return MPI_Type_get_contents(type, (int)numbers[0], (int)numbers[1], (int)numbers[3], integers, addresses,
                                 types);
#endif
}

/* The constants among the arguments of subarrays and darrays. */
int dtype_shim_is_fortran_order(int order) { return order == MPI_ORDER_FORTRAN; }
int dtype_shim_default_darg(int darg) { return darg == MPI_DISTRIBUTE_DFLT_DARG; }
int dtype_shim_distribution(int distribution) {
    return distribution == MPI_DISTRIBUTE_BLOCK ? 'b' : distribution == MPI_DISTRIBUTE_CYCLIC ? 'c' : 'n';
}

/* ---- Constructors (MPI 4.1 section 5.1.2): the large-count version if a count does not fit an int ---- */

int dtype_shim_has_large_counts(void) { return LARGE; }

_Static_assert(sizeof(MPI_Aint) == sizeof(int64_t), "addresses of 64 bits");

/* Makes the large-count call if the condition is false. Without large counts, the condition is always
   true. */
#if LARGE
#define UNLESS(fits, call) if (!(fits)) return call

static int all_fit(int64_t count, const int64_t *numbers) {
    for (int64_t i = 0; i < count; i++)
        if (numbers[i] > INT_MAX) return 0;
    return count <= INT_MAX;
}
#else
#define UNLESS(fits, call)
#endif

/* Returns the numbers as ints, which the caller frees; NULL if there is no memory. */
static int *narrowed(int64_t count, const int64_t *numbers) {
    int *ints = malloc((count + 1) * sizeof *ints);
    for (int64_t i = 0; ints && i < count; i++) ints[i] = (int)numbers[i];
    return ints;
}

int dtype_shim_contiguous(int64_t count, MPI_Datatype old, MPI_Datatype *new) {
    UNLESS(count <= INT_MAX, MPI_Type_contiguous_c(count, old, new));
    return MPI_Type_contiguous((int)count, old, new);
}

int dtype_shim_hvector(int64_t count, int64_t blocklength, int64_t stride, MPI_Datatype old,
                       MPI_Datatype *new) {
    UNLESS(count <= INT_MAX && blocklength <= INT_MAX,
           MPI_Type_create_hvector_c(count, blocklength, stride, old, new));
    return MPI_Type_create_hvector((int)count, (int)blocklength, stride, old, new);
}

int dtype_shim_hindexed_block(int64_t count, int64_t blocklength, const int64_t *displacements,
                              MPI_Datatype old, MPI_Datatype *new) {
    UNLESS(count <= INT_MAX && blocklength <= INT_MAX,
           MPI_Type_create_hindexed_block_c(count, blocklength, (const MPI_Count *)displacements, old, new));
    return MPI_Type_create_hindexed_block((int)count, (int)blocklength, (const MPI_Aint *)displacements, old,
                                          new);
}

int dtype_shim_hindexed(int64_t count, const int64_t *blocklengths, const int64_t *displacements,
                        MPI_Datatype old, MPI_Datatype *new) {
    UNLESS(all_fit(count, blocklengths),
           MPI_Type_create_hindexed_c(count, (const MPI_Count *)blocklengths,
                                      (const MPI_Count *)displacements, old, new));
    int *lengths = narrowed(count, blocklengths);
    if (!lengths) return MPI_ERR_NO_MEM;
    int code = MPI_Type_create_hindexed((int)count, lengths, (const MPI_Aint *)displacements, old, new);
    free(lengths);
    return code;
}

int dtype_shim_struct(int64_t count, const int64_t *blocklengths, const int64_t *displacements,
                      const MPI_Datatype *old, MPI_Datatype *new) {
    UNLESS(all_fit(count, blocklengths),
           MPI_Type_create_struct_c(count, (const MPI_Count *)blocklengths, (const MPI_Count *)displacements,
                                    old, new));
    int *lengths = narrowed(count, blocklengths);
    if (!lengths) return MPI_ERR_NO_MEM;
    int code = MPI_Type_create_struct((int)count, lengths, (const MPI_Aint *)displacements, old, new);
    free(lengths);
    return code;
}

/* ---- Errors in calls of this crate ---- */

/* `depth`: the number of nested calls of this thread whose errors are returned. `last`: the code of the
   last error in such a call. MPICH 5 returns MPI_SUCCESS after a handler that returns, so the code is read
   from here. */
static _Thread_local int depth, last;

/* The stand-in for MPI_ERRORS_ARE_FATAL. Errors in calls of this crate are returned; errors in calls of
   other threads stay fatal. */
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

/* Returns the code of this thread's last error, and clears it. */
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

/* Puts the stand-in on a communicator if errors are fatal there. Returns 1 if it did; `before` is then the
   previous handler. Other handlers stay. */
int dtype_shim_stand_in(MPI_Comm comm, MPI_Errhandler *before) {
    if (MPI_Comm_get_errhandler(comm, before) != MPI_SUCCESS) return 0;
    if (is_fatal(*before) && MPI_Comm_set_errhandler(comm, stand_in) == MPI_SUCCESS) return 1;
    MPI_Errhandler_free(before);
    return 0;
}

/* Restores the previous handler. If other threads may set handlers, does so only if the stand-in is still
   there. */
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

/* Sets MPI_ERRORS_RETURN on a communicator of this crate. */
int dtype_shim_return_errors(MPI_Comm comm) { return MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN); }

/* ---- Messages ---- */

/* Returns the greatest tag, or 32767 if the library does not tell. */
int dtype_shim_greatest_tag(MPI_Comm comm) {
    int *greatest, found = 0;
    if (MPI_Comm_get_attr(comm, MPI_TAG_UB, &greatest, &found) != MPI_SUCCESS || !found) return 32767;
    return *greatest;
}

/* ---- Constants ---- */

void *dtype_shim_in_place(void) { return MPI_IN_PLACE; }
int dtype_shim_root(void) { return MPI_ROOT; }
