/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_CHUNK_FILES_H
#define OPS_CHUNK_FILES_H

#include "open/handle.h"

/*
 * Creating and removing chunk files, which creates and removes chunks.  See
 * open/chunk_draft.h for writing to them.
 *
 * The program that this thread serves must have the right to write to the
 * frame.  Functions return 0 or a negative errno: -EROFS if the frame cannot be
 * changed, -EPERM if the name is of no chunk that can be made or removed.
 */

/* Is a node a directory of chunk files? */
bool chunk_files_are_in(const struct node *dir);

/*
 * Append a chunk of zeros to a frame, and make the file with its number known
 * to the kernel.
 *
 *  shown  the number that the chunk will have, as the file that shows it
 *         decoded or stored has it
 *
 * Returns 0, as lookup_name() does; -EEXIST if there is such a chunk; -EINVAL
 * if the last chunk of the frame is shorter than the others, so that none can
 * follow; or an error of file_chunk_insert().
 */
int chunk_files_create(struct fs *fs, struct node *dir, const char *shown,
                       struct node **out, struct stat *st);

/* Remove a chunk by the file that is named by its key.  A chunk is not removed
   by its number, because the numbers behind it would change: a program that
   removes all files of a directory would go on with other chunks. */
int chunk_files_remove(struct fs *fs, struct node *dir, const char *shown);

#endif
