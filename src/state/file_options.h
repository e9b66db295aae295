/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_OPTIONS_H
#define STATE_FILE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

/* The part of a frame that a file shows, and its form. */
enum file_view {
    FILE_VIEW_CHUNKS, /* all chunks, one after the other */
    FILE_VIEW_ARRAY,  /* the items of an array in C order; chunks if the frame
                         is not an array */
    FILE_VIEW_NPY,    /* the same, but an array as a .npy file, with a header */
    /* For files that are only read: */
    FILE_VIEW_CHUNK,  /* one decoded chunk; if it is of an array, with its
                         padding */
    FILE_VIEW_STORED, /* the chunk as it is stored, compressed; empty if it
                         exists in the index only */
};

/*
 * What is done with the sums that tell damaged bytes from right ones.  Options
 * that do not mention them have the default, which is the first.
 */
enum file_sums {
    FILE_SUMS_ON,   /* bytes are compared with the sums that frames have, and
                       new chunks get sums */
    FILE_SUMS_READ, /* the former only */
    FILE_SUMS_OFF,  /* neither */
};

/* Options for reading and writing files; all files of a context share them. */
struct file_options {
    size_t cache_size; /* bytes of decoded data to keep, a hard limit; dirty
                          data counts, too */
    unsigned nthreads; /* threads that decode and encode chunks; 0: one for each
                          CPU */
    size_t readahead;  /* bytes to decode ahead of a sequential reader, at most
                          a quarter of the cache; 0: none */
    unsigned commit;   /* seconds after which written data is committed; 0: on
                          request, or when the cache fills up */
    bool lock;         /* lock frames against other programs, see
                          file_store_flags() */
    unsigned
        lock_timeout; /* seconds to wait for a process that changes or locks the
                         frame */
    int64_t
        quarantine_ns; /* nanoseconds for which space that a commit has freed is
                          not reused, because other readers may still read it */
    enum file_view view;
    enum file_sums sums;
    struct net_options net; /* for frames behind URLs */
};

/* The options that hold if the user sets none. */
extern const struct file_options file_default_options;

/*
 * Set an option from text.
 *
 *  name   cache, threads, readahead, commit or sums; lock, which sets
 *         `lock_timeout`, too; or a name for net_options_set()
 *  value  a size, a number, or for sums: off, read or on
 *
 * Returns 0, -EINVAL if the value is not valid for the option, or -ENOENT if
 * there is no such option.
 */
int file_options_set(struct file_options *options, const char *name,
                     const char *value);

#endif
