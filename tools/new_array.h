/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NEW_ARRAY_H
#define TOOLS_NEW_ARRAY_H

#include <stdbool.h>

#include "array_parts.h"
#include "file/file.h"
#include "frame_options.h"
#include "input.h"
#include "verb.h"

/* Options that describe an array to be made. */

/* Values of struct option.val. */
enum {
    NEW_ARRAY_SHAPE = 0x300,
    NEW_ARRAY_DTYPE,
    NEW_ARRAY_END
};

/* Rows for a verb's table of options. */
/* clang-format off */
#define NEW_ARRAY_OPTIONS                                  \
    { "shape", required_argument, NULL, NEW_ARRAY_SHAPE },   \
    { "dtype", required_argument, NULL, NEW_ARRAY_DTYPE },   \
    ARRAY_PARTS_ROWS
/* clang-format on */

/* Help for these options. */
#define NEW_ARRAY_HELP                                                   \
    "  --shape N,N...    INPUT holds the items of an array in C order\n" \
    "  --dtype DTYPE     what they are, as NumPy has it: <f8, |S5, ...\n" ARRAY_PARTS_HELP

/* The options on a command line that describe an array to be made. */
struct new_array {
    const char *values[NEW_ARRAY_END - NEW_ARRAY_SHAPE]; /* NULL: not given */
    struct array_parts parts;
    bool no_npy; /* take a .npy file as the bytes that it is */
};

/* Record an option.  Returns false if it is not one of these. */
bool new_array_take(int option, struct new_array *new_array);

/* Is any of them given? */
bool new_array_is_given(const struct new_array *new_array);

/*
 * Find out whether to make an array, and which one.  There is an array if
 * --shape is given, or if the input is a .npy file and not a pipe; the header
 * of the .npy file is then read.
 *
 *  params  parameters of the frame; receives typesize and array
 *  array   receives the array, if there is one; new_array_free() frees it
 *
 * Returns 0 or a negative errno, which was reported.
 */
int new_array_find(const struct new_array *new_array, struct input *input,
                   struct file_params *params, struct file_array *array);

/* Is a file a .npy file of which new_array_find() makes an array?  One that
   cannot be read is none. */
bool new_array_is_npy(const char *path);

/* Free an array of new_array_find(), which may have found none. */
void new_array_free(struct file_array *array);

/*
 * Write the array, from all bytes of the input.
 *
 *  store  of a new frame; remains the caller's
 *  path   of the frame, to report errors
 *
 * Returns 0 or a negative errno, which was reported.
 */
int new_array_write(const struct file_params *params, struct input *input,
                    struct store *store, const char *path);

#endif
