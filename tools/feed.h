/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FEED_H
#define TOOLS_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "file/file.h"
#include "writer/frame_change.h"

/* Bytes that are to become chunks.  Errors are reported by whoever meets them;
   -EINTR says that the user has interrupted. */
struct feed {
    /*
     * Read the next bytes: `len` of them, or fewer only at the end.
     *
     *  zeros  receives whether they all are in a hole; `buf` is then left
     *         alone
     */
    ssize_t (*read)(struct feed *feed, void *buf, size_t len, bool *zeros);

    /* Look at some of the bytes to come, from the first that are in no hole
       on.  They will still be read.  Called at most once, before read(). */
    ssize_t (*sample)(struct feed *feed, void *buf, size_t len);

    uint64_t total; /* bytes that will come; 0 if that is not known */
};

/*
 * Choose a typesize that goes with the bytes, if `params` leaves that open.
 *
 *  path  of the frame, to report errors
 *
 * Returns 0 or a negative errno, which was reported.
 */
int feed_choose_typesize(struct feed *feed, const char *path,
                         struct file_params *params);

/*
 * Add chunks to the end of a change until there are no more bytes, and show
 * how it goes on.
 *
 *  chunksize  bytes in each chunk but the last; a multiple of the typesize
 *
 * Returns 0 or a negative errno, which was reported.
 */
int feed_chunks(struct feed *feed, const char *path,
                struct frame_change *change, const struct chunk_params *params,
                uint32_t chunksize);

#endif
