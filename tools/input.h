/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "feed.h"

/* Bytes that a user hands in: a file, or "-" for standard input. */
struct input {
    struct feed feed;
    const char *name; /* to be shown */
    int fd;
    struct stat stat;
    bool seekable;   /* a regular file that can be read anywhere */
    uint64_t off;    /* of the next byte in the file; else counted */
    uint8_t *ahead;  /* what comes before that, or NULL */
    size_t ahead_at; /* next byte in there */
    size_t nahead;   /* bytes in there */
};

/* All these report their errors; they return a count or 0, or a negative
   errno.  -EINTR says that the user has interrupted. */

/* Open a file, or standard input as "-", which input_close() leaves open. */
int input_open(const char *path, struct input *out);
void input_close(struct input *input);

/* Whose owner, permissions and times something made from it gets; NULL if it
   is no regular file. */
const struct stat *input_likeness(const struct input *input);

/*
 * Look at the first bytes of what can be read anywhere: `len` of them, or fewer
 * only if there are no more; 0 if it is a pipe or the like.
 */
ssize_t input_peek(const struct input *input, void *buf, size_t len);

/* Read bytes: `len` of them, or fewer only at the end. */
ssize_t input_read(struct input *input, void *buf, size_t len);

/* Let these bytes, which become the input's, come first.  At most once. */
void input_put_back(struct input *input, uint8_t *bytes, size_t len);

/*
 * Read all of it.
 *
 *  max    more than that is refused
 *  bytes  receives what the caller frees; never NULL
 */
ssize_t input_read_all(struct input *input, size_t max, uint8_t **bytes);

/* Read all of a file, or of standard input as "-", to be a chunk: at least one
   byte, and no more than that can have.  The caller frees it. */
ssize_t input_read_chunk(const char *path, uint8_t **bytes);

#endif
