/* Threads that send and receive at the same time, each on a communicator of its own. Each message has a new
   datatype, which is freed afterwards. Prints the number of correct messages. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 150, COUNT = 1200, RUN = 3, STRIDE = 7 };

typedef struct {
    int number;
    MPI_Comm comm;
    long right;
} Thread;

static int rank;

static void *run(void *argument) {
    Thread *thread = argument;
    int other = 1 - rank;
    double *from = malloc(4 * COUNT * STRIDE * sizeof *from), *to = malloc(4 * COUNT * STRIDE * sizeof *to);
    for (int round = 0; round < ROUNDS; round++) {
        int length = COUNT - thread->number - round % 7, many = 1 + round % 4;
        MPI_Datatype column, type;
        MPI_Type_vector(length, RUN, STRIDE, MPI_DOUBLE, &column);
        MPI_Type_create_resized(column, 0, COUNT * STRIDE * sizeof *from, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&column);
        for (int i = 0; i < 4 * COUNT * STRIDE; i++) {
            from[i] = rank + i * 0.5 + round + 1000 * thread->number;
            to[i] = -1;
        }
        MPI_Request requests[2];
        MPI_Status status;
        switch (round % 3) {
        case 0:
            MPI_Irecv(to, many, type, other, round, thread->comm, &requests[0]);
            MPI_Isend(from, many, type, other, round, thread->comm, &requests[1]);
            MPI_Type_free(&type);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            MPI_Irecv(to, many, type, other, round, thread->comm, &requests[0]);
            MPI_Isend(from, many, type, other, round, thread->comm, &requests[1]);
            for (int done = 0, index; done < 2;) {
                int flag = 0;
                MPI_Testany(2, requests, &index, &flag, &status);
                done += flag;
            }
            break;
        default:
            MPI_Sendrecv(from, many, type, other, round, to, many, type, other, round, thread->comm, &status);
        }
        if (round % 3) {
            MPI_Type_free(&type);
        }
        int right = 1;
        for (int m = 0; m < 4; m++) {
            for (int i = 0; i < COUNT * STRIDE; i++) {
                int at = m * COUNT * STRIDE + i;
                int is_sent = m < many && i % STRIDE < RUN && i / STRIDE < length;
                double expected = is_sent ? other + at * 0.5 + round + 1000 * thread->number : -1;
                right = right && to[at] == expected;
            }
        }
        thread->right += right;
    }
    free(from);
    free(to);
    return NULL;
}

int main(int arguments, char **argument) {
    int provided;
    MPI_Init_thread(&arguments, &argument, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        return MPI_Finalize();
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Thread threads[THREADS];
    pthread_t handles[THREADS];
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (Thread){i, MPI_COMM_NULL, 0};
        MPI_Comm_dup(MPI_COMM_WORLD, &threads[i].comm);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&handles[i], NULL, run, &threads[i]);
    }
    long right = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(handles[i], NULL);
        right += threads[i].right;
        MPI_Comm_free(&threads[i].comm);
    }
    printf("%ld of %d messages\n", right, THREADS * ROUNDS);
    return MPI_Finalize();
}
