/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_FILE_BED_H
#define TEST_UNIT_FILE_BED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"

/* The kind of file that a test needs. */
struct bed_kind {
    bool sparse;
    uint32_t typesize;   /* of the frame; 0: chosen from the content */
    uint32_t chunksize;  /* bytes */
    uint32_t nchunks;    /* approximate room of the model */
    size_t cache_size;   /* bytes */
    unsigned commit;     /* seconds, see struct file_options */
    bool lock;           /* likewise */
    unsigned patience;   /* likewise */
    bool flushed_always; /* a thread commits all the time */
};

/* A frame in a directory of its own, and the content that it should have. */
struct bed {
    struct bed_kind kind;
    char dir[256];
    int fd;
    struct file_context *context;
    struct file *file;
    uint8_t *model; /* `room` bytes, zero from `size` on */
    uint64_t room;
    uint64_t size;
    uint64_t random;
    pthread_t flusher;
    atomic_bool flushing;
};

/* Return a pseudo-random number below `below`. */
uint32_t pick(uint64_t *random, uint32_t below);

/* Make bytes that compress, but not to nothing. */
void make_bytes(uint8_t *bytes, size_t len, uint64_t *random);

/*
 * Make a file.  0 for `chunksize`, `nchunks` or `cache_size` means the default.
 */
void bed_init(struct bed *bed, const struct bed_kind *kind);

/* Make a file with the defaults and typesize 1. */
void bed_new(struct bed *bed, bool sparse);

/* Copy the frame at a path.  Its content becomes the model. */
void bed_copy_of(struct bed *bed, const char *path);
void bed_fini(struct bed *bed);

/* Open a store of the frame in the directory. */
struct store *bed_store(struct bed *bed, unsigned flags);

/* Close the file, verify the frame, and open it again. */
void bed_reopen(struct bed *bed);

/* Compare a range of the file, or all of it, with the model. */
void bed_check_range(struct bed *bed, uint64_t off, size_t len);
void bed_check(struct bed *bed);

/* Make the same change to the file and to the model. */
void bed_write(struct bed *bed, uint64_t off, size_t len);
void bed_truncate(struct bed *bed, uint64_t size);
void bed_zero(struct bed *bed, uint64_t off, uint64_t len);
void bed_copy(struct bed *bed, uint64_t from, uint64_t to, uint64_t len);
void bed_sync(struct bed *bed);

#endif
