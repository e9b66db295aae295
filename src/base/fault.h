/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Where and why bytes were refused.
 *
 * A function that judges bytes fills one in when it fails, so that the layer
 * that knows the file's name can print one line that names the place and the
 * reason.  Offsets count from the start of what that function was given; a
 * caller that knows where this lies in something larger adds to them.
 */
struct fault {
    const char *what;  /* static text: "block start lies outside the chunk" */
    uint64_t off;      /* byte at fault */
    int64_t chunk_no;  /* chunk it belongs to, or -1 */
    int id;            /* codec or filter that is lacking; with -EBUSY the
                          number of the process that is in the way; or -1 */
    char object[24];   /* file inside a sparse frame, or "" */
    const char *limit; /* static text: what is too small, or NULL */
    uint64_t value;    /* of the limit, in bytes */
    uint64_t need;     /* bytes of what is too large for that */
};

/* Nothing has failed yet. */
#define FAULT_NONE ((struct fault){ .chunk_no = -1, .id = -1 })

/*
 * Record a failure, a negative errno, and hand it back: code that finds a bad
 * byte says `return fault_set(fault, -EBADMSG, off, "typesize is zero")`.
 * All the rest is reset; callers further up fill them in.
 */
int fault_set(struct fault *fault, int error, uint64_t off, const char *what);

/* The same for -ENOTSUP, where `id` says which codec or filter is lacking. */
int fault_set_id(struct fault *fault, uint64_t off, const char *what, int id);

/*
 * The same for -ENOTSUP, where something is too large for a limit: `what` of
 * `need` bytes for `limit`, such as "a cache", of so many.
 */
int fault_set_limit(struct fault *fault, const char *what, uint64_t need,
                    const char *limit, uint64_t value);

/*
 * Write a failure as one lower-case phrase, such as
 * "chunk 7, offset 1234: codec is not in this build (33)".
 *
 *  error  negative errno that came with the fault
 *  text   room for `size` bytes; always terminated, cut if too small
 */
void fault_format(const struct fault *fault, int error, char *text,
                  size_t size);

#endif
