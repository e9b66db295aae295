/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NEW_ARRAY_H
#define TOOLS_NEW_ARRAY_H

#include <stdbool.h>

#include "file/file.h"
#include "frame_options.h"
#include "input.h"
#include "verb.h"

/* What the user says of an array that is to be made. */

/* Values of struct option.val. */
enum {
    NEW_ARRAY_SHAPE = 0x300,
    NEW_ARRAY_DTYPE,
    NEW_ARRAY_CHUNKS,
    NEW_ARRAY_BLOCKS,
    NEW_ARRAY_END
};

/* Rows for the options of a verb. */
/* clang-format off */
#define NEW_ARRAY_OPTIONS                                  \
    { "shape", required_argument, NULL, NEW_ARRAY_SHAPE },   \
    { "dtype", required_argument, NULL, NEW_ARRAY_DTYPE },   \
    { "chunks", required_argument, NULL, NEW_ARRAY_CHUNKS }, \
    { "blocks", required_argument, NULL, NEW_ARRAY_BLOCKS }
/* clang-format on */

/* Their help. */
#define NEW_ARRAY_HELP                                                    \
    "  --shape N,N...    INPUT holds the items of an array in C order\n"  \
    "  --dtype DTYPE     what they are, as NumPy has it: <f8, |S5, ...\n" \
    "  --chunks N,N...   shape of its chunks; else as chunksize allows\n" \
    "  --blocks N,N...   shape of their blocks; likewise\n"

/* The options on a command line that say how to make an array. */
struct new_array {
    const char *values[NEW_ARRAY_END - NEW_ARRAY_SHAPE]; /* or NULL */
};

/* Take an option.  Returns false if it is none of these. */
bool new_array_take(int option, struct new_array *new_array);

/*
 * Find out whether an array is to be made, which is so if there is a shape, or
 * if the input is a .npy file, whose header is then read; and which.
 *
 *  params  what is said of the frame; receives typesize and array
 *  array   receives the array, to be freed by the caller, if there is one
 *
 * Returns 0 or a negative errno, which was reported.
 */
int new_array_find(const struct new_array *new_array, struct input *input,
                   struct file_params *params, struct file_array *array);

/* Accepts one that was not found. */
void new_array_free(struct file_array *array);

/*
 * Make the array, of all the bytes that the input has.
 *
 *  store  of a new frame; stays the caller's
 *  path   of the frame, to report errors
 *
 * Returns 0 or a negative errno, which was reported.
 */
int new_array_write(const struct file_params *params, struct input *input,
                    struct store *store, const char *path);

#endif
