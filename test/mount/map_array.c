/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Write a plane of numbers, or map one, in a program that knows nothing of
 * frames.
 *
 * usage: map_array ROWS COLUMNS        writes the plane to standard output
 *        map_array ROWS COLUMNS FILE   maps it, and checks its numbers
 *
 * With FILE it prints the time, in seconds, that it takes to read all numbers
 * in order, one row, one column, and one number.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct plane {
    uint64_t nrows;
    uint64_t ncolumns;
    const uint32_t *items; /* NULL when the plane is written */
};

/*
 * Return the item at a position.  Neighbours differ, and the plane compresses
 * well.
 */
static uint32_t item_at(uint64_t row, uint64_t column)
{
    return (uint32_t)(row * 31 + column * 7);
}

static int make(const struct plane *plane)
{
    uint32_t *row = malloc(plane->ncolumns * sizeof(*row));
    bool failed = !row;

    for (uint64_t i = 0; i < plane->nrows && !failed; i++) {
        for (uint64_t j = 0; j < plane->ncolumns; j++)
            row[j] = item_at(i, j);
        failed = fwrite(row, sizeof(*row), plane->ncolumns, stdout) !=
                 plane->ncolumns;
    }
    free(row);
    return failed || fflush(stdout) != 0;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Check the items of a rectangle, and print how long that takes. */
static void check(const struct plane *plane, const char *what, uint64_t row,
                  uint64_t nrows, uint64_t column, uint64_t ncolumns)
{
    double start = now();

    for (uint64_t i = row; i < row + nrows; i++) {
        for (uint64_t j = column; j < column + ncolumns; j++) {
            if (plane->items[i * plane->ncolumns + j] != item_at(i, j)) {
                printf("%s: wrong at %" PRIu64 ", %" PRIu64 "\n", what, i, j);
                exit(1);
            }
        }
    }
    printf("%s %.6f\n", what, now() - start);
}

/* Tell the kernel how the items are read, because it reads ahead by default. */
static void advise(const struct plane *plane, int advice)
{
    madvise((void *)(uintptr_t)plane->items,
            plane->nrows * plane->ncolumns * sizeof(*plane->items), advice);
}

static int check_all(const struct plane *plane)
{
    uint64_t row = plane->nrows / 3;
    uint64_t column = plane->ncolumns / 3;

    advise(plane, MADV_RANDOM);
    check(plane, "item", row, 1, column, 1);
    check(plane, "row", 2 * row, 1, 0, plane->ncolumns);
    check(plane, "column", 0, plane->nrows, 2 * column, 1);
    advise(plane, MADV_NORMAL);
    check(plane, "all", 0, plane->nrows, 0, plane->ncolumns);
    return 0;
}

int main(int argc, char **argv)
{
    struct plane plane = { 0 };
    size_t nbytes;
    void *bytes;
    int fd;

    if (argc < 3)
        return 2;
    plane.nrows = strtoull(argv[1], NULL, 10);
    plane.ncolumns = strtoull(argv[2], NULL, 10);
    nbytes = plane.nrows * plane.ncolumns * sizeof(*plane.items);
    if (argc == 3)
        return make(&plane);
    fd = open(argv[3], O_RDONLY);
    if (fd < 0 || lseek(fd, 0, SEEK_END) != (off_t)nbytes) {
        printf("%s: not of %zu bytes\n", argv[3], nbytes);
        return 1;
    }
    bytes = mmap(NULL, nbytes, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    plane.items = bytes;
    return check_all(&plane);
}
