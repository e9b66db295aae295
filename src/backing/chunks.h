/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_CHUNKS_H
#define BACKING_CHUNKS_H

#include "backing/backing_ops.h"

/*
 * The chunks of a frame, as entries of a directory.  Each chunk has two files,
 * which are named by its number: the chunk decoded, and the chunk as it is
 * stored.  If the chunks have keys, each has a third, which is not listed: it
 * is named by the key and shows the chunk decoded.  All, and the directory, are
 * views of the frame and share its place, because they have no files of their
 * own: `below` in that place is the implementation of the frame.
 *
 * A struct chunks describes one state of the frame.  Any number of threads may
 * use it.  A view has the device, owner, permissions and times of the frame,
 * and an inode number derived from that of the frame.  Nothing here changes a
 * frame; ops/chunk_files.h does.
 */
extern const struct backing_ops chunks_ops;

/*
 * Parse the name of a file that is named by the number of a chunk.  Returns
 * false if it is no such name.
 */
bool chunks_parse_number(const char *text, uint64_t *chunk_no);

/* Return the key from the name of a file that is named by it; 0 if it is no
   such name. */
uint64_t chunks_parse_key(const char *text);

#endif
