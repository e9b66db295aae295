/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ARRAY_PARTS_H
#define TOOLS_ARRAY_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "array/layout.h"
#include "file/file.h"

/* Options for the shapes of an array's chunks and blocks. */

/* Values of struct option.val. */
enum {
    ARRAY_PARTS_CHUNKS = 0x400,
    ARRAY_PARTS_BLOCKS,
    ARRAY_PARTS_END
};

/* Rows for a verb's table of options. */
/* clang-format off */
#define ARRAY_PARTS_ROWS                                       \
    { "chunks", required_argument, NULL, ARRAY_PARTS_CHUNKS }, \
    { "blocks", required_argument, NULL, ARRAY_PARTS_BLOCKS }
/* clang-format on */

/* Help for these options. */
#define ARRAY_PARTS_HELP                                              \
    "  --chunks N,N...   of an array: shape of its chunks; else as\n" \
    "                    chunksize allows\n"                          \
    "  --blocks N,N...   shape of their blocks; likewise, by blocksize\n"

/* The arguments of the options; NULL if one is not given. */
struct array_parts {
    const char *chunks;
    const char *blocks;
    bool keep_chunks; /* the shape of chunks is known, and stays */
};

/* Record an option.  Returns false if it is not one of these. */
bool array_parts_take(int option, struct array_parts *parts);

/* Is any of them given? */
bool array_parts_is_given(const struct array_parts *parts);

/*
 * Check that none is given, because there is no array.
 *
 *  path  of the file or frame that is none, to report errors
 *  need  what the options need instead, for the message
 *
 * Returns 0 or -EINVAL, which was reported.
 */
int array_parts_check_none(const struct array_parts *parts, const char *path,
                           const char *need);

/*
 * Find the shapes of chunks and blocks: as the options say, or chosen by
 * layout_choose().
 *
 *  path    of the array, to report errors
 *  params  chunksize and blocksize limit the shapes that are chosen, in bytes;
 *          the typesize is that of an item
 *  shape   has the items; receives the others
 *
 * Returns 0 or -EINVAL, which was reported; also if a chunk would have more
 * than 1 GiB, which is as much as a chunksize may be.
 */
int array_parts_find(const struct array_parts *parts, const char *path,
                     const struct file_params *params,
                     struct layout_shape *shape);

/* Parse numbers with commas between them, none of them above `max`.  An empty
   text contains no numbers.  Returns 0, -EINVAL or -ENOMEM. */
int array_parts_parse(const char *text, uint64_t max,
                      uint64_t extents[ARRAY_NDIM_MAX], unsigned *ndim);

/* Report that the value of an option is wrong, or that there is no memory for
   it.  Returns `error`. */
int array_parts_complain(int error, const char *option, const char *value);

#endif
