/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_FIXTURE_H
#define TEST_UNIT_FIXTURE_H

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
    BED_CHUNKSIZE = 8192 /* of a fixture that fixture_new_on_disk() makes */
};

/* The kind of file that a test needs. */
struct fixture_kind {
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
struct fixture {
    struct fixture_kind kind;
    char dir[SUITE_PATH_MAX]; /* the directory that holds nothing but the frame;
                                 or */
    int fd;
    struct disk *disk;
    struct file_context *context;
    struct file *file; /* NULL after fixture_close() */
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
void fixture_init(struct fixture *fixture, const struct fixture_kind *kind);

/* Make a file with the defaults and typesize 1. */
void fixture_new(struct fixture *fixture, bool sparse);

/*
 * Make a file on a disk, with chunks of BED_CHUNKSIZE and room for 300 of them.
 * Nothing but the test commits it, and the bytes written are noise.
 */
void fixture_new_on_disk(struct fixture *fixture, bool sparse);

/* Copy the frame at a path.  Its content becomes the model. */
void fixture_copy_of(struct fixture *fixture, const char *path);

/* Close the file, unless fixture_close() has, and remove the frame. */
void fixture_fini(struct fixture *fixture);

/* Open a store of the frame.  `flags` only matter in a directory. */
struct store *fixture_store(struct fixture *fixture, unsigned flags);

/* Close the file, and return the result; open it again. */
int fixture_close(struct fixture *fixture);
void fixture_open(struct fixture *fixture);

/* Close the file, verify the frame, and open it again. */
void fixture_reopen(struct fixture *fixture);

/*
 * Compare a range of the file, or all of it, with the model.  While calls of
 * the disk fail, the comparison tries a read some times.
 */
void fixture_check_range(struct fixture *fixture, uint64_t off, size_t len);
void fixture_check(struct fixture *fixture);

/* Compare both the file, if it is open, and the stored frame with the model. */
void fixture_check_stored(struct fixture *fixture);

/* Does the disk hold the content even if all unsynced operations are lost? */
void fixture_check_durable(struct fixture *fixture);

/*
 * Let `n` calls of the disk fail, from the one with this number on, counted
 * from here; or end that, and return whether the first of them was reached.
 */
void fixture_fail_calls(struct fixture *fixture, size_t call, size_t n,
                        int error);
bool fixture_end_failing(struct fixture *fixture);

/*
 * Let each call fail in turn, in two variants, until `trial` returns false
 * because it makes fewer calls.  It must make more than `ncalls_min`, because
 * otherwise it does not do its work.
 */
void fixture_fail_each(bool (*trial)(bool variant, size_t call),
                       size_t ncalls_min);

/* Write new bytes.  Returns the result of file_write(). */
int fixture_try_write(struct fixture *fixture, uint64_t off, size_t len);

/*
 * Make the same change to the file and to the model.  A write tries twice while
 * calls of the disk fail, because it first checks the frame on the disk.
 */
void fixture_write(struct fixture *fixture, uint64_t off, size_t len);
void fixture_truncate(struct fixture *fixture, uint64_t size);
void fixture_zero(struct fixture *fixture, uint64_t off, uint64_t len);
void fixture_copy(struct fixture *fixture, uint64_t from, uint64_t to,
                  uint64_t len);
void fixture_sync(struct fixture *fixture);

#endif
