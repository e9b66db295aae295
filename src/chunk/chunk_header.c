/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk.h"
#include "chunk/chunk_format.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

/* Header fields that are needed only until they have been checked. */
struct raw_header {
    uint8_t blosc2_flags;
    uint8_t blosc2_flags2;
    uint32_t blocksize; /* as stored */
};

const char *chunk_kind_name(enum chunk_kind kind)
{
    static const char *const names[] = {
        [CHUNK_BLOCKS] = "blocks", [CHUNK_VLBLOCKS] = "vlblocks",
        [CHUNK_COPY] = "copy",     [CHUNK_ZEROS] = "zeros",
        [CHUNK_NANS] = "nans",     [CHUNK_VALUE] = "value",
        [CHUNK_UNINIT] = "uninit",
    };

    return names[kind];
}

bool chunk_kind_has_blocks(enum chunk_kind kind)
{
    switch (kind) {
    case CHUNK_BLOCKS:
    case CHUNK_VLBLOCKS:
    case CHUNK_COPY:
        return true;
    default:
        return false;
    }
}

static int read_short_header(const uint8_t *data, struct chunk_header *header,
                             struct raw_header *raw, struct fault *fault)
{
    header->version = data[CHUNK_OFF_VERSION];
    header->flags = data[CHUNK_OFF_FLAGS];
    header->typesize = data[CHUNK_OFF_TYPESIZE];
    header->nbytes = load_le32(data + CHUNK_OFF_NBYTES);
    header->cbytes = load_le32(data + CHUNK_OFF_CBYTES);
    raw->blocksize = load_le32(data + CHUNK_OFF_BLOCKSIZE);

    if (header->typesize == 0)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_TYPESIZE,
                         "typesize of the chunk is zero");
    if (header->nbytes > CHUNK_NBYTES_MAX)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_NBYTES,
                         "decoded size of the chunk is out of range");
    if (raw->blocksize == 0 || raw->blocksize > CHUNK_BLOCKSIZE_MAX)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOCKSIZE,
                         "block size of the chunk is out of range");

    bool is_long =
        (header->flags & CHUNK_FLAG_LONG_HEADER) == CHUNK_FLAG_LONG_HEADER;
    header->header_len =
        is_long ? CHUNK_LONG_HEADER_LEN : CHUNK_SHORT_HEADER_LEN;
    if (header->cbytes < header->header_len || header->cbytes > INT32_MAX)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_CBYTES,
                         "size of the chunk is out of range");
    return 0;
}

/* Translate the flags that a short header has instead of filters. */
static void derive_filters(struct chunk_header *header)
{
    if (header->flags & CHUNK_FLAG_SHUFFLE)
        header->filters[5] = FILTER_SHUFFLE;
    else if (header->flags & CHUNK_FLAG_BITSHUFFLE)
        header->filters[5] = FILTER_BITSHUFFLE;
    if (header->flags & CHUNK_FLAG_DELTA)
        header->filters[4] = FILTER_DELTA;
}

static int read_long_header(const uint8_t *data, struct chunk_header *header,
                            struct raw_header *raw, struct fault *fault)
{
    memcpy(header->filters, data + CHUNK_OFF_FILTERS, CHUNK_NFILTERS);
    memcpy(header->filters_meta, data + CHUNK_OFF_FILTERS_META, CHUNK_NFILTERS);
    if (header->version == CHUNK_VERSION_FIVE_FILTERS) {
        header->filters[5] = FILTER_NONE;
        header->filters_meta[5] = 0;
    }
    header->codec_meta = data[CHUNK_OFF_CODEC_META];
    raw->blosc2_flags = data[CHUNK_OFF_BLOSC2_FLAGS];
    raw->blosc2_flags2 = data[CHUNK_OFF_BLOSC2_FLAGS2];
    header->instrumented = raw->blosc2_flags & CHUNK_BFLAG_INSTRUMENTED;

    if (header->version > CHUNK_VERSION_MAX &&
        (raw->blosc2_flags2 & CHUNK_FLAG2_RESERVED) != 0)
        return fault_set(fault, -ENOTSUP, CHUNK_OFF_BLOSC2_FLAGS2,
                         "chunk is of a format from the future");
    if (raw->blosc2_flags & CHUNK_BFLAG_LAZY)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOSC2_FLAGS,
                         "chunk is a lazy one, which is never stored");
    return 0;
}

/* The kinds of special chunks; CHUNK_BLOCKS: none. */
static const enum chunk_kind special_kinds[] = {
    [CHUNK_SPECIAL_NONE] = CHUNK_BLOCKS,   [CHUNK_SPECIAL_ZEROS] = CHUNK_ZEROS,
    [CHUNK_SPECIAL_NANS] = CHUNK_NANS,     [CHUNK_SPECIAL_VALUE] = CHUNK_VALUE,
    [CHUNK_SPECIAL_UNINIT] = CHUNK_UNINIT,
};

/* The codecs that have a format of their own.  CODEC_NONE: none. */
static const uint8_t format_codecs[] = {
    [CHUNK_CODEC_BLOSCLZ] = CODEC_BLOSCLZ, [CHUNK_CODEC_LZ4] = CODEC_LZ4,
    [CHUNK_CODEC_SNAPPY] = CODEC_SNAPPY,   [CHUNK_CODEC_ZLIB] = CODEC_ZLIB,
    [CHUNK_CODEC_ZSTD] = CODEC_ZSTD,       [CHUNK_CODEC_LIZARD] = CODEC_LIZARD,
    [CHUNK_CODEC_OTHER] = CODEC_NONE,      [CHUNK_CODEC_NONE] = CODEC_NONE,
};

/*
 * Return the number of the codec.  The format in the flags determines it, but
 * for two cases in long headers: LZ4HC, which shares its format with LZ4, and
 * the codecs of format CHUNK_CODEC_OTHER.
 */
static uint8_t codec_number(const struct chunk_header *header,
                            const uint8_t *data)
{
    unsigned format = header->flags >> CHUNK_FLAG_CODEC_SHIFT;

    if (header->header_len == CHUNK_LONG_HEADER_LEN) {
        uint8_t number = data[CHUNK_OFF_CODEC];

        if (format == CHUNK_CODEC_OTHER)
            return number;
        if (format == CHUNK_CODEC_LZ4 && number == CODEC_LZ4HC)
            return number;
    }
    return format_codecs[format];
}

/* The inverse: return the format of a codec.  It is CHUNK_CODEC_OTHER for each
   codec that has no format of its own. */
static unsigned codec_format(unsigned codec)
{
    unsigned format = 0;

    if (codec == CODEC_LZ4HC)
        return CHUNK_CODEC_LZ4;
    while (format < CHUNK_CODEC_OTHER && format_codecs[format] != codec)
        format++;
    return format;
}

/* Cut the decoded bytes into blocks. */
static void set_blocks(struct chunk_header *header, uint32_t blocksize)
{
    if (header->nbytes > 0 && blocksize > header->nbytes)
        blocksize = header->nbytes;
    header->blocksize = blocksize;
    header->nblocks = (uint32_t)size_pieces(header->nbytes, blocksize);
}

static int check_value(struct chunk_header *header, struct fault *fault)
{
    header->value_len = header->cbytes - header->header_len;
    if (header->value_len == 0 || header->nbytes % header->value_len != 0 ||
        header->nbytes == 0)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_CBYTES,
                         "repeated value does not fill the chunk");
    if (header->value_len > CHUNK_HEAD_MAX)
        return fault_set(fault, -ENOTSUP, CHUNK_OFF_CBYTES,
                         "repeated value is larger than 16 MiB");
    return 0;
}

static int set_special(unsigned special, const struct raw_header *raw,
                       struct chunk_header *header, struct fault *fault)
{
    uint8_t typesize = header->typesize;

    if (special >= sizeof(special_kinds) / sizeof(special_kinds[0]))
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOSC2_FLAGS,
                         "chunk is of a reserved special kind");
    header->kind = special_kinds[special];
    set_blocks(header, raw->blocksize);

    if (header->kind == CHUNK_VALUE)
        return check_value(header, fault);
    if (header->cbytes != header->header_len)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_CBYTES,
                         "special chunk has a body");
    if (header->kind == CHUNK_NANS && header->nbytes > 0 &&
        ((typesize != 4 && typesize != 8) || header->nbytes % typesize != 0))
        return fault_set(fault, -EBADMSG, CHUNK_OFF_TYPESIZE,
                         "NaN chunk is not made of float or double items");
    return 0;
}

/*
 * Raw bytes can be cut anywhere, so choose a block size that suits reads and
 * the cache, whatever the header says.
 */
static int set_copy(const struct raw_header *raw, struct chunk_header *header,
                    struct fault *fault)
{
    const uint32_t least = 4096;
    const uint32_t most = 1024 * 1024;
    uint32_t blocksize = raw->blocksize;

    if (header->cbytes != (uint64_t)header->nbytes + header->header_len)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_CBYTES,
                         "chunk of raw bytes has a wrong size");
    header->kind = CHUNK_COPY;
    blocksize = blocksize < least ? least : blocksize;
    set_blocks(header, blocksize > most ? most : blocksize);
    return 0;
}

/* Check that the block starts lie in the chunk and are not too many. */
static int check_starts(const struct chunk_header *header, uint32_t nstarts,
                        struct fault *fault)
{
    uint64_t len = (uint64_t)nstarts * CHUNK_BSTART_LEN;

    if (!size_within(header->header_len, len, header->cbytes))
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOCKSIZE,
                         "chunk is too short for its block starts");
    if (len > CHUNK_HEAD_MAX)
        return fault_set(fault, -ENOTSUP, CHUNK_OFF_BLOCKSIZE,
                         "block starts take more than 16 MiB");
    return 0;
}

static int set_vlblocks(const struct raw_header *raw,
                        struct chunk_header *header, struct fault *fault)
{
    if (header->flags & CHUNK_FLAG_MEMCPY)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_FLAGS,
                         "chunk of VL-blocks cannot be raw bytes");
    if (header->nbytes == 0)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_NBYTES,
                         "chunk of VL-blocks holds nothing");
    header->kind = CHUNK_VLBLOCKS;
    header->nvlblocks = raw->blocksize;
    header->has_dict = raw->blosc2_flags & CHUNK_BFLAG_DICT;
    set_blocks(header, header->nbytes);
    return check_starts(header, header->nvlblocks, fault);
}

/*
 * Return the block size by which the chunk was really cut.  observed: c-blosc2
 * 3.0.0 to 3.3.3 write the requested size to the header, but cut the chunk at
 * the largest multiple of the typesize that fits, or at one byte if the chunk
 * is smaller than an item (Chunk Format, 13.1; frames odd-ragged-block and
 * odd-ragged-last).  All other writers use a multiple of the typesize or a size
 * below one item.  chunk_open() checks that the blocks were cut this way.
 */
static uint32_t real_blocksize(const struct chunk_header *header,
                               uint32_t blocksize)
{
    uint32_t typesize = header->typesize;

    if (header->version < CHUNK_VERSION_RAGGED_BLOCKS || header->instrumented)
        return blocksize;
    if (header->nbytes > 0 && blocksize > header->nbytes)
        blocksize = header->nbytes;
    if (header->nbytes < typesize)
        return 1;
    return blocksize > typesize ? blocksize - blocksize % typesize : blocksize;
}

static int set_regular(const struct raw_header *raw,
                       struct chunk_header *header, struct fault *fault)
{
    header->kind = CHUNK_BLOCKS;
    set_blocks(header, real_blocksize(header, raw->blocksize));
    if (header->nbytes == 0)
        return 0;
    header->has_dict = raw->blosc2_flags & CHUNK_BFLAG_DICT;
    if (header->blocksize > CHUNK_BLOCK_MAX)
        return fault_set(fault, -ENOTSUP, CHUNK_OFF_BLOCKSIZE,
                         "blocks are larger than 128 MiB");
    return check_starts(header, header->nblocks, fault);
}

static int set_kind(const struct raw_header *raw, struct chunk_header *header,
                    struct fault *fault)
{
    unsigned special = (raw->blosc2_flags >> CHUNK_BFLAG_SPECIAL_SHIFT) &
                       CHUNK_BFLAG_SPECIAL_MASK;
    bool is_vl = raw->blosc2_flags2 & CHUNK_FLAG2_VLBLOCKS;

    if (is_vl && special != CHUNK_SPECIAL_NONE)
        return fault_set(fault, -EBADMSG, CHUNK_OFF_BLOSC2_FLAGS,
                         "chunk of VL-blocks cannot be special");
    if (special != CHUNK_SPECIAL_NONE)
        return set_special(special, raw, header, fault);
    if (is_vl)
        return set_vlblocks(raw, header, fault);
    if (header->flags & CHUNK_FLAG_MEMCPY)
        return set_copy(raw, header, fault);
    return set_regular(raw, header, fault);
}

int chunk_header_parse(const uint8_t *data, size_t len,
                       struct chunk_header *out, struct fault *fault)
{
    struct chunk_header header = { 0 };
    struct raw_header raw = { 0 };
    int r;

    if (len < CHUNK_SHORT_HEADER_LEN)
        return fault_set(fault, -EBADMSG, len, "chunk header is cut short");
    r = read_short_header(data, &header, &raw, fault);
    if (r < 0)
        return r;

    if (len < header.header_len)
        return fault_set(fault, -EBADMSG, len, "chunk header is cut short");
    if (header.header_len == CHUNK_LONG_HEADER_LEN)
        r = read_long_header(data, &header, &raw, fault);
    else
        derive_filters(&header);
    if (r < 0)
        return r;

    header.codec = codec_number(&header, data);
    r = set_kind(&raw, &header, fault);
    if (r < 0)
        return r;
    *out = header;
    return 0;
}

size_t chunk_head_len(const struct chunk_header *header)
{
    uint64_t len = header->header_len + header->value_len;

    if (header->kind == CHUNK_BLOCKS)
        len += (uint64_t)header->nblocks * CHUNK_BSTART_LEN;
    else if (header->kind == CHUNK_VLBLOCKS)
        len += (uint64_t)header->nvlblocks * CHUNK_BSTART_LEN;
    if (header->has_dict)
        len += CHUNK_DICT_PREFIX_LEN + CHUNK_DICT_MAX;
    return len < header->cbytes ? (size_t)len : header->cbytes;
}

/* Return the flags of a header, `flags` in the format. */
static unsigned flags_of(const struct chunk_header *header)
{
    unsigned format = codec_format(header->codec);

    switch (header->kind) {
    case CHUNK_BLOCKS:
        return CHUNK_FLAG_LONG_HEADER | header->flags |
               format << CHUNK_FLAG_CODEC_SHIFT;
    case CHUNK_COPY:
        return CHUNK_FLAG_LONG_HEADER | CHUNK_FLAG_MEMCPY;
    default:
        return CHUNK_FLAG_LONG_HEADER;
    }
}

/* Return more flags of a header, `blosc2_flags` in the format. */
static unsigned blosc2_flags_of(const struct chunk_header *header)
{
    unsigned special = CHUNK_SPECIAL_UNINIT;

    while (special > CHUNK_SPECIAL_NONE &&
           special_kinds[special] != header->kind)
        special--;
    return special << CHUNK_BFLAG_SPECIAL_SHIFT |
           (header->has_dict ? CHUNK_BFLAG_DICT : 0u);
}

void chunk_header_write(const struct chunk_header *header, uint8_t *dst)
{
    memset(dst, 0, CHUNK_LONG_HEADER_LEN);
    dst[CHUNK_OFF_VERSION] = CHUNK_VERSION_WRITTEN;
    dst[CHUNK_OFF_VERSIONLZ] = CHUNK_VERSIONLZ_WRITTEN;
    dst[CHUNK_OFF_FLAGS] = (uint8_t)flags_of(header);
    dst[CHUNK_OFF_TYPESIZE] = header->typesize;
    store_le32(dst + CHUNK_OFF_NBYTES, header->nbytes);
    store_le32(dst + CHUNK_OFF_BLOCKSIZE, header->blocksize);
    store_le32(dst + CHUNK_OFF_CBYTES, header->cbytes);
    memcpy(dst + CHUNK_OFF_FILTERS, header->filters, CHUNK_NFILTERS);
    dst[CHUNK_OFF_CODEC] = header->codec;
    dst[CHUNK_OFF_CODEC_META] = header->codec_meta;
    memcpy(dst + CHUNK_OFF_FILTERS_META, header->filters_meta, CHUNK_NFILTERS);
    dst[CHUNK_OFF_BLOSC2_FLAGS] = (uint8_t)blosc2_flags_of(header);
}
