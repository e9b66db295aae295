/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_ROUND_BED_H
#define TEST_UNIT_ROUND_BED_H

#include "file/file.h"
#include "record_store.h"
#include "state/file_private.h"

/*
 * A file that is committed only when a test asks for it, on a disk whose calls
 * can be watched and made to fail.
 */

enum {
    CHUNKSIZE = 8192,
    HALF = CHUNKSIZE / 2,
    ROOM = 300 * CHUNKSIZE,
};

struct bed {
    struct disk *disk;
    struct file_context *context;
    struct file *file;
    uint8_t bytes[ROOM]; /* the content that it should have */
    uint64_t size;       /* bytes in it */
    size_t bad_call;     /* the call of the disk that fails */
};

void bed_init(struct bed *bed, bool sparse);
void bed_fini(struct bed *bed);

/* Write bytes that do not compress to nothing. */
void bed_write(struct bed *bed, uint64_t off, size_t len, uint32_t seed);
void bed_sync(struct bed *bed);

/*
 * Let one call of the disk fail, counted from here on, or end that.
 * bed_end_failing() returns whether the call was reached.
 */
void bed_fail_call(struct bed *bed, size_t call, int error);
bool bed_end_failing(struct bed *bed);

/*
 * Let each call fail in turn, in two variants, until `trial` returns false
 * because it makes fewer calls.
 */
void bed_fail_each(bool (*trial)(bool variant, size_t call));

/*
 * Compare a file with the bed's content; or compare both the bed's file and its
 * disk.
 */
void bed_check_file(const struct bed *bed, struct file *file);
void bed_check(const struct bed *bed);

#endif
