/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_PARALLEL_APPEND_H
#define WRITEBACK_PARALLEL_APPEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "writer/frame_writer.h"

/*
 * Append chunks to a frame.  Many threads encode them, but they are added in
 * the order in which they were put, so the same bytes make the same frame
 * however many threads there are.  On a server, many threads write them too
 * (see frame_writer_nwriters()), and only the names of their objects may be
 * others each time.
 *
 * One thread uses a parallel append, and the frame writer to which it adds.
 */
struct parallel_append;

/* How much is appended at a time. */
struct parallel_size {
    size_t chunksize;  /* bytes in the largest chunk */
    unsigned nthreads; /* that encode; 0: one for each CPU */
};

/*
 * Begin to append chunks to a frame, whose writer remains the caller's.
 *
 *  params  parameters for encoding the chunks; NULL: they are only copied
 *  size    the buffers are for as many chunks as keep all threads and
 *          connections busy, but take no more than 128 MiB, or as much as one
 *          chunk needs (twice its size) if that is more
 *
 * Returns 0, -ENOMEM or another negative errno.
 */
int parallel_append_new(struct frame_writer *writer,
                        const struct chunk_params *params,
                        const struct parallel_size *size,
                        struct parallel_append **out);

/* End without finishing: free the struct, and drop chunks that are not added
   yet.  Accepts NULL. */
void parallel_append_free(struct parallel_append *append);

/*
 * Get a buffer of `chunksize` bytes for the content of the next chunk.  It is
 * valid until the chunk is put.  This may wait for an earlier chunk and add it.
 *
 * Returns 0, or the error because of which a chunk could not be added: as
 * chunk_encode(), frame_writer_write() and frame_writer_insert().
 */
int parallel_append_get_buffer(struct parallel_append *append, uint8_t **out,
                               struct fault *fault);

/* Put a chunk that consists of the first `len` bytes of the buffer; 1 <= `len`
   <= `chunksize`. */
void parallel_append_put(struct parallel_append *append, size_t len);

/* Put a chunk of `len` zeros, whatever the buffer holds. */
void parallel_append_put_zeros(struct parallel_append *append, size_t len);

/*
 * Put a copy of a chunk of another frame, as frame_writer_copy().  The caller
 * keeps `from` open until the append is finished or freed.  Returns 0 or an
 * error as parallel_append_get_buffer(), also of frame_writer_copy().
 */
int parallel_append_copy(struct parallel_append *append, struct frame *from,
                         uint64_t chunk_no, struct fault *fault);

/* Add all chunks that were put.  Returns 0 or an error as
   parallel_append_get_buffer(). */
int parallel_append_finish(struct parallel_append *append, struct fault *fault);

#endif
