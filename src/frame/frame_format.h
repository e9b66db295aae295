/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_FORMAT_H
#define FRAME_FRAME_FORMAT_H

/*
 * Offsets of the fields in the header, index and trailer of a frame.  They
 * count from the start of the frame and lead to the value itself; its msgpack
 * marker is the byte before.
 */

#define FRAME_MAGIC "b2frame" /* and its NUL */

/* All layouts.  Format: frame.md, 2 "Fixed part of the header". */
enum {
    FRAME_ARRAY_OFF = 0x00, /* marker with the number of elements */
    FRAME_MAGIC_OFF = 0x01, /* marker of a string, and FRAME_MAGIC */
    FRAME_HEADER_LEN_OFF = 0x0B,
    FRAME_LEN_OFF = 0x10,
    FRAME_GENERAL_FLAGS_OFF = 0x19,
    FRAME_TYPE_OFF = 0x1A,
    FRAME_CODEC_FLAGS_OFF = 0x1B,
    FRAME_OTHER_FLAGS_OFF = 0x1C,
    FRAME_NBYTES_OFF = 0x1E,
    FRAME_CBYTES_OFF = 0x27,
    FRAME_TYPESIZE_OFF = 0x30,
};

/* Layout E, 14 elements.  Format: the same. */
enum {
    FRAME_E_NELEMENTS = 14,
    FRAME_E_BLOCKSIZE_OFF = 0x35,
    FRAME_E_CHUNKSIZE_OFF = 0x3A,
    FRAME_E_NFILTERS_OFF = 0x46,
    FRAME_E_FILTERS_OFF = 0x47,
    FRAME_E_CODEC_OFF = 0x4D,
    FRAME_E_CODEC_META_OFF = 0x4E,
    FRAME_E_FILTERS_META_OFF = 0x4F,
    FRAME_E_OTHER_FLAGS2_OFF = 0x55,
    FRAME_E_METALAYERS_OFF = 0x57, /* also the length of the fixed part */
};

/* Layouts B, C and D, 13 elements.  Format: history.md, 3. */
enum {
    FRAME_B_CHUNKSIZE_OFF = 0x35,
    FRAME_B_NFILTERS_OFF = 0x41,
    FRAME_B_FILTERS_OFF = 0x42,
    FRAME_B_FILTERS_META_OFF = 0x4A,
    FRAME_B_METALAYERS_OFF = 0x52,
};

/* Layout A, 11 or 12 elements.  Format: history.md, 2. */
enum {
    FRAME_A_CHUNKSIZE_OFF = 0x35,
    FRAME_A_METALAYERS_OFF = 0x40, /* absent if the header ends here */
};

/* Flags.  Format: frame.md, 2.1 to 2.3. */
enum {
    FRAME_VERSION_MASK = 0x0F, /* of the general flags */
    FRAME_VERSION_ORDINARY = 2,
    FRAME_VERSION_MAX = 3, /* written if chunks or blocks differ in size */
    FRAME_FLAG_OFFSETS_64 = 0x10,
    FRAME_FLAG_VARIABLE = 0x40,
    FRAME_FLAG_VLBLOCKS = 0x80,
    FRAME_TYPE_CONTIGUOUS = 0,
    FRAME_TYPE_SPARSE = 1,
    FRAME_CODEC_MASK = 0x0F, /* of the codec flags; the level lies above */
    FRAME_CODEC_ELSEWHERE = 6,
    FRAME_SPLIT_MASK = 0x03,     /* of the other flags */
    FRAME_FLAG2_USE_DICT = 0x01, /* of the second other flags */
};

/* End of the trailer.  Format: frame.md, 7 "Trailer". */
enum {
    FRAME_TRAILER_END_LEN = 23, /* it starts with the marker of the length */
    FRAME_TRAILER_LEN_OFF = 1,
    FRAME_TRAILER_MIN = 25,
    FRAME_TRAILER_VERSION = 1,
    FRAME_FINGERPRINT_TYPE_OFF = 6, /* from the marker of the length */
    FRAME_FINGERPRINT_OFF = 7,
    FRAME_FINGERPRINT_LEN = 16,
    FRAME_FINGERPRINT_NONE = 0,
    FRAME_FINGERPRINT_128 = 3,
};

/*
 * Metalayers: a map of names and offsets, then an array of values.
 * Format: frame.md, 3 and 7; history.md, 3 for the user meta.
 */
enum {
    FRAME_METALAYERS_MAX = 16,
    FRAME_VLMETALAYERS_MAX = 8192,
    FRAME_TRAILER_LAYERS_OFF = 2, /* in the trailer: user meta, if it starts
                                     with MSGPACK_BIN32, or vlmetalayers */
    FRAME_MAP_HEAD_LEN = 7,       /* up to the first entry */
    FRAME_MAP_ENTRY_MAX = 37,     /* name, marker, offset */
    FRAME_ARRAY_HEAD_LEN = 3,     /* marker and count */
    FRAME_VALUE_HEAD_LEN = 5,     /* marker and length */
};

/* Index entries.  Format: frame.md, 5 "The index chunk". */
enum {
    FRAME_INDEX_TYPESIZE = 8,
    FRAME_ENTRY_KIND_SHIFT = 56, /* of the byte that holds the kind */
    FRAME_ENTRY_SPECIAL = 0x80,
    FRAME_ENTRY_ZEROS = 0x01,
    FRAME_ENTRY_NANS = 0x02,
    FRAME_ENTRY_UNINIT = 0x04,
};

/* Some readers reject the id of a chunk file if it is above cbytes minus this
   margin.  Format: sparse-frame.md, 4. */
enum {
    FRAME_ID_MARGIN = 32
};

/* The shortest chunk is a header of Blosc 1.  Format: frame.md, 10 "Reading
   safely". */
enum {
    FRAME_CHUNK_MIN = 16
};

/*
 * The stamp that framefs writes between index and trailer, because all readers
 * ignore bytes there (frame.md, 5): a magic and a number, 64 bits
 * little-endian, which tells one state of a frame from another.  Each commit
 * increments the number.
 */
enum {
    FRAME_STAMP_LEN = 16,
    FRAME_STAMP_MAGIC_LEN = 8,
};
#define FRAME_STAMP_MAGIC "framefs\001"

/* Tags of chunks and the guard, which framefs writes between index and stamp,
   and the fingerprint.  Format: framefs-format(7), "Sums". */
enum {
    FRAME_TAG_LEN = 4,
    FRAME_TAGS_MAX = 4096, /* a frame with more chunks has no tags */
    FRAME_GUARD_MAGIC_LEN = 8,
    FRAME_GUARD_COUNT_OFF = 8, /* number of runs */
    FRAME_GUARD_NGROUPS_OFF = 16,
    FRAME_GUARD_NVL_OFF = 24,    /* number of vlmetalayers */
    FRAME_GUARD_NFIXED_OFF = 32, /* number of metalayers in the header */
    FRAME_GUARD_TAGS_OFF = 40,   /* sum of the tags */
    FRAME_GUARD_TRAILER_OFF = 48,
    FRAME_GUARD_NAMES_OFF = 56,
    FRAME_GUARD_ARRAY_OFF = 64,
    FRAME_GUARD_RUNS_OFF = 72,
    FRAME_GUARD_RUN_LEN = 16,
    FRAME_GUARD_SIZES_LEN = 8, /* of the sum of sizes of a group of chunks */
    FRAME_GUARD_GROUP = 1024,  /* chunks */
    FRAME_GUARD_LAYER_LEN = 8, /* of the sum of a metalayer */
    FRAME_GUARD_LEN_MAX = 16 << 20,
    FRAME_FINGERPRINT_NFIELDS = 6, /* of the header, 8 bytes each */
};
#define FRAME_GUARD_MAGIC "b2guard\002"

#endif
