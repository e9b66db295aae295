/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_FRAME_FEED_H
#define TOOLS_FRAME_FEED_H

#include "feed.h"
#include "file/file.h"

/* The content of a frame, as the source of bytes for another frame. */
struct frame_feed {
    struct feed feed;
    const char *path; /* to report errors */
    struct file *file;
    struct file_reader reader;
    uint64_t off;  /* of the next byte */
    uint64_t data; /* end of the hole that was found last */
};

/* The file remains the caller's, and must not change while the feed is in
   use. */
void frame_feed_init(struct frame_feed *feed, const char *path,
                     struct file *file);
void frame_feed_end(struct frame_feed *feed);

#endif
