/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_header.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/msgpack.h"
#include "base/size.h"

/* A byte that must be at an offset. */
struct marker {
    uint8_t off;
    uint8_t byte;
};

static const struct marker common_markers[] = {
    { FRAME_HEADER_LEN_OFF - 1, MSGPACK_INT32 },
    { FRAME_LEN_OFF - 1, MSGPACK_UINT64 },
    { FRAME_GENERAL_FLAGS_OFF - 1, MSGPACK_FIXSTR | 4 },
    { FRAME_NBYTES_OFF - 1, MSGPACK_INT64 },
    { FRAME_CBYTES_OFF - 1, MSGPACK_INT64 },
    { FRAME_TYPESIZE_OFF - 1, MSGPACK_INT32 },
    { FRAME_TYPESIZE_OFF + 4, MSGPACK_INT32 },
    { 0, 0 },
};

/* Format: history.md, 2. */
static const struct marker markers_a[] = {
    { 0x39, MSGPACK_INT16 },
    { 0x3C, MSGPACK_INT16 },
    { 0, 0 },
};

/* Format: history.md, 3. */
static const struct marker markers_b[] = {
    { 0x39, MSGPACK_INT16 },
    { 0x3C, MSGPACK_INT16 },
    { 0x40, MSGPACK_FIXEXT16 },
    { 0, 0 },
};

/* Format: frame.md, 2. */
static const struct marker markers_e[] = {
    { 0x39, MSGPACK_INT32 },
    { 0x3E, MSGPACK_INT16 },
    { 0x41, MSGPACK_INT16 },
    { 0x45, MSGPACK_FIXEXT16 },
    { 0, 0 },
};

/* Offsets that differ between layouts; 0 if a layout lacks the field. */
struct layout {
    uint8_t fixed_len; /* the metalayers follow */
    uint8_t chunksize_off;
    uint8_t blocksize_off;
    uint8_t nfilters_off;
    uint8_t filters_off;
    uint8_t filters_meta_off;
    const struct marker *markers;
};

static const struct layout layout_a = {
    .fixed_len = FRAME_A_METALAYERS_OFF,
    .chunksize_off = FRAME_A_CHUNKSIZE_OFF,
    .markers = markers_a,
};

static const struct layout layout_b = {
    .fixed_len = FRAME_B_METALAYERS_OFF,
    .chunksize_off = FRAME_B_CHUNKSIZE_OFF,
    .nfilters_off = FRAME_B_NFILTERS_OFF,
    .filters_off = FRAME_B_FILTERS_OFF,
    .filters_meta_off = FRAME_B_FILTERS_META_OFF,
    .markers = markers_b,
};

static const struct layout layout_e = {
    .fixed_len = FRAME_E_METALAYERS_OFF,
    .chunksize_off = FRAME_E_CHUNKSIZE_OFF,
    .blocksize_off = FRAME_E_BLOCKSIZE_OFF,
    .nfilters_off = FRAME_E_NFILTERS_OFF,
    .filters_off = FRAME_E_FILTERS_OFF,
    .filters_meta_off = FRAME_E_FILTERS_META_OFF,
    .markers = markers_e,
};

/* A complete fixed part, with its layout and byte order. */
struct header {
    const uint8_t *bytes;
    const struct layout *layout;
    enum frame_format format;
};

bool frame_has_magic(const uint8_t *bytes, size_t len)
{
    return len >= FRAME_MAGIC_LEN && (bytes[0] & 0xF0) == MSGPACK_FIXARRAY &&
           bytes[FRAME_MAGIC_OFF] == (MSGPACK_FIXSTR | sizeof(FRAME_MAGIC)) &&
           memcmp(bytes + FRAME_MAGIC_OFF + 1, FRAME_MAGIC,
                  sizeof(FRAME_MAGIC)) == 0;
}

static uint32_t get_u32(const struct header *header, size_t off)
{
    if (header->format == FRAME_FORMAT_C)
        return load_le32(header->bytes + off);
    return load_be32(header->bytes + off);
}

static uint64_t get_u64(const struct header *header, size_t off)
{
    if (header->format == FRAME_FORMAT_C)
        return load_le64(header->bytes + off);
    return load_be64(header->bytes + off);
}

static unsigned version_of(const uint8_t *bytes)
{
    return bytes[FRAME_GENERAL_FLAGS_OFF] & FRAME_VERSION_MASK;
}

/* Are the lengths possible when read in this byte order? */
static bool lengths_fit(const struct header *header, uint64_t avail)
{
    uint32_t header_len = get_u32(header, FRAME_HEADER_LEN_OFF);
    uint64_t frame_len = get_u64(header, FRAME_LEN_OFF);

    return header_len >= header->layout->fixed_len && header_len <= INT32_MAX &&
           header_len <= frame_len && frame_len <= avail;
}

/* Among headers with 13 elements, byte order tells format C from the others,
   because the lengths cannot make sense both ways.  Format: history.md, 1. */
static void find_13_format(struct header *header, uint64_t avail)
{
    header->layout = &layout_b;
    header->format = FRAME_FORMAT_B;
    if (!lengths_fit(header, avail)) {
        header->format = FRAME_FORMAT_C;
        if (lengths_fit(header, avail))
            return;
    }
    header->format =
        version_of(header->bytes) <= 1 ? FRAME_FORMAT_B : FRAME_FORMAT_D;
}

static int find_format(struct header *header, size_t len, uint64_t avail,
                       struct fault *fault)
{
    if (!frame_has_magic(header->bytes, len))
        return fault_set(fault, -EBADMSG, 0, "this is no Blosc2 frame");
    if (len < FRAME_A_METALAYERS_OFF)
        return fault_set(fault, -EBADMSG, len, "file ends in the header");

    switch (header->bytes[FRAME_ARRAY_OFF] & 0x0F) {
    case 11:
    case 12:
        header->format = FRAME_FORMAT_A;
        header->layout = &layout_a;
        break;
    case 13:
        find_13_format(header, avail);
        break;
    case 14:
        header->format = FRAME_FORMAT_E;
        header->layout = &layout_e;
        break;
    case 15:
        return fault_set(fault, -ENOTSUP, 0, "header of an unknown layout");
    default:
        return fault_set(fault, -EBADMSG, 0, "header has too few elements");
    }
    if (len < header->layout->fixed_len)
        return fault_set(fault, -EBADMSG, len, "file ends in the header");
    return 0;
}

static int check_markers(const struct header *header,
                         const struct marker *markers, struct fault *fault)
{
    for (const struct marker *marker = markers; marker->off; marker++)
        if (header->bytes[marker->off] != marker->byte)
            return fault_set(fault, -EBADMSG, marker->off,
                             "wrong marker in the header");
    return 0;
}

static int parse_lengths(const struct header *header, uint64_t avail,
                         struct frame_info *info, struct fault *fault)
{
    info->header_len = get_u32(header, FRAME_HEADER_LEN_OFF);
    info->frame_len = get_u64(header, FRAME_LEN_OFF);
    if (info->frame_len > avail)
        return fault_set(fault, -EBADMSG, FRAME_LEN_OFF,
                         "file is shorter than the frame");
    if (!lengths_fit(header, avail))
        return fault_set(fault, -EBADMSG, FRAME_HEADER_LEN_OFF,
                         "length of the header is wrong");
    return 0;
}

static int parse_type(const struct header *header, bool sparse,
                      struct frame_info *info, struct fault *fault)
{
    unsigned version = version_of(header->bytes);
    uint8_t type = header->bytes[FRAME_TYPE_OFF];

    info->format = header->format;
    info->version = version;
    info->sparse = sparse;
    if (header->format == FRAME_FORMAT_A) {
        /* Version and type have another meaning in layout A. */
        if (sparse)
            return fault_set(fault, -EBADMSG, FRAME_ARRAY_OFF,
                             "a frame of this age is no directory");
        return 0;
    }
    if (version > FRAME_VERSION_MAX)
        return fault_set(fault, -ENOTSUP, FRAME_GENERAL_FLAGS_OFF,
                         "version of the frame is not supported");
    /* Before layout E, directories do not always say that they are sparse. */
    if (sparse && header->format < FRAME_FORMAT_E &&
        type == FRAME_TYPE_CONTIGUOUS)
        return 0;
    if (type != (sparse ? FRAME_TYPE_SPARSE : FRAME_TYPE_CONTIGUOUS))
        return fault_set(fault, -EBADMSG, FRAME_TYPE_OFF,
                         sparse ? "this is no index of a sparse frame"
                                : "this is no contiguous frame");
    return 0;
}

static int parse_sizes(const struct header *header, struct frame_info *info,
                       struct fault *fault)
{
    const struct layout *layout = header->layout;

    info->nbytes = get_u64(header, FRAME_NBYTES_OFF);
    info->cbytes = get_u64(header, FRAME_CBYTES_OFF);
    info->typesize = get_u32(header, FRAME_TYPESIZE_OFF);
    if (layout->blocksize_off)
        info->blocksize = get_u32(header, layout->blocksize_off);

    if (info->nbytes > INT64_MAX)
        return fault_set(fault, -EBADMSG, FRAME_NBYTES_OFF,
                         "nbytes is negative");
    if (info->cbytes > INT64_MAX)
        return fault_set(fault, -EBADMSG, FRAME_CBYTES_OFF,
                         "cbytes is negative");
    if (info->typesize == 0 || info->typesize > INT32_MAX)
        return fault_set(fault, -EBADMSG, FRAME_TYPESIZE_OFF,
                         "typesize is not positive");
    if (info->blocksize > INT32_MAX)
        return fault_set(fault, -EBADMSG, layout->blocksize_off,
                         "blocksize is negative");
    return 0;
}

/* Format: frame.md, 6 "Number and sizes of the chunks". */
static int parse_chunksize(const struct header *header, struct frame_info *info,
                           struct fault *fault)
{
    uint8_t off = header->layout->chunksize_off;
    uint32_t chunksize = get_u32(header, off);

    if (chunksize > INT32_MAX) {
        if (chunksize != UINT32_MAX || info->nbytes > 0)
            return fault_set(fault, -EBADMSG, off, "chunksize is negative");
        chunksize = 0; /* not chosen yet */
    }
    info->chunksize = chunksize;
    if (chunksize > 0)
        info->nchunks = size_pieces(info->nbytes, chunksize);
    return 0;
}

/* Parse the defaults for new chunks; decoding never uses them. */
static int parse_defaults(const struct header *header, struct frame_info *info,
                          struct fault *fault)
{
    const struct layout *layout = header->layout;
    const uint8_t *bytes = header->bytes;
    uint8_t codec_flags = bytes[FRAME_CODEC_FLAGS_OFF];
    uint8_t nfilters = 0;

    info->codec = codec_flags & FRAME_CODEC_MASK;
    info->clevel = codec_flags >> 4;
    info->split_mode = (bytes[FRAME_OTHER_FLAGS_OFF] & FRAME_SPLIT_MASK) + 1u;
    if (header->format == FRAME_FORMAT_E) {
        if (info->codec == FRAME_CODEC_ELSEWHERE)
            info->codec = bytes[FRAME_E_CODEC_OFF];
        info->codec_meta = bytes[FRAME_E_CODEC_META_OFF];
        info->use_dict = bytes[FRAME_E_OTHER_FLAGS2_OFF] & FRAME_FLAG2_USE_DICT;
        info->vlblocks = bytes[FRAME_GENERAL_FLAGS_OFF] & FRAME_FLAG_VLBLOCKS;
    }

    if (layout->nfilters_off)
        nfilters = bytes[layout->nfilters_off];
    if (nfilters > CHUNK_NFILTERS)
        return fault_set(fault, -EBADMSG, layout->nfilters_off,
                         "too many filters");
    memcpy(info->filters, bytes + layout->filters_off, nfilters);
    memcpy(info->filters_meta, bytes + layout->filters_meta_off, nfilters);
    return 0;
}

int frame_header_parse(const struct frame_start *start, struct frame_info *out,
                       struct fault *fault)
{
    struct header header = { .bytes = start->bytes };
    struct frame_info info = { 0 };
    int r = find_format(&header, start->len, start->avail, fault);

    if (r == 0)
        r = check_markers(&header, common_markers, fault);
    if (r == 0)
        r = check_markers(&header, header.layout->markers, fault);
    if (r == 0)
        r = parse_type(&header, start->sparse, &info, fault);
    if (r == 0)
        r = parse_lengths(&header, start->avail, &info, fault);
    if (r == 0)
        r = parse_sizes(&header, &info, fault);
    if (r == 0)
        r = parse_chunksize(&header, &info, fault);
    if (r == 0)
        r = parse_defaults(&header, &info, fault);
    if (r == 0)
        *out = info;
    return r;
}

/* Are the sizes in a header consistent?  Format: frame.md, 6. */
static int check_claim(const struct frame_info *info, struct fault *fault)
{
    uint64_t nindex;

    /* observed: C-Blosc2 3.3.3 does not update cbytes when it deletes the last
       chunk; see empty-after-delete-file. */
    if (!info->sparse && info->nbytes > 0 &&
        info->cbytes > info->frame_len - info->header_len)
        return fault_set(fault, -EBADMSG, FRAME_CBYTES_OFF,
                         "chunks go on behind the end of the frame");
    /* The index is a chunk, which has INT32_MAX bytes at most. */
    if (!size_mul(info->nchunks, sizeof(uint64_t), &nindex) ||
        nindex > INT32_MAX)
        return fault_set(fault, -EBADMSG, FRAME_NBYTES_OFF,
                         "more chunks than an index has room for");
    return 0;
}

int frame_parse_claim(const struct frame_start *start, struct frame_info *out,
                      struct fault *fault)
{
    struct frame_start whole = *start;
    struct frame_info info;
    int r = frame_header_parse(start, &info, fault);

    whole.avail = INT64_MAX;
    if (r == -EBADMSG)
        r = frame_header_parse(&whole, &info, fault);
    if (r == 0)
        r = check_claim(&info, fault);
    if (r == 0)
        *out = info;
    return r;
}

uint32_t frame_header_metalayers_off(const struct frame_info *info)
{
    switch (info->format) {
    case FRAME_FORMAT_A:
        return FRAME_A_METALAYERS_OFF;
    case FRAME_FORMAT_E:
        return FRAME_E_METALAYERS_OFF;
    default:
        return FRAME_B_METALAYERS_OFF;
    }
}

int frame_header_trailer_len(const struct frame_info *info, const uint8_t *end,
                             uint32_t *out, struct fault *fault)
{
    uint64_t off = info->frame_len - FRAME_TRAILER_END_LEN;
    uint32_t len = info->format == FRAME_FORMAT_C
                       ? load_le32(end + FRAME_TRAILER_LEN_OFF)
                       : load_be32(end + FRAME_TRAILER_LEN_OFF);

    if (end[0] != MSGPACK_UINT32)
        return fault_set(fault, -EBADMSG, off, "the trailer lacks its length");
    if (len < FRAME_TRAILER_MIN || len > INT32_MAX ||
        len > info->frame_len - info->header_len)
        return fault_set(fault, -EBADMSG, off + FRAME_TRAILER_LEN_OFF,
                         "length of the trailer is wrong");
    *out = len;
    return 0;
}
