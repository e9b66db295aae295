/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FEED_H
#define TOOLS_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "file/file.h"
#include "writer/frame_writer.h"

/* A source of bytes that become chunks.  The function that meets an error
   reports it; -EINTR means that the user has interrupted the program. */
struct feed {
    /*
     * Read the next bytes: `len` of them, or fewer only at the end.  Returns
     * their number or a negative errno.
     *
     *  zeros  receives whether all of them lie in a hole; `buf` is then left
     *         alone
     */
    ssize_t (*read)(struct feed *feed, void *buf, size_t len, bool *zeros);

    /* Read some of the bytes to come, starting at the first that lies outside a
       hole.  Later calls of read() still return them.  Called at most once,
       before read(). */
    ssize_t (*sample)(struct feed *feed, void *buf, size_t len);

    uint64_t total; /* number of bytes to come; 0 if it is not known */
};

/*
 * Choose a typesize that suits the bytes, if `params` leaves it open.
 *
 *  path  of the frame, to report errors
 *
 * Returns 0 or a negative errno, which was reported.
 */
int feed_choose_typesize(struct feed *feed, const char *path,
                         struct file_params *params);

/*
 * Add chunks to the end of a frame until there are no more bytes, and show the
 * progress.
 *
 *  path       of the frame, to report errors
 *  chunksize  bytes in each chunk but the last; a multiple of the typesize
 *
 * Returns 0 or a negative errno, which was reported.
 */
int feed_chunks(struct feed *feed, const char *path,
                struct frame_writer *writer, const struct chunk_params *params,
                uint32_t chunksize);

#endif
