/* Two threads get data from one window. While one thread is in MPI_Win_flush_all, the other one flushes and
   checks its data. A tool behind the preloaded library (past.c) makes MPI_Win_flush_all take long. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 2000, STRIDE = 3 };
static MPI_Win window;
static MPI_Datatype column;
static int rank;
static pthread_barrier_t begun;

static void *run(void *argument) {
    long number = (long)argument, right = 0;
    double *to = malloc(COUNT * STRIDE * sizeof *to);
    for (int i = 0; i < COUNT * STRIDE; i++) {
        to[i] = -1;
    }
    MPI_Get(to, 1, column, 1 - rank, number * COUNT, COUNT, MPI_DOUBLE, window);
    pthread_barrier_wait(&begun);
    if (number == 0) {
        MPI_Win_flush_all(window);
    } else {
        usleep(100000);
        MPI_Win_flush(1 - rank, window);
    }
    for (int i = 0; i < COUNT * STRIDE; i++) {
        right += to[i] == (i % STRIDE ? -1 : number * COUNT + i / STRIDE + (1 - rank));
    }
    free(to);
    return (void *)right;
}

int main(int arguments, char **argument) {
    int provided;
    double *memory;
    MPI_Init_thread(&arguments, &argument, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided < MPI_THREAD_MULTIPLE) {
        printf("no threads\n");
        return MPI_Finalize();
    }
    MPI_Type_vector(COUNT, 1, STRIDE, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Win_allocate(2 * COUNT * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    for (int i = 0; i < 2 * COUNT; i++) {
        memory[i] = i + rank;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    pthread_barrier_init(&begun, NULL, 2);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, run, (void *)i);
    }
    for (int i = 0; i < 2; i++) {
        void *right;
        pthread_join(threads[i], &right);
        printf("%ld of %d numbers\n", (long)right, COUNT * STRIDE);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Type_free(&column);
    return MPI_Finalize();
}
