/* Sees through the profiling interface (MPI 4.1 section 15.2) which communicators are made: the contexts of
   segments are nobody's but the library's, and a test that attacks them has to find them. And makes a library
   that builds other datatypes than it is asked for, windows elsewhere than it says, and writes and requests
   that fail. */
#include <mpi.h>
#include <stddef.h>

static MPI_Comm made[64];
static int count;

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *new) {
    int code = PMPI_Comm_create(comm, group, new);
    if (code == MPI_SUCCESS && count < 64) made[count++] = *new;
    return code;
}

/* The i-th of them. */
void c_made(int i, MPI_Comm *comm) { *comm = i < count ? made[i] : MPI_COMM_NULL; }

static int mistakes;

/* Makes the next `count` contiguous datatypes one copy too short. */
void c_make_mistakes(int count) { mistakes = count; }

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *new) {
    return PMPI_Type_contiguous(mistakes > 0 ? (mistakes--, count - 1) : count, old, new);
}

static int shift;

/* Shifts the memory of the next window by so many bytes against the addresses that other ranks use. */
void c_shift_window(int bytes) { shift = bytes; }

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window) {
    int code = PMPI_Win_allocate(size + shift, unit, info, comm, base, window);
    *(char **)base += shift;
    shift = 0;
    return code;
}

static int failures;

/* Lets the next `count` immediate writes fail when they complete. If the storage is full, libraries
   crash or never complete, so a request of this file fails in place of theirs. */
void c_fail_writes(int count) { failures = count; }

static int query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_ERR_NO_SPACE;
}

static int forget(void *state) {
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

int MPI_File_iwrite_at(MPI_File file, MPI_Offset at, const void *from, int count, MPI_Datatype type,
                       MPI_Request *request) {
    if (failures == 0) return PMPI_File_iwrite_at(file, at, from, count, type, request);
    failures--;
    int code = MPI_Grequest_start(query, forget, cancel, NULL, request);
    return code == MPI_SUCCESS ? MPI_Grequest_complete(*request) : code;
}

static int failing;

/* Lets the next `count` calls of MPI_Testall that complete requests say that the first request failed. */
void c_fail_requests(int count) { failing = count; }

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    int code = PMPI_Testall(count, requests, flag, statuses);
    if (code != MPI_SUCCESS || !*flag || failing == 0) return code;
    failing--;
    for (int i = 0; i < count; i++) statuses[i].MPI_ERROR = i == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
    return MPI_ERR_IN_STATUS;
}
