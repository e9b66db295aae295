/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FRAME_FEED_H
#define TOOLS_FRAME_FEED_H

#include "feed.h"
#include "file/file.h"

/* The content of a frame as bytes for another. */
struct frame_feed {
    struct feed feed;
    const char *path; /* to report errors */
    struct file *file;
    struct file_reader reader;
    uint64_t off;  /* of the next byte */
    uint64_t data; /* up to here there is a hole */
};

/* The file stays the caller's, and is not written to meanwhile. */
void frame_feed_init(struct frame_feed *feed, const char *path,
                     struct file *file);

#endif
