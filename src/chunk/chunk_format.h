/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_FORMAT_H
#define CHUNK_CHUNK_FORMAT_H

/*
 * The layout of a chunk.  Integers are little-endian.
 *
 * Format: Blosc2 Chunk Format.  The numbers below are its sections.
 */

/* 2.1 and 2.2: offsets in the header. */
enum {
    CHUNK_OFF_VERSION = 0,
    CHUNK_OFF_VERSIONLZ = 1,
    CHUNK_OFF_FLAGS = 2,
    CHUNK_OFF_TYPESIZE = 3,
    CHUNK_OFF_NBYTES = 4,
    CHUNK_OFF_BLOCKSIZE = 8, /* VL-blocks: the number of blocks */
    CHUNK_OFF_CBYTES = 12,
    CHUNK_SHORT_HEADER_LEN = 16,

    CHUNK_OFF_FILTERS = 16,
    CHUNK_OFF_CODEC = 22, /* decisive only for CHUNK_CODEC_OTHER */
    CHUNK_OFF_CODEC_META = 23,
    CHUNK_OFF_FILTERS_META = 24,
    CHUNK_OFF_BLOSC2_FLAGS2 = 30,
    CHUNK_OFF_BLOSC2_FLAGS = 31,
    CHUNK_LONG_HEADER_LEN = 32,
};

/* 2.3: bits of `flags`. */
enum {
    CHUNK_FLAG_SHUFFLE = 0x01,     /* in a short header */
    CHUNK_FLAG_MEMCPY = 0x02,      /* raw bytes follow the header */
    CHUNK_FLAG_BITSHUFFLE = 0x04,  /* in a short header */
    CHUNK_FLAG_LONG_HEADER = 0x05, /* both bits */
    CHUNK_FLAG_DELTA = 0x08,       /* in a short header */
    CHUNK_FLAG_UNSPLIT = 0x10,     /* each block is one stream */
    CHUNK_FLAG_CODEC_SHIFT = 5,    /* the bits above name the codec's format */
};

/* 2.3: formats of codecs. */
enum {
    CHUNK_CODEC_BLOSCLZ = 0,
    CHUNK_CODEC_LZ4 = 1, /* also LZ4HC */
    CHUNK_CODEC_SNAPPY = 2,
    CHUNK_CODEC_ZLIB = 3,
    CHUNK_CODEC_ZSTD = 4,
    CHUNK_CODEC_LIZARD = 5,
    CHUNK_CODEC_OTHER = 6, /* byte CHUNK_OFF_CODEC says which */
    CHUNK_CODEC_NONE = 7,  /* the container says which; never written */
};

/* 2.2: bits of `blosc2_flags2`. */
enum {
    CHUNK_FLAG2_VLBLOCKS = 0x01,
    CHUNK_FLAG2_RESERVED = 0xfe,
};

/* 2.4: bits of `blosc2_flags`. */
enum {
    CHUNK_BFLAG_DICT = 0x01,
    CHUNK_BFLAG_LAZY = 0x08, /* never in a file */
    CHUNK_BFLAG_SPECIAL_SHIFT = 4,
    CHUNK_BFLAG_SPECIAL_MASK = 0x07, /* after the shift */
    CHUNK_BFLAG_INSTRUMENTED = 0x80,
};

/* 7: kinds of special chunks. */
enum {
    CHUNK_SPECIAL_NONE = 0,
    CHUNK_SPECIAL_ZEROS = 1,
    CHUNK_SPECIAL_NANS = 2,
    CHUNK_SPECIAL_VALUE = 3,
    CHUNK_SPECIAL_UNINIT = 4,
};

/* 7: the item of a chunk of NaNs, with typesize 4 and 8. */
#define CHUNK_NAN_4 0x00, 0x00, 0xC0, 0x7F
#define CHUNK_NAN_8 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xF8, 0x7F

/* 3: versions that need care. */
enum {
    CHUNK_VERSION_BLOSC1 = 2,        /* and below: the legacy split gate */
    CHUNK_VERSION_FIVE_FILTERS = 3,  /* the sixth slot may hold anything */
    CHUNK_VERSION_RAGGED_BLOCKS = 5, /* and above: 13.1 */
    CHUNK_VERSION_MAX = 6,

    CHUNK_VERSION_WRITTEN = 5,
    CHUNK_VERSIONLZ_WRITTEN = 1,
};

/* 5.2: the legacy split gate. */
enum {
    CHUNK_LEGACY_TYPESIZE_MAX = 16,
    CHUNK_LEGACY_ITEMS_MIN = 128,
};

/* 4, 6, 9: block starts and streams. */
enum {
    CHUNK_BSTART_LEN = 4,
    CHUNK_STREAM_PREFIX_LEN = 4,
    CHUNK_RUN_TOKEN = 0x01, /* bit of the byte after a negative length */
    CHUNK_RUN_VALUE_MAX = 255,
};

/* 9.1, 14: limits. */
enum {
    CHUNK_NBYTES_MAX = 2147483615,
    CHUNK_BLOCKSIZE_MAX = 536866816, /* also of the number of VL-blocks */
    CHUNK_DICT_PREFIX_LEN = 4,
    CHUNK_DICT_MAX = 32768,
};

/* The record of sums, which framefs adds.  Format: framefs-format(7),
   "Sums". */
enum {
    CHUNK_SUMS_MAGIC_LEN = 4,
    CHUNK_SUMS_COUNT_OFF = 4, /* number of blocks with a sum */
    CHUNK_SUMS_HEAD_OFF = 8,
    CHUNK_SUMS_BLOCKS_OFF = 16,
    CHUNK_SUM_LEN = 8,
};
#define CHUNK_SUMS_MAGIC "sum\001"

#endif
