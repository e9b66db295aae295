/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/vector/columns.h"

#include "chunk/shuffle_portable.h"

enum {
    NEAR = 16384, /* bytes that stay in the first-level cache */
    GROUP = 8,    /* items that fill a byte of each row */
    RUN = 128     /* groups at a time: two cache lines of each row */
};

/*
 * Byte i of the rows that come from byte j of the items holds the bits of eight
 * bytes: byte j of each item of group i.  So bitshuffle first shuffles the
 * groups as if they were items, which puts byte j of item b of all groups into
 * one plane.  It then transposes the bits of eight planes, one for each b, into
 * eight rows.
 *
 * The planes of a run: byte j of item b is in plane b * ncolumns + j.
 */
struct planes {
    uint8_t bytes[GROUP * COLUMNS][RUN];
};

size_t columns_next(size_t column, size_t ncolumns)
{
    size_t next = column + COLUMNS;

    if (next < ncolumns && next + COLUMNS > ncolumns)
        return ncolumns - COLUMNS;
    return next;
}

/*
 * Return how many items to process at a time: many, because going from one
 * column to the next costs cache misses when planes are a power of two apart,
 * but no more than stay in the first-level cache until their last column.
 */
static size_t count_items(const struct column_steps *steps, size_t typesize,
                          size_t nitems)
{
    size_t run = NEAR / typesize / steps->vector * steps->vector;

    if (run < steps->vector)
        run = steps->vector;
    return run < nitems ? run : nitems;
}

void columns_shuffle(const struct column_steps *steps, size_t typesize,
                     size_t len, const uint8_t *src, uint8_t *dst)
{
    size_t stride = len / typesize;
    size_t nitems = stride / steps->vector * steps->vector;
    size_t run;

    for (size_t i = 0; i < nitems; i += run) {
        run = count_items(steps, typesize, nitems - i);
        for (size_t j = 0; j < typesize; j = columns_next(j, typesize))
            steps->shuffle(typesize, run, src + i * typesize + j, stride,
                           dst + j * stride + i);
    }
    shuffle_rest(typesize, len, nitems, src, dst);
}

void columns_unshuffle(const struct column_steps *steps, size_t typesize,
                       size_t len, const uint8_t *src, uint8_t *dst)
{
    size_t stride = len / typesize;
    size_t nitems = stride / steps->vector * steps->vector;
    size_t run;

    for (size_t i = 0; i < nitems; i += run) {
        run = count_items(steps, typesize, nitems - i);
        for (size_t j = 0; j < typesize; j = columns_next(j, typesize))
            steps->unshuffle(typesize, run, src + j * stride + i, stride,
                             dst + i * typesize + j);
    }
    unshuffle_rest(typesize, len, nitems, src, dst);
}

/* Return how many columns to process at a time: all of a short item. */
static size_t count_columns(size_t typesize)
{
    return typesize < COLUMNS ? typesize : COLUMNS;
}

/* Return where the bytes for planes COLUMNS * n and on lie in a group, counted
   from the current column.  Short items lie one after the other. */
static size_t plane_off(size_t typesize, size_t n)
{
    return n * (typesize < COLUMNS ? COLUMNS : typesize);
}

/* Return how many groups to process at a time, a multiple of the vector. */
static size_t count_groups(const struct column_steps *steps, size_t ngroups)
{
    return ngroups < RUN ? ngroups / steps->vector * steps->vector : RUN;
}

/* Bitshuffle `run` groups from group `i` on; the block has `row` groups. */
static void bitshuffle_run(const struct column_steps *steps, size_t typesize,
                           size_t row, size_t i, size_t run, const uint8_t *src,
                           uint8_t *dst)
{
    size_t ncolumns = count_columns(typesize);
    struct planes planes;

    src += i * GROUP * typesize;
    dst += i;
    for (size_t c = 0; c < typesize; c = columns_next(c, typesize)) {
        for (size_t n = 0; n < ncolumns; n++)
            steps->shuffle(GROUP * typesize, run,
                           src + c + plane_off(typesize, n), RUN,
                           planes.bytes[COLUMNS * n]);
        for (size_t j = 0; j < ncolumns; j++)
            steps->transpose(run, planes.bytes[j], ncolumns * RUN,
                             dst + (c + j) * GROUP * row, row);
    }
}

static void bitunshuffle_run(const struct column_steps *steps, size_t typesize,
                             size_t row, size_t i, size_t run,
                             const uint8_t *src, uint8_t *dst)
{
    size_t ncolumns = count_columns(typesize);
    struct planes planes;

    src += i;
    dst += i * GROUP * typesize;
    for (size_t c = 0; c < typesize; c = columns_next(c, typesize)) {
        for (size_t j = 0; j < ncolumns; j++)
            steps->transpose(run, src + (c + j) * GROUP * row, row,
                             planes.bytes[j], ncolumns * RUN);
        for (size_t n = 0; n < ncolumns; n++)
            steps->unshuffle(GROUP * typesize, run, planes.bytes[COLUMNS * n],
                             RUN, dst + c + plane_off(typesize, n));
    }
}

void columns_bitshuffle(const struct column_steps *steps, size_t typesize,
                        size_t len, const uint8_t *src, uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    for (size_t run; (run = count_groups(steps, row - i)) > 0; i += run)
        bitshuffle_run(steps, typesize, row, i, run, src, dst);
    if (i > 0 && i < row) {
        bitshuffle_run(steps, typesize, row, row - steps->vector, steps->vector,
                       src, dst);
        i = row;
    }
    bitshuffle_rest(typesize, len, i, src, dst);
}

void columns_bitunshuffle(const struct column_steps *steps, size_t typesize,
                          size_t len, const uint8_t *src, uint8_t *dst)
{
    size_t row = len / typesize / GROUP;
    size_t i = 0;

    for (size_t run; (run = count_groups(steps, row - i)) > 0; i += run)
        bitunshuffle_run(steps, typesize, row, i, run, src, dst);
    if (i > 0 && i < row) {
        bitunshuffle_run(steps, typesize, row, row - steps->vector,
                         steps->vector, src, dst);
        i = row;
    }
    bitunshuffle_rest(typesize, len, i, src, dst);
}
