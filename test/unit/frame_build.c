/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame_build.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "suite.h"

enum {
    HEADER_LEN = 97,
    TRAILER_LEN = 35,
};

static const uint8_t no_metalayers[] = {
    0x93, 0xcd, 0x00, 0x07, 0xde, 0x00, 0x00, 0xdc, 0x00, 0x00,
};

static const uint8_t empty_trailer[TRAILER_LEN] = {
    0x94, 0x01, 0x93, 0xcd, 0x00, 0x06, 0xde, 0x00,        0x00,
    0xdc, 0x00, 0x00, 0xce, 0x00, 0x00, 0x00, TRAILER_LEN, 0xd8,
};

struct build *build_new(void)
{
    struct build *build = malloc(sizeof(*build));

    ck_assert_ptr_nonnull(build);
    build->len = 0;
    return build;
}

void build_bytes(struct build *build, const void *bytes, size_t len)
{
    ck_assert_uint_le(len, sizeof(build->bytes) - build->len);
    memcpy(build->bytes + build->len, bytes, len);
    build->len += len;
}

static void build_header(struct build *build, unsigned flags, unsigned typesize,
                         uint32_t nbytes, uint32_t blocksize, size_t cbytes,
                         unsigned special)
{
    uint8_t header[32] = { 5, 1, (uint8_t)flags, (uint8_t)typesize };

    store_le32(header + 4, nbytes);
    store_le32(header + 8, blocksize);
    store_le32(header + 12, (uint32_t)cbytes);
    header[31] = (uint8_t)(special << 4);
    build_bytes(build, header, sizeof(header));
}

void build_copy(struct build *build, unsigned typesize, const void *data,
                size_t len)
{
    uint32_t blocksize = len > 0 ? (uint32_t)len : 1;

    build_header(build, 0x07, typesize, (uint32_t)len, blocksize, 32 + len, 0);
    build_bytes(build, data, len);
}

void build_blocks(struct build *build, unsigned typesize, const void *data,
                  size_t len, size_t blocksize, size_t gap)
{
    const uint8_t *bytes = data;
    size_t nblocks = (len + blocksize - 1) / blocksize;
    size_t start = build->len;
    size_t starts = start + 32;
    uint8_t number[4];

    build_header(build, 0x15, typesize, (uint32_t)len, (uint32_t)blocksize, 0,
                 0);
    ck_assert_uint_le(4 * nblocks, sizeof(build->bytes) - build->len);
    build->len += 4 * nblocks;
    for (size_t i = nblocks; i-- > 0;) {
        size_t off = i * blocksize;
        size_t n = len - off < blocksize ? len - off : blocksize;

        store_le32(build->bytes + starts + 4 * i,
                   (uint32_t)(build->len - start));
        store_le32(number, (uint32_t)n);
        build_bytes(build, number, sizeof(number));
        build_bytes(build, bytes + off, n);
        for (size_t j = 0; j < gap; j++)
            build_bytes(build, "", 1);
    }
    store_le32(build->bytes + start + 12, (uint32_t)(build->len - start));
}

void build_special(struct build *build, enum chunk_kind kind, unsigned typesize,
                   uint32_t nbytes, const void *item, size_t item_len)
{
    unsigned special = kind == CHUNK_ZEROS   ? 1
                       : kind == CHUNK_NANS  ? 2
                       : kind == CHUNK_VALUE ? 3
                                             : 4;

    build_header(build, 0x05, typesize, nbytes, nbytes < 16384 ? nbytes : 16384,
                 32 + item_len, special);
    build_bytes(build, item, item_len);
}

static void put_be(struct build *build, uint8_t marker, uint64_t value,
                   size_t len)
{
    uint64_t big = htobe64(value);

    build_bytes(build, &marker, 1);
    build_bytes(build, (uint8_t *)&big + 8 - len, len);
}

static void put_header(struct build *build, const struct build_frame *parts,
                       size_t cbytes, size_t frame_len)
{
    uint8_t flags[] = { 0xa4, parts->chunksize ? 0x12 : 0x53, parts->sparse,
                        0x50, 0x03 };
    uint8_t rest[19] = { 0xc2, 0xd8, 0x06 };

    build_bytes(build,
                "\x9e\xa8"
                "b2frame",
                10);
    put_be(build, 0xd2, HEADER_LEN, 4);
    put_be(build, 0xcf, frame_len, 8);
    build_bytes(build, flags, sizeof(flags));
    put_be(build, 0xd3, parts->nbytes, 8);
    put_be(build, 0xd3, cbytes, 8);
    put_be(build, 0xd2, parts->typesize, 4);
    put_be(build, 0xd2, 0, 4);
    put_be(build, 0xd2, parts->chunksize, 4);
    put_be(build, 0xd1, 1, 2);
    put_be(build, 0xd1, 1, 2);
    build_bytes(build, rest, sizeof(rest));
}

struct build *build_frame(const struct build_frame *parts)
{
    struct build *build = build_new();
    struct build *index = build_new();
    size_t cbytes = parts->chunks && !parts->sparse ? parts->chunks->len : 0;

    if (parts->index) {
        build_bytes(index, parts->index->bytes, parts->index->len);
    } else {
        build_copy(index, 8, parts->entries, parts->nentries * 8);
        for (size_t i = 0; i < parts->nentries; i++) {
            uint64_t entry = htole64((uint64_t)parts->entries[i]);

            memcpy(index->bytes + 32 + 8 * i, &entry, 8);
        }
    }
    put_header(build, parts, cbytes,
               HEADER_LEN + cbytes + index->len + TRAILER_LEN);
    build_bytes(build, no_metalayers, sizeof(no_metalayers));
    ck_assert_uint_eq(build->len, HEADER_LEN);
    if (cbytes > 0)
        build_bytes(build, parts->chunks->bytes, cbytes);
    build_bytes(build, index->bytes, index->len);
    build_bytes(build, empty_trailer, sizeof(empty_trailer));
    free(index);
    return build;
}

struct build *build_items(const struct build *chunks, const int64_t *entries,
                          size_t nentries, uint64_t nbytes, uint32_t chunksize)
{
    const struct build_frame parts = {
        .chunks = chunks,
        .entries = entries,
        .nentries = nentries,
        .nbytes = nbytes,
        .chunksize = chunksize,
        .typesize = 4,
    };

    return build_frame(&parts);
}
