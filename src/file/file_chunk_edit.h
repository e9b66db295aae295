/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_CHUNK_EDIT_H
#define FILE_FILE_CHUNK_EDIT_H

#include <stdint.h>

#include "base/fault.h"
#include "frame/frame.h"

struct file;

/* Stored chunks of a frame, to be copied over existing chunks of a file. */
struct file_chunk_copy {
    struct frame *src;
    uint64_t src_chunk_no;
    uint64_t chunk_no; /* in the file */
    uint64_t nchunks;
};

/*
 * Copy stored chunks, and commit.  Both frames have the same chunksize and
 * typesize.
 *
 *  done  receives the number of chunks copied; less than `nchunks` if one
 *        cannot be copied
 */
int file_copy_chunks(struct file *file, const struct file_chunk_copy *copy,
                     uint64_t *done, struct fault *fault);

#endif
