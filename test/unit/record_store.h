/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_RECORD_STORE_H
#define TEST_RECORD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/*
 * A disk in memory that records all operations in order, so that each state
 * that a crash might leave can be rebuilt.  Any call can be made to fail.
 * Threads may use it at the same time.
 */
struct disk;

/*
 * Make an empty disk: either of one file that does not exist yet, or of a
 * directory, whose name is durable only after a sync of that name.
 */
struct disk *disk_new(bool directory);

/* Make a disk that has one file with these bytes. */
struct disk *disk_of(const uint8_t *bytes, size_t len);
void disk_free(struct disk *disk);

/* Open a store on the disk.  The disk must outlive it. */
struct store *disk_store(struct disk *disk);

/* Return the number of calls so far. */
size_t disk_ncalls(struct disk *disk);

/* Let `n` calls fail with `error`, from call `first` on. */
void disk_fail(struct disk *disk, size_t first, size_t n, int error);

/*
 * Have `watch` called at the start of every call of an object, by the thread
 * that makes the call.  NULL ends that.  `watch` may call the disk in turn.
 */
enum disk_call {
    DISK_LOOK,
    DISK_WRITE,
    DISK_PUNCH,
    DISK_SYNC,
    DISK_TRUNCATE,
};
void disk_watch(struct disk *disk,
                void (*watch)(void *context, enum disk_call call),
                void *context);

/*
 * From now on, data that a failed sync has lost cannot be read any more,
 * either.
 */
void disk_forget(struct disk *disk);

/* From now on, reads of this byte fail. */
void disk_rot(struct disk *disk, uint64_t off);

/* Return the number of operations so far that changed or synced something. */
size_t disk_nops(struct disk *disk);

/*
 * The content of a disk after a crash: the files of a directory, or one file
 * named "".
 */
struct image;

/*
 * Return the disk as a crash after operation `nops` leaves it.
 *
 *  dropped  asked for each operation that may not have reached the disk because
 *           no sync followed it; returns whether the operation is lost
 *  torn     apply half of the next operation, if it is a write that reaches
 *           beyond one sector
 */
struct image *disk_crash(struct disk *disk, size_t nops, bool torn,
                         bool (*dropped)(void *context, size_t i),
                         void *context);

/* Return the number of operations that may not have reached the disk. */
size_t disk_nunsynced(const struct disk *disk, size_t nops);

/* Free an image, whose stores must be closed. */
void image_free(struct image *image);

/*
 * Open a store of the image, which must outlive it.  Returns NULL if the file
 * or directory does not exist.
 */
struct store *image_store(const struct image *image);

/* Number of files in the image. */
size_t image_nfiles(const struct image *image);

#endif
