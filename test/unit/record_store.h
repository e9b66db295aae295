/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_RECORD_STORE_H
#define TEST_RECORD_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/*
 * A disk in memory that remembers what was done to it, and in which order, so
 * that each state can be made again that a crash might have left; and of which
 * any call can be made to fail.  Threads may use it side by side.
 */
struct disk;

/* An empty disk: of a file that is not there yet, or of a directory, whose own
   name lasts only once that is synced. */
struct disk *disk_new(bool directory);

/* The same with one file. */
struct disk *disk_of(const uint8_t *bytes, size_t len);
void disk_free(struct disk *disk);

/* A store on the disk, which lives longer. */
struct store *disk_store(struct disk *disk);

/* Calls so far. */
size_t disk_ncalls(struct disk *disk);

/* Let calls fail from this one on, `n` of them. */
void disk_fail(struct disk *disk, size_t first, size_t n, int error);

/* Have `watch` called at the begin of every call of an object, by whoever makes
   it, or no more with NULL; it may call in turn. */
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

/* From now on, what a sync that fails has lost can't be read any more, either. */
void disk_forget(struct disk *disk);

/* From now on, this byte can't be read. */
void disk_rot(struct disk *disk, uint64_t off);

/* Operations that changed or synced something, so far. */
size_t disk_nops(struct disk *disk);

/* What a crash leaves; a file with the name "" or files of a directory. */
struct image;

/*
 * The disk after a crash behind operation `nops`.
 *
 *  dropped  asked of each operation that need not have reached the disk, since
 *           nothing was synced after it: has it not?
 *  torn     half of the next one has, if it is a write of more than a sector
 */
struct image *disk_crash(struct disk *disk, size_t nops, bool torn,
                         bool (*dropped)(void *context, size_t i),
                         void *context);

/* How many operations need not have reached the disk. */
size_t disk_nunsynced(const struct disk *disk, size_t nops);

/* Stores of it must be closed. */
void image_free(struct image *image);

/* A store of the image, which lives longer; NULL if there is no file, or
   directory. */
struct store *image_store(const struct image *image);

/* Number of files in the image. */
size_t image_nfiles(const struct image *image);

#endif
