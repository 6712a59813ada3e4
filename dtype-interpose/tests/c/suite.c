/* Programs of all calls that move data, over datatypes and counts. Each prints a line: its name, and a hash
   of all bytes that it received and packed, and of its statuses. The lines must be the same with the
   preloaded library on all ranks, on some, and on none.

   Usage: suite [PREFIX...]: runs the programs whose names begin with one of these, or all programs. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Messages that are under way at the same time have a region each. */
enum { REGION = 1 << 16, ROOM = 8 * REGION, KINDS = 17, MANY = 6 };

/* With the standard's ABI, the library may be MPICH. */
#if defined MPICH_VERSION || defined MPI_ABI
static const int is_mpich = 1;
#else
static const int is_mpich = 0;
#endif
/* 1 if the library reports a null buffer. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
static const int looks = 1;
#else
static const int looks = 0;
#endif
static int rank, size, other;
static MPI_Comm world;
static char *from, *to, *spare;
static uint64_t sum;

static void add(const void *bytes, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i += sizeof word) {
        memcpy(&word, (const char *)bytes + i, count - i < sizeof word ? count - i : sizeof word);
        sum = (sum ^ word ^ word >> 29) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
    }
}

static void add_number(long number) { add(&number, sizeof number); }

static void refill(int round) {
    uint64_t word = (uint64_t)(rank * 31 + round * 7 + 1) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < ROOM; i += sizeof word) {
        memcpy(from + i, &word, sizeof word);
        word = word * 0xd1342543de82ef95u + 1;
    }
    memset(to, 0x5a, ROOM);
    memset(spare, 0x33, ROOM);
}

/* Libraries differ in the communicator whose handler they call. */
static void errors(MPI_Errhandler handler) {
    MPI_Comm_set_errhandler(world, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* ---- Datatypes ---- */

static const char *const kinds[KINDS] = {
    "column", "rows",   "list",   "lengths", "record",  "records", "nested", "cube",
    "lower",  "before", "shorts", "pairs",   "doubles", "dup",     "long",   "bytes",   "arrays",
};

static MPI_Datatype committed(MPI_Datatype type, int resize, long extent) {
    MPI_Datatype result = type;
    if (resize) {
        MPI_Type_create_resized(type, 0, extent, &result);
        MPI_Type_free(&type);
    }
    MPI_Type_commit(&result);
    return result;
}

static MPI_Datatype record(void) {
    int lengths[4] = {1, 1, 1, 1};
    MPI_Aint places[4] = {0, 8, 16, 20};
    MPI_Datatype types[4] = {MPI_UINT8_T, MPI_DOUBLE, MPI_INT16_T, MPI_FLOAT}, type, whole;
    MPI_Type_create_struct(4, lengths, places, types, &type);
    MPI_Type_create_resized(type, 0, 24, &whole);
    MPI_Type_free(&type);
    return whole;
}

static MPI_Datatype make(int kind) {
    MPI_Datatype type, inner;
    int lengths[40];
    int indices[40];
    MPI_Aint places[40];
    for (int i = 0; i < 40; i++) {
        lengths[i] = 1 + i % 3;
        indices[i] = 5 * i + i % 2;
        places[i] = 48 * i + 8 * (i % 3);
    }
    switch (kind) {
    case 0:
        MPI_Type_vector(300, 1, 3, MPI_DOUBLE, &type);
        return committed(type, 0, 0);
    case 1:
        MPI_Type_vector(20, 16, 20, MPI_INT, &type);
        return committed(type, 0, 0);
    case 2:
        MPI_Type_create_indexed_block(40, 1, indices, MPI_INT, &type);
        return committed(type, 0, 0);
    case 3:
        MPI_Type_create_hindexed(40, lengths, places, MPI_DOUBLE, &type);
        return committed(type, 1, 2048);
    case 4: return committed(record(), 0, 0);
    case 5:
        inner = record();
        MPI_Type_contiguous(60, inner, &type);
        MPI_Type_free(&inner);
        return committed(type, 0, 0);
    case 6: {
        MPI_Datatype types[3] = {MPI_INT, record(), MPI_FLOAT};
        int counts[3] = {3, 2, 5};
        MPI_Aint at[3] = {0, 16, 72};
        MPI_Type_create_struct(3, counts, at, types, &inner);
        MPI_Type_free(&types[1]);
        MPI_Type_create_hvector(7, 2, 256, inner, &type);
        MPI_Type_free(&inner);
        return committed(type, 1, 2000);
    }
    case 7: {
        int all[3] = {9, 8, 7}, some[3] = {5, 3, 4}, first[3] = {2, 1, 3};
        MPI_Type_create_subarray(3, all, some, first, MPI_ORDER_C, MPI_DOUBLE, &type);
        return committed(type, 0, 0);
    }
    case 8: {
        MPI_Aint at[3] = {80, 16, 40};
        MPI_Type_create_hindexed_block(3, 1, at, MPI_LONG, &inner);
        MPI_Type_create_resized(inner, 16, 96, &type);
        MPI_Type_free(&inner);
        return committed(type, 0, 0);
    }
    case 9: {
        MPI_Aint at[3] = {-80, 0, -40};
        MPI_Type_create_hindexed_block(3, 1, at, MPI_SHORT, &type);
        return committed(type, 1, 6);
    }
    case 10:
        MPI_Type_vector(100, 1, 2, MPI_SHORT, &type);
        return committed(type, 0, 0);
    case 11:
        MPI_Type_vector(30, 1, 2, MPI_2INT, &type);
        return committed(type, 0, 0);
    case 12:
        MPI_Type_contiguous(40, MPI_DOUBLE, &type);
        return committed(type, 0, 0);
    case 13: {
        MPI_Type_vector(64, 1, 2, MPI_FLOAT, &inner);
        MPI_Type_commit(&inner);
        MPI_Type_dup(inner, &type);
        MPI_Type_free(&inner);
        return type;
    }
    case 14:
        MPI_Type_vector(9, 256, 300, MPI_DOUBLE, &type);
        return committed(type, 0, 0);
    case 15:
        MPI_Type_vector(100, 3, 8, MPI_BYTE, &type);
        return committed(type, 0, 0);
    default: {
        /* Chosen items of two arrays: blocks are far shorter than runs of one base type. */
        MPI_Datatype types[2];
        MPI_Type_create_indexed_block(40, 1, indices, MPI_DOUBLE, &types[0]);
        MPI_Type_create_indexed_block(40, 1, indices, MPI_INT, &types[1]);
        int ones[2] = {1, 1};
        MPI_Aint at[2] = {0, 1600};
        MPI_Type_create_struct(2, ones, at, types, &type);
        MPI_Type_free(&types[0]);
        MPI_Type_free(&types[1]);
        return committed(type, 1, 2400);
    }
    }
}

/* ---- Programs: each gets a datatype, a count, and a place in each buffer ---- */

typedef struct {
    MPI_Datatype type;
    int kind;
    int count;
    char *from, *to, *spare;
    /* 1 if the library cannot receive many packed bytes of this datatype, or parts of an element. */
    int few;
} Case;

static void add_status(const Case *c, MPI_Status *status) {
    int count, elements;
    MPI_Get_count(status, c->type, &count);
    MPI_Get_elements(status, c->type, &elements);
    add_number(count);
    add_number(elements);
    add_number(status->MPI_SOURCE);
    add_number(status->MPI_TAG);
}

static void received(const Case *c, MPI_Status *status) {
    add_status(c, status);
    add(to, ROOM);
}

#define RECEIVE(c) MPI_Recv((c)->to, (c)->count, (c)->type, other, 5, world, &status)
#define RECEIVE_AS(c, type) MPI_Recv((c)->to, (c)->count, type, other, 5, world, MPI_STATUS_IGNORE)

static void p_send(const Case *c) {
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(c->from, c->count, c->type, other, 5, world);
        RECEIVE(c);
    } else {
        RECEIVE(c);
        MPI_Send(c->from, c->count, c->type, other, 5, world);
    }
    received(c, &status);
}

static void p_ssend(const Case *c) {
    MPI_Status status;
    if (rank == 0) {
        MPI_Ssend(c->from, c->count, c->type, other, 5, world);
        RECEIVE(c);
    } else {
        RECEIVE(c);
        MPI_Ssend(c->from, c->count, c->type, other, 5, world);
    }
    received(c, &status);
}

static void p_bsend(const Case *c) {
    MPI_Status status;
    int bytes;
    MPI_Pack_size(c->count, c->type, world, &bytes);
    bytes += MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    MPI_Bsend(c->from, c->count, c->type, other, 5, world);
    RECEIVE(c);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
    received(c, &status);
}

static void p_rsend(const Case *c) {
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &request);
    MPI_Barrier(world);
    MPI_Rsend(c->from, c->count, c->type, other, 5, world);
    MPI_Wait(&request, &status);
    received(c, &status);
}

typedef int (*Begin)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void begun(const Case *c, Begin begin) {
    MPI_Status status;
    MPI_Request requests[2];
    int done = 0;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &requests[0]);
    MPI_Barrier(world);
    begin(c->from, c->count, c->type, other, 5, world, &requests[1]);
    while (!done) {
        MPI_Test(&requests[0], &done, &status);
    }
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    add_number(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    received(c, &status);
}

static void p_isend(const Case *c) { begun(c, MPI_Isend); }
static void p_issend(const Case *c) { begun(c, MPI_Issend); }
static void p_irsend(const Case *c) { begun(c, MPI_Irsend); }

static void p_ibsend(const Case *c) {
    int bytes;
    MPI_Pack_size(c->count, c->type, world, &bytes);
    bytes += MPI_BSEND_OVERHEAD;
    void *buffer = malloc((size_t)bytes);
    MPI_Buffer_attach(buffer, bytes);
    begun(c, MPI_Ibsend);
    MPI_Buffer_detach(&buffer, &bytes);
    free(buffer);
}

static void p_ignored(const Case *c) {
    MPI_Request requests[2];
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &requests[0]);
    MPI_Isend(c->from, c->count, c->type, other, 5, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    add(to, ROOM);
    memset(to, 0x11, ROOM);
    MPI_Sendrecv(c->from, c->count, c->type, other, 5, c->to, c->count, c->type, other, 5, world,
                 MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_sendrecv(const Case *c) {
    MPI_Status status;
    MPI_Sendrecv(c->from, c->count, c->type, other, 5, c->to, c->count, c->type, other, 5, world, &status);
    received(c, &status);
}

static void p_replace(const Case *c) {
    MPI_Status status;
    memcpy(to, from, ROOM);
    MPI_Sendrecv_replace(c->to, c->count, c->type, other, 5, other, 5, world, &status);
    received(c, &status);
}

static void p_self(const Case *c) {
    MPI_Status status;
    MPI_Sendrecv(c->from, c->count, c->type, 0, 5, c->to, c->count, c->type, 0, 5, MPI_COMM_SELF, &status);
    received(c, &status);
}

static void p_nobody(const Case *c) {
    MPI_Status status;
    MPI_Send(c->from, c->count, c->type, MPI_PROC_NULL, 5, world);
    MPI_Recv(c->to, c->count, c->type, MPI_PROC_NULL, 5, world, &status);
    received(c, &status);
}

static void p_partial(const Case *c) {
    /* Fewer elements than the receive buffer has. */
    MPI_Status status;
    MPI_Request request;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &request);
    MPI_Send(c->from, c->count - 1, c->type, other, 5, world);
    MPI_Wait(&request, &status);
    received(c, &status);
}

static void p_roomy(const Case *c) {
    /* The count of the receive is far larger than its memory. */
    MPI_Status status;
    long page = sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(memory + ROOM, page, PROT_NONE);
    MPI_Request request;
    char *end = memory + ROOM - REGION;
    MPI_Irecv(end, c->count * 20, c->type, other, 5, world, &request);
    MPI_Send(c->from, c->count, c->type, other, 5, world);
    MPI_Wait(&request, &status);
    add_status(c, &status);
    add(memory, ROOM);
    MPI_Irecv(end, c->count * 20, c->type, other, 5, world, &request);
    MPI_Send(c->from, 1, c->type, other, 5, world);
    MPI_Wait(&request, &status);
    add(memory, ROOM);
    munmap(memory, ROOM + page);
}

static void p_elements(const Case *c) {
    /* A message that ends within an element, after some of its base types. */
    MPI_Status status;
    MPI_Request request;
    int bytes, position = 0;
    MPI_Pack(c->from, c->count, c->type, c->spare, ROOM - REGION, &position, world);
    MPI_Type_size(c->type, &bytes);
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &request);
    /* The base types have 8 bytes at most. MPICH 4 does not receive a part of a record. */
    int most = c->few ? position - bytes : (position - bytes) / 8 * 8 + (c->count > 1 ? 8 : 0);
    MPI_Send(c->spare, most, MPI_PACKED, other, 5, world);
    MPI_Wait(&request, &status);
    add_number(status.MPI_SOURCE);
    add(to, ROOM);
}

static void p_truncated(const Case *c) {
    MPI_Status status;
    MPI_Request request;
    int code, class = 0;
    errors(MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Barrier(world);
        MPI_Send(c->from, c->count, c->type, other, 5, world);
    } else {
        code = MPI_Irecv(c->to, c->count - 1, c->type, other, 5, world, &request);
        MPI_Barrier(world);
        if (code == MPI_SUCCESS) {
            code = MPI_Wait(&request, &status);
        }
        MPI_Error_class(code, &class);
        add_number(class == MPI_ERR_TRUNCATE);
    }
    errors(MPI_ERRORS_ARE_FATAL);
    add(to + ROOM - 4096, 4096);
}

static void p_probe(const Case *c) {
    MPI_Status status;
    MPI_Request request;
    MPI_Isend(c->from, c->count, c->type, other, 5, world, &request);
    MPI_Probe(other, 5, world, &status);
    add_status(c, &status);
    RECEIVE(c);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    received(c, &status);
}

static void p_mprobe(const Case *c) {
    MPI_Status status;
    MPI_Message message;
    MPI_Request request, receive;
    MPI_Isend(c->from, c->count, c->type, other, 5, world, &request);
    MPI_Mprobe(other, 5, world, &message, &status);
    add_status(c, &status);
    MPI_Mrecv(c->to, c->count, c->type, &message, &status);
    received(c, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(c->from + 1, c->count, c->type, other, 6, world, &request);
    MPI_Mprobe(other, 6, world, &message, &status);
    MPI_Imrecv(c->to, c->count, c->type, &message, &receive);
    MPI_Wait(&receive, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    received(c, &status);
}

static void several(const Case *c, MPI_Request *requests) {
    for (int i = 0; i < MANY; i++) {
        MPI_Irecv(c->to + i * REGION, c->count, c->type, other, i, world, &requests[i]);
    }
    for (int i = 0; i < MANY; i++) {
        int k = (i * 5) % MANY;
        MPI_Isend(c->from + k * 11, c->count, c->type, other, k, world, &requests[MANY + k]);
    }
}

static void p_waitall(const Case *c) {
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    several(c, requests);
    MPI_Waitall(2 * MANY, requests, statuses);
    for (int i = 0; i < MANY; i++) {
        add_status(c, &statuses[i]);
        add_number(requests[i] == MPI_REQUEST_NULL);
    }
    add(to, ROOM);
}

static void p_testall(const Case *c) {
    MPI_Request requests[2 * MANY];
    int done = 0;
    several(c, requests);
    while (!done) {
        MPI_Testall(2 * MANY, requests, &done, MPI_STATUSES_IGNORE);
    }
    add(to, ROOM);
}

static void p_waitany(const Case *c) {
    MPI_Request requests[2 * MANY];
    MPI_Status status;
    long places = 0;
    several(c, requests);
    for (int i = 0; i < 2 * MANY; i++) {
        int place;
        MPI_Waitany(2 * MANY, requests, &place, &status);
        places += 1L << place;
        add_number(0);
    }
    add_number(places);
    add(to, ROOM);
}

static void p_testany(const Case *c) {
    MPI_Request requests[2 * MANY];
    long places = 0;
    several(c, requests);
    for (int i = 0; i < 2 * MANY;) {
        int place, done;
        MPI_Testany(2 * MANY, requests, &place, &done, MPI_STATUS_IGNORE);
        if (done) {
            places += 1L << place;
            i++;
        }
    }
    add_number(places);
    add(to, ROOM);
}

typedef int (*Some)(int, MPI_Request *, int *, int *, MPI_Status *);

static void some(const Case *c, Some ask) {
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int places[2 * MANY], left = 2 * MANY;
    long all = 0, elements = 0;
    several(c, requests);
    while (left > 0) {
        int done;
        ask(2 * MANY, requests, &done, places, statuses);
        for (int i = 0; i < done; i++) {
            all += 1L << places[i];
            if (places[i] < MANY) {
                int some_elements;
                MPI_Get_elements(&statuses[i], c->type, &some_elements);
                elements += some_elements;
            }
        }
        left -= done;
    }
    add_number(all);
    add_number(elements);
    add(to, ROOM);
}

static void p_waitsome(const Case *c) { some(c, MPI_Waitsome); }
static void p_testsome(const Case *c) { some(c, MPI_Testsome); }

static void p_persistent(const Case *c) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Send_init(c->from, c->count, c->type, other, 5, world, &requests[0]);
    MPI_Recv_init(c->to, c->count, c->type, other, 5, world, &requests[1]);
    for (int round = 0; round < 3; round++) {
        refill(round);
        if (round == 1) {
            MPI_Start(&requests[1]);
            MPI_Start(&requests[0]);
            MPI_Wait(&requests[1], &statuses[1]);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, statuses);
        }
        add_number(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
        received(c, &statuses[1]);
        /* An inactive request is complete at once, with an empty status. */
        MPI_Wait(&requests[1], &statuses[1]);
        add(to, ROOM);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    add_number(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

static void p_unready(const Case *c) {
    /* Memory that can be read only when the request is started. */
    MPI_Request request;
    MPI_Status status;
    char *memory = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Send_init(memory + (c->from - from), c->count, c->type, other, 5, world, &request);
    mprotect(memory, ROOM, PROT_READ | PROT_WRITE);
    memcpy(memory, from, ROOM);
    MPI_Request receive;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &receive);
    MPI_Start(&request);
    MPI_Wait(&receive, &status);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    received(c, &status);
    MPI_Request_free(&request);
#if defined OPEN_MPI ? OMPI_MAJOR_VERSION >= 5 : MPICH_NUMVERSION >= 40100000
    /* So is the buffer on the root of a persistent broadcast. */
    mprotect(memory, ROOM, PROT_NONE);
    char *buffer = rank == 0 ? memory + (c->from - from) : c->to;
    MPI_Bcast_init(buffer, c->count, c->type, 0, world, MPI_INFO_NULL, &request);
    mprotect(memory, ROOM, PROT_READ | PROT_WRITE);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    MPI_Request_free(&request);
#endif
    munmap(memory, ROOM);
}

/* MPI_Bsend_init is left out: Open MPI 4 reads its buffer at the wrong time. */
static void p_prepared(const Case *c) {
    MPI_Request sends[3], receives[3];
    for (int i = 0; i < 3; i++) {
        MPI_Recv_init(c->to + i * REGION, c->count, c->type, other, i, world, &receives[i]);
    }
    MPI_Ssend_init(c->from, c->count, c->type, other, 0, world, &sends[0]);
    MPI_Send_init(c->from + 5, c->count, c->type, other, 1, world, &sends[1]);
    MPI_Rsend_init(c->from + 9, c->count, c->type, other, 2, world, &sends[2]);
    for (int round = 0; round < 2; round++) {
        refill(round);
        MPI_Startall(3, receives);
        MPI_Barrier(world);
        MPI_Startall(3, sends);
        for (int done = 0; !done;) {
            MPI_Testall(3, receives, &done, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(3, sends, MPI_STATUSES_IGNORE);
        add(to, ROOM);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&receives[i]);
        MPI_Request_free(&sends[i]);
    }
}

static void p_get_status(const Case *c) {
    MPI_Request requests[2];
    MPI_Status status;
    int done = 0;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &requests[0]);
    MPI_Isend(c->from, c->count, c->type, other, 5, world, &requests[1]);
    while (!done) {
        MPI_Request_get_status(requests[0], &done, &status);
    }
    received(c, &status);
    to[REGION] ^= 1;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    add(to, ROOM);
}

static void p_get_statuses(const Case *c) {
#if MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1
    /* Several requests at once: the data of a complete one may be read before it is waited for. */
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int places[2 * MANY], place, done, are_done = 0;
    several(c, requests);
    do {
        MPI_Request_get_status_any(MANY, requests, &place, &done, &statuses[0]);
    } while (!done);
    memcpy(spare, c->to + place * REGION, REGION / 2);
    int first = place;
    for (done = 0; !done;) {
        MPI_Request_get_status_all(MANY, requests, &done, statuses);
    }
    add(to, ROOM);
    for (int i = 0; i < MANY; i++) {
        add_status(c, &statuses[i]);
    }
    memset(statuses, 0, sizeof statuses);
    MPI_Request_get_status_some(MANY, requests, &are_done, places, statuses);
    add_number(are_done);
    add(places, sizeof *places * (size_t)are_done);
    add_status(c, &statuses[are_done - 1]);
    to[REGION] ^= 1;
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    to[REGION] ^= 1;
    add_number(memcmp(spare, c->to + first * REGION, REGION / 2));
#endif
    add(to, ROOM);
}

/* Receives sent messages by each call that can. */
static void p_receives(const Case *c) {
    MPI_Request sent, request;
    MPI_Message message;
    MPI_Status status;
    int ways = 7;
#if MPI_VERSION >= 4
    ways = 18;
#endif
    for (int way = 0; way < ways; way++) {
        int has_status = 1, has_request = 1;
        refill(way);
        memcpy(to, spare, ROOM);
        MPI_Isend(c->from, c->count, c->type, other, 5, world, &sent);
        switch (way) {
        case 0:
            MPI_Recv(c->to, c->count, c->type, other, 5, world, &status);
            has_request = 0;
            break;
        case 1: MPI_Irecv(c->to, c->count, c->type, other, 5, world, &request); break;
        case 2:
            MPI_Recv_init(c->to, c->count, c->type, other, 5, world, &request);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
            has_request = 0;
            break;
        case 3:
            MPI_Mprobe(other, 5, world, &message, &status);
            MPI_Mrecv(c->to, c->count, c->type, &message, &status);
            has_request = 0;
            break;
        case 4:
            MPI_Mprobe(other, 5, world, &message, &status);
            MPI_Imrecv(c->to, c->count, c->type, &message, &request);
            break;
        case 5:
            MPI_Sendrecv(c->from, 0, MPI_INT, MPI_PROC_NULL, 6, c->to, c->count, c->type, other, 5, world,
                         &status);
            has_request = 0;
            break;
        case 6:
            MPI_Sendrecv_replace(c->to, c->count, c->type, MPI_PROC_NULL, 6, other, 5, world, &status);
            has_request = 0;
            break;
#if MPI_VERSION >= 4
        case 7:
            MPI_Recv_c(c->to, c->count, c->type, other, 5, world, &status);
            has_request = 0;
            break;
        case 8: MPI_Irecv_c(c->to, c->count, c->type, other, 5, world, &request); break;
        case 9:
            MPI_Recv_init_c(c->to, c->count, c->type, other, 5, world, &request);
            MPI_Start(&request);
            MPI_Wait(&request, &status);
            MPI_Request_free(&request);
            has_request = 0;
            break;
        case 10:
            MPI_Mprobe(other, 5, world, &message, &status);
            MPI_Mrecv_c(c->to, c->count, c->type, &message, &status);
            has_request = 0;
            break;
        case 11:
            MPI_Mprobe(other, 5, world, &message, &status);
            MPI_Imrecv_c(c->to, c->count, c->type, &message, &request);
            break;
        case 12:
            MPI_Sendrecv_c(c->from, 0, MPI_INT, MPI_PROC_NULL, 6, c->to, c->count, c->type, other, 5, world,
                           &status);
            has_request = 0;
            break;
        case 13:
            MPI_Sendrecv_replace_c(c->to, c->count, c->type, MPI_PROC_NULL, 6, other, 5, world, &status);
            has_request = 0;
            break;
        default: {
            /* MPICH leaves the statuses of these calls unset, and version 4.0 frees their datatypes. */
            MPI_Datatype type = c->type;
            if (is_mpich) {
                MPI_Type_dup(c->type, &type);
                has_status = 0;
            }
            if (way == 14) {
                MPI_Isendrecv(c->from, 0, MPI_INT, MPI_PROC_NULL, 6, c->to, c->count, type, other, 5, world,
                              &request);
            } else if (way == 15) {
                MPI_Isendrecv_c(c->from, 0, MPI_INT, MPI_PROC_NULL, 6, c->to, c->count, type, other, 5, world,
                                &request);
            } else if (way == 16) {
                MPI_Isendrecv_replace(c->to, c->count, type, MPI_PROC_NULL, 6, other, 5, world, &request);
            } else {
                MPI_Isendrecv_replace_c(c->to, c->count, type, MPI_PROC_NULL, 6, other, 5, world, &request);
            }
        }
#endif
        }
        if (has_request) {
            MPI_Wait(&request, &status);
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (has_status) {
            add_status(c, &status);
        }
        add(to, ROOM);
    }
}

static void p_exchange(const Case *c) {
/* MPICH 4.0 frees the datatypes of these calls. MPICH 5.0 leaves statuses unset, and reads freed memory. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION >= 5
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int last = c->count - 1;
    MPI_Isendrecv(c->from, c->count, c->type, other, 5, c->to, c->count, c->type, other, 5, world, requests);
    MPI_Wait(&requests[0], &statuses[0]);
    received(c, &statuses[0]);
    refill(1);
    MPI_Isendrecv(c->from, last, c->type, other, 5, c->to, c->count, c->type, other, 5, world, requests);
    memcpy(spare, from, ROOM);
    MPI_Isendrecv_replace(c->spare, c->count, c->type, other, 6, other, 6, world, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    add_status(c, &statuses[0]);
    received(c, &statuses[1]);
    add(spare, ROOM);
#endif
}

static void p_free(const Case *c) {
    MPI_Request request;
    MPI_Status status;
    MPI_Isend(c->from, c->count, c->type, other, 5, world, &request);
    MPI_Request_free(&request);
    add_number(request == MPI_REQUEST_NULL);
    RECEIVE(c);
    MPI_Barrier(world);
    received(c, &status);
}

static void p_free_receive(const Case *c) {
    /* Only another message tells that this one has arrived. */
    MPI_Request request;
    int token = 0;
    MPI_Irecv(c->to, c->count, c->type, other, 5, world, &request);
    MPI_Request_free(&request);
    MPI_Barrier(world);
    if (rank == 0) {
        MPI_Ssend(c->from, c->count, c->type, other, 5, world);
        MPI_Send(&token, 1, MPI_INT, other, 6, world);
        MPI_Recv(&token, 1, MPI_INT, other, 6, world, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&token, 1, MPI_INT, other, 6, world, MPI_STATUS_IGNORE);
        add(to, ROOM);
        MPI_Ssend(c->from, c->count, c->type, other, 5, world);
        MPI_Send(&token, 1, MPI_INT, other, 6, world);
    }
    add(to, ROOM);
}

static long memory(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2) {
        resident = 0;
    }
    if (file) {
        fclose(file);
    }
    return resident * 4;
}

static void p_growth(const Case *c) {
    /* Freed datatypes and requests must release their memory. One run is enough. */
    static int done;
    long before = 0;
    if (done++) {
        return;
    }
    for (int i = 0; i < 6000; i++) {
        MPI_Request request;
        MPI_Datatype type;
        MPI_Type_dup(c->type, &type);
        MPI_Isend(c->from, c->count, type, other, 5, world, &request);
        MPI_Request_free(&request);
        RECEIVE_AS(c, type);
        MPI_Type_free(&type);
        if (i == 2000) {
            before = memory();
        }
    }
    MPI_Barrier(world);
    add_number(memory() - before < 2048);
}

static void p_null(const Case *c) {
    static int done;
    /* The displacements are no addresses, so this is an error. MPICH and Open MPI 5 read from address 0. */
    int code, class = 0;
    if (looks && !done++) {
        errors(MPI_ERRORS_RETURN);
        code = MPI_Send(NULL, c->count, c->type, rank, 5, world);
        MPI_Error_class(code, &class);
        add_number(class == MPI_ERR_BUFFER);
        errors(MPI_ERRORS_ARE_FATAL);
    }
}

static void p_cancel(const Case *c) {
    MPI_Request request;
    MPI_Status status;
    int cancelled;
    MPI_Irecv(c->to, c->count, c->type, other, 99, world, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    add_number(cancelled);
    add(to, ROOM);
}

static void p_freed_type(const Case *c) {
    /* The datatype is freed while messages are under way. New datatypes may have the same handle. */
    MPI_Request requests[2];
    MPI_Datatype type, others[8];
    MPI_Type_dup(c->type, &type);
    MPI_Irecv(c->to, c->count, type, other, 5, world, &requests[0]);
    MPI_Isend(c->from, c->count, type, other, 5, world, &requests[1]);
    MPI_Type_free(&type);
    for (int i = 0; i < 8; i++) {
        MPI_Type_vector(200, 1, i + 2, MPI_INT, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    add(to, ROOM);
    for (int i = 0; i < 8; i++) {
        MPI_Sendrecv(from, 1, others[i], other, 5, to, 1, others[i], other, 5, world, MPI_STATUS_IGNORE);
        MPI_Type_free(&others[i]);
    }
    add(to, ROOM);
}

static void p_bottom(const Case *c) {
    MPI_Datatype here, there;
    MPI_Aint place;
    MPI_Get_address(c->from, &place);
    MPI_Type_create_hindexed_block(1, c->count, &place, c->type, &here);
    MPI_Get_address(c->to, &place);
    MPI_Type_create_hindexed_block(1, c->count, &place, c->type, &there);
    MPI_Type_commit(&here);
    MPI_Type_commit(&there);
    MPI_Sendrecv(MPI_BOTTOM, 1, here, other, 5, MPI_BOTTOM, 1, there, other, 5, world, MPI_STATUS_IGNORE);
    MPI_Type_free(&here);
    MPI_Type_free(&there);
    add(to, ROOM);
}

static void p_pack(const Case *c) {
    static char packed[2 * REGION];
    int position = 16, bytes, end;
    MPI_Type_size(c->type, &bytes);
    memset(c->spare, 0, ROOM - REGION);
    MPI_Pack(c->from, c->count, c->type, c->spare, ROOM - REGION, &position, world);
    end = position;
    MPI_Pack(c->from + 3, c->count, c->type, c->spare, ROOM - REGION, &position, world);
    add_number(position);
    add(c->spare, (size_t)position);
    MPI_Sendrecv(c->spare + end, position - end, MPI_PACKED, other, 5, packed, 2 * REGION, MPI_PACKED,
                 other, 5,
                 world, MPI_STATUS_IGNORE);
    position = 0;
    MPI_Unpack(packed, bytes * c->count, &position, c->to, c->count, c->type, world);
    add_number(position);
    add(to, ROOM);
}

static void p_pack_size(const Case *c) {
    int bytes, needed, code, class = 0, position = 0;
    MPI_Pack_size(c->count, c->type, world, &bytes);
    MPI_Type_size(c->type, &needed);
    add_number(bytes >= needed * c->count);
    errors(MPI_ERRORS_RETURN);
    /* The buffer is one byte too small. */
    code = MPI_Pack(c->from, c->count, c->type, c->spare, needed * c->count - 1, &position, world);
    MPI_Error_class(code, &class);
    add_number(code != MPI_SUCCESS);
    errors(MPI_ERRORS_ARE_FATAL);
}

/* ---- Collective calls ---- */

static void p_bcast(const Case *c) {
    memcpy(to, from, ROOM);
    for (int root = 0; root < size; root++) {
        MPI_Bcast(c->to, c->count, c->type, root, world);
        add(to, ROOM);
    }
    MPI_Request request;
    memcpy(to, from, ROOM);
    MPI_Ibcast(c->to, c->count, c->type, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

/* The extents of some datatypes are smaller than their true extents; blocks of ranks must not overlap. */
static int apart(const Case *c) {
    MPI_Aint lower, extent, true_lower, true_extent;
    MPI_Type_get_extent(c->type, &lower, &extent);
    MPI_Type_get_true_extent(c->type, &true_lower, &true_extent);
    return (int)((true_extent + extent - 1) / extent);
}

/* Counts that differ from rank to rank, with blocks in another order and gaps between them. */
typedef struct {
    int counts[16], places[16], mine;
} Lists;

static Lists lists(const Case *c) {
    Lists l;
    int step = (c->count + apart(c)) + 2;
    for (int i = 0; i < size; i++) {
        l.counts[i] = c->count - (i % 2);
        l.places[i] = (size - 1 - i) * step + 1;
    }
    l.mine = l.counts[rank];
    return l;
}

static void p_gather(const Case *c) {
    MPI_Request request;
    for (int root = 0; root < size; root++) {
        MPI_Datatype unused = rank == root ? c->type : MPI_DATATYPE_NULL;
        MPI_Gather(c->from, c->count, c->type, c->to, c->count, unused, root, world);
        add(to, ROOM);
    }
    MPI_Igather(c->from + 8, c->count, c->type, c->to, c->count, c->type, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    memcpy(to, from, ROOM);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : c->from, c->count, c->type, c->to, c->count, c->type, 0, world);
    add(to, ROOM);
}

static void p_in_place(const Case *c) {
    /* Only the root passes MPI_IN_PLACE; the other ranks do not know. */
    MPI_Request request;
    Lists l = lists(c);
    memcpy(to, from, ROOM);
    MPI_Igather(rank == 0 ? MPI_IN_PLACE : c->from, c->count, c->type, c->to, c->count, c->type, 0, world,
                &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    memcpy(to, from, ROOM);
    MPI_Igatherv(rank == 0 ? MPI_IN_PLACE : c->from, l.mine, c->type, c->to, l.counts, l.places, c->type, 0,
                 world,
                 &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_scatter(const Case *c) {
    MPI_Request request;
    for (int root = 0; root < size; root++) {
        MPI_Datatype unused = rank == root ? c->type : MPI_DATATYPE_NULL;
        MPI_Scatter(c->from, c->count, unused, c->to, c->count, c->type, root, world);
        add(to, ROOM);
    }
    MPI_Iscatter(c->from + 8, c->count, c->type, c->to, c->count, c->type, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    memset(to, 0x77, ROOM);
    MPI_Scatter(c->from, c->count, c->type, rank == 0 ? MPI_IN_PLACE : c->to, c->count, c->type, 0, world);
    add(to, ROOM);
}

static void p_allgather(const Case *c) {
    MPI_Request request;
    MPI_Allgather(c->from, c->count, c->type, c->to, c->count, c->type, world);
    add(to, ROOM);
    MPI_Iallgather(c->from + 8, c->count, c->type, c->to, c->count, c->type, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    memcpy(to, from, ROOM);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->to, c->count, c->type, world);
    add(to, ROOM);
}

static void p_alltoall(const Case *c) {
    MPI_Request request;
    MPI_Alltoall(c->from, c->count, c->type, c->to, c->count, c->type, world);
    add(to, ROOM);
    MPI_Ialltoall(c->from + 8, c->count, c->type, c->to, c->count, c->type, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    memcpy(to, from, ROOM);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->to, c->count, c->type, world);
    add(to, ROOM);
}

static void p_gatherv(const Case *c) {
    MPI_Request request;
    Lists l = lists(c);
    for (int root = 0; root < size; root++) {
        int *counts = rank == root ? l.counts : NULL, *places = rank == root ? l.places : NULL;
        MPI_Gatherv(c->from, l.mine, c->type, c->to, counts, places, c->type, root, world);
        add(to, ROOM);
    }
    MPI_Igatherv(c->from + 8, l.mine, c->type, c->to, l.counts, l.places, c->type, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_scatterv(const Case *c) {
    MPI_Request request;
    Lists l = lists(c);
    for (int root = 0; root < size; root++) {
        int *counts = rank == root ? l.counts : NULL, *places = rank == root ? l.places : NULL;
        MPI_Scatterv(c->from, counts, places, c->type, c->to, l.mine, c->type, root, world);
        add(to, ROOM);
    }
    MPI_Iscatterv(c->from + 8, l.counts, l.places, c->type, c->to, l.mine, c->type, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_allgatherv(const Case *c) {
    MPI_Request request;
    Lists l = lists(c);
    MPI_Allgatherv(c->from, l.mine, c->type, c->to, l.counts, l.places, c->type, world);
    add(to, ROOM);
    MPI_Iallgatherv(c->from + 8, l.mine, c->type, c->to, l.counts, l.places, c->type, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_alltoallv(const Case *c) {
    MPI_Request request;
    int same[16];
    Lists l = lists(c);
    for (int i = 0; i < size; i++) {
        same[i] = l.mine;
    }
    /* Each rank sends to rank i the count of rank i, and receives its own count from all. */
    MPI_Alltoallv(c->from, l.counts, l.places, c->type, c->to, same, l.places, c->type, world);
    add(to, ROOM);
    MPI_Ialltoallv(c->from + 8, l.counts, l.places, c->type, c->to, same, l.places, c->type, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_alltoallw(const Case *c) {
    MPI_Request request;
    int counts[16], places[16];
    MPI_Datatype types[16];
    for (int i = 0; i < size; i++) {
        counts[i] = c->count;
        places[i] = i * 1000;
        types[i] = c->type;
    }
    int there[16];
    for (int i = 0; i < size; i++) {
        there[i] = i * (2 * REGION);
    }
    MPI_Alltoallw(c->from, counts, places, types, c->to, counts, there, types, world);
    add(to, ROOM);
    MPI_Ialltoallw(c->from + 8, counts, places, types, c->to, counts, there, types, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
}

static void p_each(const Case *c) {
    /* A datatype for each pair of ranks. Some counts are 0, for which the datatype means nothing. */
    MPI_Request request;
    int counts[16], places[16], there[16];
    MPI_Datatype types[16];
    for (int none = 0; none < 2; none++) {
        for (int i = 0; i < size; i++) {
            int odd = (i + rank) % 2;
            counts[i] = odd ? (none ? 0 : 90) : c->count;
            places[i] = i * 1000;
            there[i] = i * (2 * REGION);
            types[i] = odd ? (none ? MPI_CHAR : MPI_DOUBLE) : c->type;
        }
        MPI_Alltoallw(c->from, counts, places, types, c->to, counts, there, types, world);
        add(to, ROOM);
        MPI_Ialltoallw(c->from + 8, counts, places, types, c->to, counts, there, types, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        add(to, ROOM);
    }
}

static void p_again(const Case *c) {
    /* Persistent collective calls, which use the contents of the buffer at each start. */
#if defined OPEN_MPI ? OMPI_MAJOR_VERSION >= 5 : MPICH_NUMVERSION >= 40100000
    MPI_Request requests[5];
    Lists l = lists(c);
    int same[16], counts[16], places[16];
    MPI_Datatype types[16];
    for (int i = 0; i < size; i++) {
        same[i] = l.mine;
        counts[i] = c->count;
        places[i] = i * 2 * REGION;
        types[i] = c->type;
    }
    const void *block = rank == 0 ? MPI_IN_PLACE : (const void *)c->from;
    MPI_Bcast_init(c->to, c->count, c->type, size - 1, world, MPI_INFO_NULL, &requests[0]);
    MPI_Gather_init(block, c->count, c->type, c->to, c->count, c->type, 0, world, MPI_INFO_NULL,
                    &requests[1]);
    MPI_Alltoallv_init(c->from, l.counts, l.places, c->type, c->to, same, l.places, c->type, world,
                       MPI_INFO_NULL, &requests[2]);
    MPI_Scatter_init(c->from, c->count, c->type, c->to, c->count, c->type, 0, world, MPI_INFO_NULL,
                     &requests[3]);
    MPI_Alltoallw_init(c->from, counts, places, types, c->to, counts, places, types, world, MPI_INFO_NULL,
                       &requests[4]);
    for (int round = 0; round < 3; round++) {
        refill(round);
        memcpy(to, from, ROOM);
        for (int i = 0; i < 5; i++) {
            if (round == 1) {
                MPI_Startall(1, &requests[i]);
            } else {
                MPI_Start(&requests[i]);
            }
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            add(to, ROOM);
        }
    }
    for (int i = 0; i < 5; i++) {
        MPI_Request_free(&requests[i]);
    }
    refill(0);
#else
    /* Persistent collective calls of MPICH 4.0 work once, if at all. */
    p_bcast(c);
#endif
}

static void p_neighbours(const Case *c) {
    MPI_Comm ring, graph;
    MPI_Request request;
    int dims[1] = {size}, periods[1] = {1};
    MPI_Cart_create(world, 1, dims, periods, 0, &ring);
    MPI_Neighbor_allgather(c->from, c->count, c->type, c->to, c->count, c->type, ring);
    add(to, ROOM);
    MPI_Ineighbor_allgather(c->from + 8, c->count, c->type, c->to, c->count, c->type, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    if (size > 2) {
        /* With two ranks, both neighbours are the same rank, and the order of blocks differs by library. */
        MPI_Neighbor_alltoall(c->from, c->count, c->type, c->to, c->count, c->type, ring);
        add(to, ROOM);
    }
    /* The ends of a line have one neighbour. The block of the missing one stays unchanged. */
    MPI_Comm line;
    int no_periods[1] = {0};
    MPI_Cart_create(world, 1, dims, no_periods, 0, &line);
    memcpy(to, from + 16, ROOM / 2);
    MPI_Neighbor_allgather(c->from, c->count, c->type, c->to, c->count, c->type, line);
    add(to, ROOM);
    MPI_Ineighbor_alltoall(c->from + 7, c->count, c->type, c->to, c->count, c->type, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    int pair[2] = {c->count, c->count}, at[2] = {1, c->count + 1};
    MPI_Neighbor_alltoallv(c->from, pair, at, c->type, c->to, pair, at, c->type, line);
    add(to, ROOM);
    MPI_Aint in_bytes[2] = {8, REGION};
    MPI_Datatype two[2] = {c->type, c->type};
    MPI_Neighbor_alltoallw(c->from, pair, in_bytes, two, c->to, pair, in_bytes, two, line);
    add(to, ROOM);
    MPI_Comm_free(&line);
    int source[1] = {(rank + size - 1) % size}, target[1] = {(rank + 1) % size};
    MPI_Dist_graph_create_adjacent(world, 1, source, MPI_UNWEIGHTED, 1, target, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &graph);
    int counts[1] = {c->count}, places[1] = {2};
    MPI_Neighbor_alltoall(c->from, c->count, c->type, c->to, c->count, c->type, graph);
    add(to, ROOM);
    MPI_Neighbor_alltoallv(c->from, counts, places, c->type, c->to, counts, places, c->type, graph);
    add(to, ROOM);
    MPI_Neighbor_allgatherv(c->from, c->count, c->type, c->to, counts, places, c->type, graph);
    add(to, ROOM);
    MPI_Aint here[1] = {48}, there[1] = {REGION};
    MPI_Datatype types[1] = {c->type};
    MPI_Neighbor_alltoallw(c->from, counts, here, types, c->to, counts, there, types, graph);
    add(to, ROOM);
    MPI_Ineighbor_alltoallw(c->from + 4, counts, here, types, c->to, counts, there, types, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    MPI_Ineighbor_alltoall(c->from + 1, c->count, c->type, c->to, c->count, c->type, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ineighbor_alltoallv(c->from + 2, counts, places, c->type, c->to, counts, places, c->type, graph,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Ineighbor_allgatherv(c->from + 3, c->count, c->type, c->to, counts, places, c->type, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    add(to, ROOM);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&graph);
}

static void p_between(const Case *c) {
    /* An intercommunicator: rank 0, and the other ranks. */
    MPI_Comm half, between;
    MPI_Comm_split(world, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, world, rank > 0 ? 0 : 1, 77, &between);
    int root = rank == 0 ? MPI_ROOT : 0;
    memcpy(to, from, ROOM);
    MPI_Bcast(c->to, c->count, c->type, root, between);
    add(to, ROOM);
    MPI_Gather(c->from, c->count, c->type, c->to, c->count, c->type, root, between);
    add(to, ROOM);
    MPI_Scatter(c->from, c->count, c->type, c->to, c->count, c->type, root, between);
    add(to, ROOM);
    if (rank < 2) {
        MPI_Sendrecv(c->from, c->count, c->type, 0, 5, c->to, c->count, c->type, 0, 5, between,
                     MPI_STATUS_IGNORE);
        add(to, ROOM);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&between);
}

/* ---- Windows of other ranks ---- */

/* The datatype of the target without gaps: single values or records. */
static MPI_Datatype gapless(int kind) {
    static const int of[KINDS] = {0, 1, 1, 0, 9, 9, -1, 0, 2, 3, 3, 4, 0, 5, 0, 6, -1};
    MPI_Datatype bases[] = {MPI_DOUBLE, MPI_INT, MPI_LONG, MPI_SHORT, MPI_2INT, MPI_FLOAT, MPI_BYTE};
    MPI_Datatype type, whole;
    if (of[kind] < 0) {
        return make(kind);
    }
    if (of[kind] < 9) {
        MPI_Type_dup(bases[of[kind]], &type);
        return committed(type, 0, 0);
    }
    int lengths[4] = {1, 1, 1, 1};
    MPI_Aint places[4] = {0, 1, 9, 11};
    MPI_Datatype types[4] = {MPI_UINT8_T, MPI_DOUBLE, MPI_INT16_T, MPI_FLOAT};
    MPI_Type_create_struct(4, lengths, places, types, &type);
    MPI_Type_create_resized(type, 0, 15, &whole);
    MPI_Type_free(&type);
    return committed(whole, 0, 0);
}

typedef struct {
    MPI_Win window;
    char *memory;
    /* The datatype and the count of the target. */
    MPI_Datatype there;
    int count;
} Window;

static Window window_of(const Case *c, int is_gapless) {
    Window w;
    int bytes, bytes_there;
    w.there = is_gapless ? gapless(c->kind) : make(c->kind);
    MPI_Type_size(c->type, &bytes);
    MPI_Type_size(w.there, &bytes_there);
    w.count = bytes / bytes_there * c->count;
    MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, world, &w.memory, &w.window);
    memset(w.memory, 0x77, ROOM);
    MPI_Barrier(world);
    return w;
}

static void put(const Case *c, const Window *w, int target, int place) {
    MPI_Put(c->from, c->count, c->type, target, REGION + place * 2 * REGION, w->count, w->there, w->window);
}

static void get(const Case *c, const Window *w, int target, int place, char *to) {
    MPI_Get(to, c->count, c->type, target, REGION + place * 2 * REGION, w->count, w->there, w->window);
}

/* Adds what has arrived here and in the window, and frees the window. */
static void closed(Window *w) {
    MPI_Barrier(world);
    add(to, ROOM);
    add(spare, ROOM);
    add(w->memory, ROOM);
    MPI_Type_free(&w->there);
    MPI_Win_free(&w->window);
}

static void p_fence(const Case *c) {
    for (int is_gapless = 0; is_gapless < 2; is_gapless++) {
        Window w = window_of(c, is_gapless);
        MPI_Win_fence(0, w.window);
        put(c, &w, other, 0);
        put(c, &w, MPI_PROC_NULL, 0);
        get(c, &w, MPI_PROC_NULL, 0, c->spare);
        MPI_Win_fence(0, w.window);
        get(c, &w, other, 0, c->to);
        /* The target is smaller than the origin buffer. */
        MPI_Get(c->spare, c->count, c->type, other, REGION, w.count / 2, w.there, w.window);
        put(c, &w, rank, 1);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.window);
        add(to, ROOM);
        closed(&w);
    }
}

static void p_lock(const Case *c) {
    for (int is_gapless = 0; is_gapless < 2; is_gapless++) {
        Window w = window_of(c, is_gapless);
        MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w.window);
        put(c, &w, other, 0);
        MPI_Win_flush_local(other, w.window);
        /* The origin buffer may be written again. */
        memset(from, 0x11, ROOM);
        MPI_Win_unlock(other, w.window);
        MPI_Barrier(world);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, w.window);
        get(c, &w, other, 0, c->to);
        MPI_Win_flush(other, w.window);
        add(to, ROOM);
        get(c, &w, other, 0, c->spare);
        MPI_Win_unlock(other, w.window);
        refill(is_gapless);
        closed(&w);
    }
}

static void p_lock_all(const Case *c) {
    Window w = window_of(c, 1);
    MPI_Win_lock_all(0, w.window);
    put(c, &w, other, 0);
    put(c, &w, rank, 1);
    MPI_Win_flush_all(w.window);
    MPI_Barrier(world);
    get(c, &w, other, 0, c->to);
    MPI_Win_flush_local_all(w.window);
    add(to, ROOM);
    get(c, &w, other, 1, c->spare);
    get(c, &w, rank, 0, c->to);
    MPI_Win_unlock_all(w.window);
    closed(&w);
}

static void p_post(const Case *c) {
    MPI_Group all, pair;
    MPI_Comm_group(world, &all);
    MPI_Group_incl(all, 1, &other, &pair);
    for (int is_gapless = 0; is_gapless < 2; is_gapless++) {
        Window w = window_of(c, is_gapless);
        for (int round = 0; round < 2; round++) {
            MPI_Win_post(pair, 0, w.window);
            MPI_Win_start(pair, 0, w.window);
            if (round == 0) {
                put(c, &w, other, 0);
            } else {
                get(c, &w, other, 0, c->to);
            }
            MPI_Win_complete(w.window);
            MPI_Win_wait(w.window);
        }
        closed(&w);
    }
    MPI_Group_free(&pair);
    MPI_Group_free(&all);
}

/* More bytes than the preloaded library keeps under way. */
static void p_puts(const Case *c) {
    Window w = window_of(c, 1);
    int bytes;
    MPI_Type_size(c->type, &bytes);
    long all = c->kind == 0 ? (80l << 20) / ((long)bytes * c->count) : 3;
    MPI_Win_lock(MPI_LOCK_SHARED, other, 0, w.window);
    for (long i = 0; i < all; i++) {
        put(c, &w, other, 0);
    }
    MPI_Win_unlock(other, w.window);
    closed(&w);
}

/* Calls with requests, which complete by their requests and by flushes. */
static void p_rget(const Case *c) {
    Window w = window_of(c, 1);
    MPI_Request requests[2];
    MPI_Win_lock_all(0, w.window);
    MPI_Rput(c->from, c->count, c->type, other, 0, w.count, w.there, w.window, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush_all(w.window);
    MPI_Barrier(world);
    MPI_Rget(c->to, c->count, c->type, other, 0, w.count, w.there, w.window, &requests[0]);
    MPI_Rget(c->spare, c->count, c->type, other, 0, w.count, w.there, w.window, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(w.window);
    closed(&w);
}

/* A get that a flush completes: the data is there before its request is known to be complete. The requests of
   puts complete before the window's calls, many times in one epoch. */
static void p_rflush(const Case *c) {
    Window w = window_of(c, 1);
    MPI_Request request;
    int done = 0;
    MPI_Win_lock_all(0, w.window);
    for (int i = 0; i < 5; i++) {
        MPI_Rput(c->from, c->count, c->type, other, 0, w.count, w.there, w.window, &request);
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
        done = 0;
    }
    MPI_Win_flush(other, w.window);
    MPI_Barrier(world);
    MPI_Rget(c->to, c->count, c->type, other, 0, w.count, w.there, w.window, &request);
    MPI_Win_flush(other, w.window);
    add(to, ROOM);
    memset(to, 0x11, ROOM);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(w.window);
    closed(&w);
}

static void p_reduce(const Case *c) {
    /* This call is not intercepted. */
    double numbers[4] = {rank, 1, 2, 3}, all[4];
    MPI_Allreduce(numbers, all, 4, MPI_DOUBLE, MPI_SUM, world);
    add(all, sizeof all);
    p_sendrecv(c);
}

static const struct {
    const char *name;
    void (*run)(const Case *);
    int buffers;
} programs[] = {
    {"send", p_send},
    {"ssend", p_ssend},
    {"bsend", p_bsend, 1},
    {"rsend", p_rsend},
    {"isend", p_isend},
    {"issend", p_issend},
    {"irsend", p_irsend},
    {"ibsend", p_ibsend, 1},
    {"ignored", p_ignored},
    {"sendrecv", p_sendrecv},
    {"replace", p_replace, 1},
    {"self", p_self},
    {"nobody", p_nobody},
    {"partial", p_partial},
    {"roomy", p_roomy},
    {"elements", p_elements, 1},
    {"truncated", p_truncated},
    {"probe", p_probe},
    {"mprobe", p_mprobe},
    {"waitall", p_waitall},
    {"testall", p_testall},
    {"waitany", p_waitany},
    {"testany", p_testany},
    {"waitsome", p_waitsome},
    {"testsome", p_testsome},
    {"persistent", p_persistent},
    {"unready", p_unready},
    {"prepared", p_prepared, 1},
    {"get_status", p_get_status},
    {"get_statuses", p_get_statuses},
    {"receives", p_receives},
    {"exchange", p_exchange, 1},
    {"free", p_free},
    {"free_receive", p_free_receive},
    {"growth", p_growth},
    {"null", p_null},
    {"cancel", p_cancel},
    {"freed_type", p_freed_type},
    {"bottom", p_bottom},
    {"pack", p_pack},
    {"pack_size", p_pack_size},
    {"bcast", p_bcast, 1},
    {"gather", p_gather, 1},
    {"in_place", p_in_place},
    {"scatter", p_scatter, 1},
    {"allgather", p_allgather, 1},
    {"alltoall", p_alltoall, 1},
    {"gatherv", p_gatherv, 1},
    {"scatterv", p_scatterv, 1},
    {"allgatherv", p_allgatherv, 1},
    {"alltoallv", p_alltoallv, 1},
    {"alltoallw", p_alltoallw, 1},
    {"each", p_each, 1},
    {"again", p_again, 1},
    {"neighbours", p_neighbours, 1},
    {"between", p_between, 1},
    {"fence", p_fence},
    {"lock", p_lock},
    {"lock_all", p_lock_all},
    {"post", p_post},
    {"puts", p_puts},
    {"rget", p_rget},
    {"rflush", p_rflush},
    {"reduce", p_reduce},
};

/* Counts for messages below and above the size that libraries send at once. They never exceed a region. */
static int counts_of(MPI_Datatype type, int few, int *counts) {
    static const long wanted[] = {700, 3000, 20000};
    /* MPICH 4 cannot receive more bytes into structs if it packs them itself, as in many collective calls. */
    long most = few ? 3000 : 20000;
    MPI_Aint lower, extent, true_lower, true_extent;
    int bytes, found = 0;
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    for (int i = 0; i < 3 && wanted[i] <= most; i++) {
        long count = wanted[i] / bytes + 2;
        while (count > 2 && count * extent + true_extent > REGION - 16384) {
            count--;
        }
        if (found == 0 || counts[found - 1] != count) {
            counts[found++] = (int)count;
        }
    }
    return found;
}

static int is_wanted(const char *name, int arguments, char **argument) {
    for (int i = 1; i < arguments; i++) {
        if (strncmp(name, argument[i], strlen(argument[i])) == 0) {
            return 1;
        }
    }
    return arguments < 2;
}

int main(int arguments, char **argument) {
    MPI_Init(&arguments, &argument);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    int is_intel = strstr(version, "Intel(R)") != NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    /* Ranks communicate in pairs; a rank without a partner communicates with itself. */
    other = (rank ^ 1) < size ? rank ^ 1 : rank;
    from = malloc(ROOM);
    to = malloc(ROOM);
    spare = malloc(ROOM);
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        for (int kind = 0; kind < KINDS; kind++) {
            char name[64];
            int counts[3];
            snprintf(name, sizeof name, "%s-%s", programs[p].name, kinds[kind]);
            if (!is_wanted(name, arguments, argument)) {
                continue;
            }
            /* MPI_Gather of Intel MPI 2021.19 crashes with places below 0. */
            if (is_intel && programs[p].run == p_gather && strcmp(kinds[kind], "before") == 0) {
                continue;
            }
            MPI_Datatype type = make(kind);
            int is_mixed = (kind >= 4 && kind <= 6) || kind == 16;
            int few = is_mpich && is_mixed && programs[p].buffers;
            int many = counts_of(type, few, counts);
            sum = 0xcbf29ce484222325u;
            for (int i = 0; i < many; i++) {
                Case c = {type, kind, counts[i], from + REGION, to + REGION, spare + REGION, few};
                refill(0);
                programs[p].run(&c);
            }
            MPI_Type_free(&type);
            uint64_t sums[16];
            MPI_Gather(&sum, 1, MPI_UINT64_T, sums, 1, MPI_UINT64_T, 0, world);
            if (rank == 0) {
                printf("%s", name);
                for (int i = 0; i < size; i++) {
                    printf(" %016llx", (unsigned long long)sums[i]);
                }
                printf("\n");
                fflush(stdout);
            }
        }
    }
    free(from);
    free(to);
    free(spare);
    MPI_Comm_free(&world);
    MPI_Finalize();
}
