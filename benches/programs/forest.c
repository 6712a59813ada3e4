/* A forest of octrees is refined, balanced and partitioned by p4est, and its ghost layer is exchanged.
 *
 *     mpicc -O2 forest.c -lp4est -lsc && mpiexec -n 4 ./a.out
 */

#include <p4est_base.h>
#include <p8est_bits.h>
#include <p8est_extended.h>
#include <p8est_ghost.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 1 for cells near a sphere. */
static int near(p8est_t *forest, p4est_topidx_t tree, p8est_quadrant_t *cell) {
    (void)forest;
    (void)tree;
    double half = P8EST_ROOT_LEN / 2.0, size = P8EST_QUADRANT_LEN(cell->level);
    double x = cell->x - half, y = cell->y - half, z = cell->z - half, radius = 0.35 * P8EST_ROOT_LEN;
    double squares = x * x + y * y + z * z, low = radius - 1.8 * size, high = radius + 1.8 * size;
    return cell->level < 7 && squares < high * high && (low < 0 || squares > low * low);
}

int main(int argc, char **argv) {
    sc_MPI_Init(&argc, &argv);
    sc_init(sc_MPI_COMM_WORLD, 0, 0, NULL, SC_LP_ERROR);
    p4est_init(NULL, SC_LP_ERROR);
    p8est_connectivity_t *cube = p8est_connectivity_new_unitcube();
    for (int i = 0; i < 5; i++) {
        p8est_t *forest = p8est_new_ext(sc_MPI_COMM_WORLD, cube, 0, 3, 1, sizeof(double), NULL, NULL);
        for (int level = 3; level < 7; level++) {
            p8est_refine(forest, 0, near, NULL);
            p8est_partition(forest, 0, NULL);
        }
        p8est_balance(forest, P8EST_CONNECT_FULL, NULL);
        p8est_partition(forest, 0, NULL);
        p8est_ghost_t *ghost = p8est_ghost_new(forest, P8EST_CONNECT_FULL);
        double *values = calloc(ghost->ghosts.elem_count + 1, sizeof *values);
        for (int round = 0; round < 20; round++) p8est_ghost_exchange_data(forest, ghost, values);
        long long all[2], own[2] = {forest->local_num_quadrants, ghost->ghosts.elem_count};
        sc_MPI_Allreduce(own, all, 2, sc_MPI_LONG_LONG_INT, sc_MPI_SUM, sc_MPI_COMM_WORLD);
        if (forest->mpirank == 0 && i == 0)
            printf("%lld cells, %lld ghosts, checksum %u\n", all[0], all[1], p8est_checksum(forest));
        else
            p8est_checksum(forest);
        free(values);
        p8est_ghost_destroy(ghost);
        p8est_destroy(forest);
    }
    p8est_connectivity_destroy(cube);
    sc_finalize();
    sc_MPI_Finalize();
    return 0;
}
