/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "feed.h"
#include "store/store.h"

/* Input that a user names: a file, its URL, or "-" for standard input. */
struct input {
    struct feed feed;
    const char *name; /* for messages */
    int fd;
    struct store *store;         /* of the object behind a URL, or NULL */
    struct store_object *object; /* in place of `fd` */
    struct stat stat;
    bool seekable;   /* a regular file, which can be read at any offset */
    bool fortran;    /* it has the items of an array in Fortran order */
    uint64_t off;    /* of the next byte in the file; for a pipe, it only
                        counts */
    uint64_t end;    /* of a part of a file; 0: the file's own */
    uint8_t *ahead;  /* bytes to return before that one, or NULL */
    size_t ahead_at; /* index of the next byte in `ahead` */
    size_t nahead;   /* number of bytes in `ahead` */
};

/* The functions below report their errors, and return a count, 0, or a negative
   errno; -EINTR means that the user has interrupted the program. */

/* Open a file, or standard input if the path is "-". input_close() leaves
   standard input open. */
int input_open(const char *path, struct input *out);
void input_close(struct input *input);

/*
 * Make an input of a part of a file.
 *
 *  name  for messages
 *  fd    can be read at any offset; becomes the input's
 *  like  owner, permissions and times for what is made from the input
 */
struct input input_of_part(const char *name, int fd, const struct stat *like,
                           const struct file_range *part);

/* The owner, permissions and times for a file that is made from the input; NULL
   if the input is not a regular file. */
const struct stat *input_likeness(const struct input *input);

/* Look at the next bytes: `len` of them, or fewer only at the end.  Returns 0
   for an input that can't be read at any offset, such as a pipe. */
ssize_t input_peek(const struct input *input, void *buf, size_t len);

/* Read bytes: `len` of them, or fewer only at the end. */
ssize_t input_read(struct input *input, void *buf, size_t len);

/* Read bytes that start `off` bytes behind the next one.  The input can be read
   at any offset.  Returns 0; -EINVAL if it ends before. */
int input_read_at(const struct input *input, void *buf, size_t len,
                  uint64_t off);

/* Check that an input that can be read at any offset has so many bytes from the
   next one on.  Returns 0 or -EINVAL. */
int input_check_size(const struct input *input, uint64_t size);

/* Report that the input has fewer or more bytes than the `wanted` ones of an
   array.  Returns -EINVAL. */
int input_refuse_size(const struct input *input, bool fewer, uint64_t wanted);

/* Make the input return these bytes before those of the file.  It takes
   ownership of them; they are from malloc().  Called at most once. */
void input_put_back(struct input *input, uint8_t *bytes, size_t len);

/*
 * Read the whole input.
 *
 *  max    -EFBIG if there are more bytes than this
 *  bytes  receives the bytes, which the caller frees; never NULL
 */
ssize_t input_read_all(struct input *input, size_t max, uint8_t **bytes);

/* Read a whole file, or standard input for "-", as the content of a chunk: at
   least one byte, and at most CHUNK_NBYTES_MAX.  The caller frees the bytes. */
ssize_t input_read_chunk(const char *path, uint8_t **bytes);

#endif
