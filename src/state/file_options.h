/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_OPTIONS_H
#define STATE_FILE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What files show of their frames. */
enum file_view {
    FILE_VIEW_CHUNKS, /* the chunks, one after the other */
    FILE_VIEW_ARRAY,  /* of an array its items in C order; of others chunks */
    FILE_VIEW_NPY,    /* the same, but arrays as .npy files, with a header */
    /* Of files that are only read: */
    FILE_VIEW_CHUNK,  /* one chunk; of an array with its padding */
    FILE_VIEW_STORED, /* the same as it is stored; nothing, if only the index
                         knows it */
};

/* Options for reading and writing files; all files of a context share them. */
struct file_options {
    size_t cache_size; /* bytes of decoded data to keep, a hard limit; it
                          counts what is not yet written out too */
    unsigned nthreads; /* workers that code chunks; 0: one for each CPU */
    size_t readahead;  /* bytes to decode ahead of a sequential reader, at most
                          a quarter of the cache; 0: none */
    unsigned commit;   /* seconds after which what was written is committed;
                          0: when asked, or when the cache fills up */
    bool lock;         /* take part in the locking of frames, see
                          file_store_flags() */
    unsigned patience; /* seconds to wait for others that change or lock one */
    int64_t rest;      /* nanoseconds for which space that a commit frees is not
                          used again, for the sake of other readers */
    enum file_view view;
};

/* The options of a program whose user sets none. */
extern const struct file_options file_default_options;

/*
 * Set one of them from text.
 *
 *  name   cache, threads, readahead, commit; or lock, which sets the patience,
 *         too
 *  value  a size, or a number
 *
 * Returns 0, -EINVAL if the value makes no sense, or -ENOENT if there is no
 * such option.
 */
int file_options_set(struct file_options *options, const char *name,
                     const char *value);

#endif
