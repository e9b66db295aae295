/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_ZIP_FORMAT_H
#define BUNDLE_ZIP_FORMAT_H

#include <stdint.h>

/*
 * Records of a zip archive; all numbers are little-endian.
 *
 * Format: .ZIP File Format Specification (APPNOTE.TXT), 4.3; stores.md, 4.
 */

enum {
    /* Local header, before the bytes of a member.  APPNOTE 4.3.7. */
    ZIP_LOCAL_LEN = 30,
    ZIP_LOCAL_NAME_LEN = 26,
    ZIP_LOCAL_EXTRA_LEN = 28,

    /* Entry in the directory, one for each member.  APPNOTE 4.3.12. */
    ZIP_ENTRY_LEN = 46,
    ZIP_ENTRY_FLAGS = 8,
    ZIP_ENTRY_METHOD = 10,
    ZIP_ENTRY_CRC = 16,
    ZIP_ENTRY_CBYTES = 20,
    ZIP_ENTRY_NBYTES = 24,
    ZIP_ENTRY_NAME_LEN = 28,
    ZIP_ENTRY_EXTRA_LEN = 30,
    ZIP_ENTRY_COMMENT_LEN = 32,
    ZIP_ENTRY_DISK = 34,
    ZIP_ENTRY_LOCAL_OFF = 42,

    ZIP_METHOD_STORED = 0,
    ZIP_METHOD_DEFLATED = 8,
    ZIP_FLAG_ENCRYPTED = 1 << 0,

    /* Extra field for numbers of more than 32 bits.  APPNOTE 4.5.3. */
    ZIP_EXTRA_HEAD_LEN = 4,
    ZIP_EXTRA_ZIP64 = 0x0001,

    /* End record, at the end of the file.  APPNOTE 4.3.16. */
    ZIP_END_LEN = 22,
    ZIP_END_DISK = 4,
    ZIP_END_DIRECTORY_DISK = 6,
    ZIP_END_NENTRIES_HERE = 8,
    ZIP_END_NENTRIES = 10,
    ZIP_END_DIRECTORY_LEN = 12,
    ZIP_END_DIRECTORY_OFF = 16,
    ZIP_END_COMMENT_LEN = 20,
    ZIP_COMMENT_MAX = 65535,

    /* Zip64 records before that, if numbers exceed it.  APPNOTE 4.3.14, 15. */
    ZIP_LOCATOR_LEN = 20,
    ZIP_LOCATOR_END64_OFF = 8,
    ZIP_END64_LEN = 56,
    ZIP_END64_NENTRIES_HERE = 24,
    ZIP_END64_NENTRIES = 32,
    ZIP_END64_DIRECTORY_LEN = 40,
    ZIP_END64_DIRECTORY_OFF = 48,
};

#define ZIP_LOCAL_MAGIC   UINT32_C(0x04034b50)
#define ZIP_ENTRY_MAGIC   UINT32_C(0x02014b50)
#define ZIP_END_MAGIC     UINT32_C(0x06054b50)
#define ZIP_LOCATOR_MAGIC UINT32_C(0x07064b50)
#define ZIP_END64_MAGIC   UINT32_C(0x06064b50)

#endif
