/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_ROUND_BED_H
#define TEST_UNIT_ROUND_BED_H

#include "file/file.h"
#include "record_store.h"
#include "state/file_private.h"

/* A file of which nothing is committed but when asked, on a disk of which calls
   can fail and be watched. */

enum {
    CHUNKSIZE = 8192,
    HALF = CHUNKSIZE / 2,
    ROOM = 300 * CHUNKSIZE,
};

struct bed {
    struct disk *disk;
    struct file_context *context;
    struct file *file;
    uint8_t bytes[ROOM]; /* what it should hold, */
    uint64_t size;       /* so much of them */
    size_t bad_call;     /* of the disk, that fails */
};

void bed_init(struct bed *bed, bool sparse);
void bed_fini(struct bed *bed);

/* Write bytes that do not compress to nothing. */
void bed_write(struct bed *bed, uint64_t off, size_t len, uint32_t seed);
void bed_sync(struct bed *bed);

/* Let one call of the disk fail, counted from here on; and let none fail any
   more.  Was that call reached? */
void bed_fail_call(struct bed *bed, size_t call, int error);
bool bed_end_failing(struct bed *bed);

/* Let one call after the other fail, in two variants, until `trial` returns
   false, as there are not so many. */
void bed_fail_each(bool (*trial)(bool variant, size_t call));

/* Does a file hold what it should; and do the bed's, and the disk, too? */
void bed_check_file(const struct bed *bed, struct file *file);
void bed_check(const struct bed *bed);

#endif
