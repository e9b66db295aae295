/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_INFO_H
#define FILE_INFO_H

#include <stdbool.h>
#include <stdio.h>

#include "base/fault.h"

struct frame;

/* What a description of a frame holds beside its geometry. */
enum info_parts {
    INFO_CONTENT = 1 << 0, /* content of metalayers, in hexadecimal */
    INFO_CHUNKS = 1 << 1,  /* a table of all chunks */
};

/*
 * Describe a frame: one JSON object, each of its chunks on a line of its own,
 * without a newline at the end.
 *
 *  parts  any of info_parts
 *  out    receives the text piece by piece, so that a table of ten million
 *         chunks takes no memory; its errors are left for ferror()
 *
 * What can't be read (a metalayer, a chunk, the "array" that a frame is) has an
 * "error" in its place.  Names
 * that are no UTF-8 have "escaped": true, and \xHH for all bytes but printable
 * ASCII without the backslash.
 *
 * Returns 0 or -ENOMEM.
 */
int info_write(struct frame *frame, unsigned parts, FILE *out);

/* Describe its metalayers alone: a JSON array.  As above, or returns why they
   can't be read. */
int info_write_layers(struct frame *frame, unsigned parts, FILE *out,
                      struct fault *fault);

/* The same as info_write() as a string, which the caller frees; best without
   INFO_CHUNKS. */
int info_text(struct frame *frame, unsigned parts, char **out);

#endif
