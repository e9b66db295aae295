/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_ZIP_H
#define BUNDLE_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "bundle/zip_format.h"

/*
 * Parser for the directory of a zip archive.  The caller reads the bytes.
 * Functions that can fail return 0, or -EBADMSG or -ENOTSUP with a fault whose
 * offset is in the file.
 */

enum {
    ZIP_MAGIC_LEN = 4,
    /* Maximum length from the end of the directory to the end of the file. */
    ZIP_TAIL_MAX =
        ZIP_END64_LEN + ZIP_LOCATOR_LEN + ZIP_END_LEN + ZIP_COMMENT_MAX,
};

/* Could these be the first bytes of an archive? */
bool zip_has_magic(const uint8_t bytes[ZIP_MAGIC_LEN]);

/* The place of the directory in the file. */
struct zip_directory {
    uint64_t off;
    uint64_t len;
    uint64_t nentries;
};

/*
 * Find the directory.
 *
 *  tail      the last `len` bytes of the file: ZIP_TAIL_MAX, or all there are
 *  tail_off  where they start in the file
 */
int zip_find_directory(const uint8_t *tail, size_t len, uint64_t tail_off,
                       struct zip_directory *out, struct fault *fault);

/* A member, from its entry in the directory. */
struct zip_member {
    const char *name; /* in the directory, not terminated */
    size_t name_len;
    bool encrypted;
    bool stored;        /* neither compressed nor encrypted */
    bool deflated;      /* compressed by deflate, and not encrypted */
    uint32_t crc;       /* CRC-32 of the decoded bytes, not checked */
    uint64_t nbytes;    /* length in the file */
    uint64_t decoded;   /* length when decoded, not checked */
    uint64_t local_off; /* offset in the file of its local header */
};

/*
 * Read the next entry.
 *
 *  bytes  the directory
 *  pos    offset of the entry in it, below its length; receives the next one
 *
 * Checks that the member lies before the directory.
 */
int zip_read_entry(const struct zip_directory *directory, const uint8_t *bytes,
                   uint64_t *pos, struct zip_member *out, struct fault *fault);

/*
 * Find where the bytes of a member start.
 *
 *  header  the bytes at its `local_off`
 *  off     receives the offset in the file
 *
 * Checks that the bytes, too, lie before the directory.
 */
int zip_locate(const struct zip_directory *directory,
               const struct zip_member *member,
               const uint8_t header[ZIP_LOCAL_LEN], uint64_t *off,
               struct fault *fault);

#endif
