/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_BED_H
#define TEST_UNIT_BED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"
#include "record_store.h"
#include "suite.h"

/*
 * A file under test, and a model of its content.  It is either in a directory,
 * or on a disk in memory whose calls can be watched and made to fail.
 */

enum {
    BED_CHUNKSIZE = 8192 /* of a bed that bed_new_on_disk() makes */
};

/* The kind of file that a test needs. */
struct bed_kind {
    bool sparse;
    bool on_disk;          /* on a struct disk, and used by one thread */
    bool noise;            /* bytes that are written do not compress */
    uint32_t typesize;     /* of the frame; 0: chosen from the content */
    uint32_t chunksize;    /* bytes */
    uint32_t nchunks;      /* approximate capacity of the model */
    size_t cache_size;     /* bytes */
    unsigned commit;       /* seconds, see struct file_options */
    bool lock;             /* likewise */
    unsigned lock_timeout; /* likewise */
    bool flushed_always;   /* a thread commits all the time */
};

/* A frame, and the content that it should have. */
struct bed {
    struct bed_kind kind;
    char dir[SUITE_PATH_MAX]; /* the directory that holds nothing but the frame;
                                 or */
    int fd;
    struct disk *disk;
    struct file_context *context;
    struct file *file; /* NULL after bed_close() */
    uint8_t *model;    /* `capacity` bytes, zero from `size` on */
    uint64_t capacity;
    uint64_t size;
    uint64_t random;
    pthread_t flusher;
    atomic_bool flushing;
    bool failing;    /* calls of the disk may fail */
    size_t bad_call; /* the first one that does */
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

/*
 * Make a file on a disk, with chunks of BED_CHUNKSIZE and room for 300 of them.
 * Nothing but the test commits it, and the bytes written are noise.
 */
void bed_new_on_disk(struct bed *bed, bool sparse);

/* Copy the frame at a path.  Its content becomes the model. */
void bed_copy_of(struct bed *bed, const char *path);

/* Close the file, unless bed_close() has, and remove the frame. */
void bed_fini(struct bed *bed);

/* Open a store of the frame.  `flags` only matter in a directory. */
struct store *bed_store(struct bed *bed, unsigned flags);

/* Close the file, and return the result; open it again. */
int bed_close(struct bed *bed);
void bed_open(struct bed *bed);

/* Close the file, verify the frame, and open it again. */
void bed_reopen(struct bed *bed);

/*
 * Compare a range of the file, or all of it, with the model.  While calls of
 * the disk fail, the comparison tries a read some times.
 */
void bed_check_range(struct bed *bed, uint64_t off, size_t len);
void bed_check(struct bed *bed);

/* Compare both the file, if it is open, and the stored frame with the model. */
void bed_check_stored(struct bed *bed);

/* Does the disk hold the content even if all unsynced operations are lost? */
void bed_check_durable(struct bed *bed);

/*
 * Let `n` calls of the disk fail, from the one with this number on, counted
 * from here; or end that, and return whether the first of them was reached.
 */
void bed_fail_calls(struct bed *bed, size_t call, size_t n, int error);
bool bed_end_failing(struct bed *bed);

/*
 * Let each call fail in turn, in two variants, until `trial` returns false
 * because it makes fewer calls.  It must make more than `ncalls_min`, because
 * otherwise it does not do its work.
 */
void bed_fail_each(bool (*trial)(bool variant, size_t call), size_t ncalls_min);

/* Write new bytes.  Returns the result of file_write(). */
int bed_try_write(struct bed *bed, uint64_t off, size_t len);

/*
 * Make the same change to the file and to the model.  A write tries twice while
 * calls of the disk fail, because it first checks the frame on the disk.
 */
void bed_write(struct bed *bed, uint64_t off, size_t len);
void bed_truncate(struct bed *bed, uint64_t size);
void bed_zero(struct bed *bed, uint64_t off, uint64_t len);
void bed_copy(struct bed *bed, uint64_t from, uint64_t to, uint64_t len);
void bed_sync(struct bed *bed);

#endif
