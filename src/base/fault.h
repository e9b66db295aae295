/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where bytes were rejected, and why.
 *
 * A function that checks bytes fills in a fault when it fails, so that the
 * layer that knows the file's name can print one line with the place and the
 * reason.  Offsets count from the start of the bytes that the function was
 * given.  If these bytes are part of something larger, the caller adds the
 * offset of that part.
 */
struct fault {
    const char *what;  /* static text: "block start lies outside the chunk" */
    uint64_t off;      /* offset of the bad byte */
    int64_t chunk_no;  /* chunk that holds it, or -1 */
    int id;            /* codec or filter that this build lacks; with -EBUSY
                          the id of the process that is in the way; or -1 */
    char object[24];   /* file inside a sparse frame, or "" */
    const char *limit; /* static text: name of the limit that is too small,
                          or NULL */
    uint64_t value;    /* value of that limit, in bytes */
    uint64_t need;     /* bytes that are needed, more than the limit */
    bool mismatch;     /* with -EBADMSG: the bytes are not those of which the
                          frame has a sum */
    int64_t block_no;  /* the block of the chunk that they are, or -1 */
};

/* The value of a fault before any failure. */
#define FAULT_NONE ((struct fault){ .chunk_no = -1, .id = -1, .block_no = -1 })

/*
 * Record a failure and return `error`, a negative errno.  Code that finds a bad
 * byte says `return fault_set(fault, -EBADMSG, off, "typesize is zero")`.  All
 * other members are reset; callers further up fill them in.
 */
int fault_set(struct fault *fault, int error, uint64_t off, const char *what);

/* Record -ENOTSUP: the build lacks the codec or filter with number `id`. */
int fault_set_id(struct fault *fault, uint64_t off, const char *what, int id);

/* Record -EBADMSG: bytes do not match their sum.  `block_no` is that of the
   block which they are, or -1. */
int fault_set_mismatch(struct fault *fault, uint64_t off, int64_t block_no);

/*
 * Record -ENOTSUP: something is too large for a limit.  `what` takes `need`
 * bytes, but `limit`, such as "a cache", has only `value` bytes.
 */
int fault_set_limit(struct fault *fault, const char *what, uint64_t need,
                    const char *limit, uint64_t value);

/*
 * Write a failure as one lower-case phrase, such as
 * "chunk 7, offset 1234: codec is not in this build (33)".
 *
 *  error  negative errno that came with the fault
 *  text   room for `size` bytes; always terminated, and cut if the phrase
 *         does not fit
 */
void fault_format(const struct fault *fault, int error, char *text,
                  size_t size);

#endif
