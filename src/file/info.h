/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_INFO_H
#define FILE_INFO_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"

struct frame;

/* Optional parts of the description of a frame. */
enum info_parts {
    INFO_CONTENT = 1 << 0, /* content of metalayers, in hexadecimal */
    INFO_CHUNKS = 1 << 1,  /* a table of all chunks */
    INFO_SUMS = 1 << 2,    /* how many chunks have sums; this reads the whole
                              index */
};

/*
 * Describe a frame as one JSON object, with each chunk on a line of its own and
 * without a newline at the end.
 *
 *  parts  any of info_parts
 *  out    receives the text piece by piece, so that a table of ten million
 *         chunks takes no memory; its errors are left for ferror()
 *
 * A part that cannot be read (a metalayer, a chunk, the "array" that a frame
 * is) has an "error" in its place.  A name that is not UTF-8 has "escaped":
 * true, and \xHH for all bytes except printable ASCII without the backslash.
 *
 * Returns 0 or -ENOMEM.
 */
int info_write(struct frame *frame, unsigned parts, FILE *out);

/* Describe only the metalayers of a frame, as a JSON array.  Returns as
   info_write(), or the error because of which they cannot be read. */
int info_write_layers(struct frame *frame, unsigned parts, FILE *out,
                      struct fault *fault);

/* The same as info_write(), as a string that the caller frees.  Best without
   INFO_CHUNKS, because the whole text is in memory. */
int info_text(struct frame *frame, unsigned parts, char **out);

#endif
