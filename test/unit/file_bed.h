/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_FILE_BED_H
#define TEST_UNIT_FILE_BED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"

/* What a test wants. */
struct bed_kind {
    bool sparse;
    uint32_t typesize;   /* of the frame; 0: chosen by its content */
    uint32_t chunksize;  /* bytes */
    uint32_t nchunks;    /* about so many the model has room for */
    size_t cache_size;   /* bytes */
    unsigned commit;     /* seconds, see struct file_options */
    bool lock;           /* likewise */
    unsigned patience;   /* likewise */
    bool flushed_always; /* a thread commits all the time */
};

/* A frame in a directory of its own, and what should be in it. */
struct bed {
    struct bed_kind kind;
    char dir[256];
    int fd;
    struct file_context *context;
    struct file *file;
    uint8_t *model; /* `room` bytes, zero behind `size` */
    uint64_t room;
    uint64_t size;
    uint64_t random;
    pthread_t flusher;
    atomic_bool flushing;
};

/* A number below `below`. */
uint32_t pick(uint64_t *random, uint32_t below);

/* Bytes that compress, but not to nothing. */
void make_bytes(uint8_t *bytes, size_t len, uint64_t *random);

/* `chunksize`, `nchunks` and `cache_size` may be 0 for what is usual. */
void bed_init(struct bed *bed, const struct bed_kind *kind);

/* The usual, with typesize 1. */
void bed_new(struct bed *bed, bool sparse);

/* A copy of a frame, by its path, which holds what it reads as. */
void bed_copy_of(struct bed *bed, const char *path);
void bed_fini(struct bed *bed);

/* The directory's frame. */
struct store *bed_store(struct bed *bed, unsigned flags);

/* Close the file; look whether the frame is without fault, and open it. */
void bed_reopen(struct bed *bed);

/* Does the file read as it should? */
void bed_check_range(struct bed *bed, uint64_t off, size_t len);
void bed_check(struct bed *bed);

/* Change file and model. */
void bed_write(struct bed *bed, uint64_t off, size_t len);
void bed_truncate(struct bed *bed, uint64_t size);
void bed_zero(struct bed *bed, uint64_t off, uint64_t len);
void bed_copy(struct bed *bed, uint64_t from, uint64_t to, uint64_t len);
void bed_sync(struct bed *bed);

#endif
