/* Reads the file that the example `checkpoint` has written, without MPI and without this library:
   30 x 20 cells in row-major order, each of nine bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    unsigned char cell[9];
    if (!file) {
        fprintf(stderr, "usage: checkpoint FILE\n");
        return EXIT_FAILURE;
    }
    for (int i = 0; i < 30 * 20; i++) {
        double pressure;
        if (fread(cell, sizeof cell, 1, file) != 1) {
            fprintf(stderr, "the file ends before cell %d\n", i);
            return EXIT_FAILURE;
        }
        memcpy(&pressure, cell + 1, sizeof pressure);
        if (cell[0] != (i % 7 == 0) || pressure != i) {
            fprintf(stderr, "cell %d is wrong\n", i);
            return EXIT_FAILURE;
        }
    }
    if (fgetc(file) != EOF) {
        fprintf(stderr, "the file goes on\n");
        return EXIT_FAILURE;
    }
    fclose(file);
    printf("600 cells have been read\n");
    return EXIT_SUCCESS;
}
