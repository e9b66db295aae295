/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_CHUNK_EDIT_H
#define FILE_FILE_CHUNK_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "frame/frame.h"

struct file;
struct writeback_edit;

/* Commit everything written, and then an edit that moves chunks, while no other
   thread changes the file.  Errors as file_write(), or of the edit. */
int file_run_edit(struct file *file, const struct writeback_edit *edit,
                  struct fault *fault);

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

/* The number that the next chunk at the end of a frame will have. */
#define FILE_CHUNK_END UINT64_MAX

/* The content of a chunk. */
struct file_chunk_content {
    const void *bytes;
    size_t len;
    bool stored; /* the bytes are a compressed chunk, as frames store it; they
                    are checked */
};

/*
 * Put a chunk in the place of another, insert, remove or reorder chunks.
 * Everything written is committed first, and the change itself is committed
 * when these functions return.
 *
 *  chunk_no  below the number of chunks, or equal to it or FILE_CHUNK_END for
 *            an insertion at the end
 *  order     for each place, the number of the chunk that moves there
 *
 * Returns 0; -EPERM if the file shows an array, whose chunks keep their places;
 * -ERANGE if there is no such chunk; -EINVAL if the sizes do not suit the
 * frame's chunksize or `order` is not a permutation; -EBADMSG or -ENOTSUP if a
 * stored chunk cannot be decoded; or as file_write().
 */
int file_chunk_put(struct file *file, uint64_t chunk_no,
                   const struct file_chunk_content *content,
                   struct fault *fault);
int file_chunk_insert(struct file *file, uint64_t chunk_no,
                      const struct file_chunk_content *content,
                      struct fault *fault);
int file_chunk_delete(struct file *file, uint64_t chunk_no,
                      struct fault *fault);
int file_chunk_reorder(struct file *file, const uint64_t *order,
                       uint64_t nchunks, struct fault *fault);

/*
 * The same, by the lasting key of a chunk above 0, see frame/frame_keys.h;
 * -ENOENT if no chunk has it.  A chunk that is appended gets one.
 */
int file_key_put(struct file *file, uint64_t key,
                 const struct file_chunk_content *content, struct fault *fault);
int file_key_append(struct file *file, const struct file_chunk_content *content,
                    uint64_t *key, struct fault *fault);
int file_key_delete(struct file *file, uint64_t key, struct fault *fault);

/* Get the key of a chunk, and make keys for all chunks if the frame has none.
   Errors as above, and of frame_writer_add_keys(). */
int file_key_make(struct file *file, uint64_t chunk_no, uint64_t *key,
                  struct fault *fault);

#endif
