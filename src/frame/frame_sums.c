/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "chunk/chunk_sums.h"

enum {
    FINGERPRINT_BITS_MAX = 8, /* that may differ */
};

static size_t layers_len(const struct frame_sums *sums)
{
    return (sums->nvl + sums->nfixed) * FRAME_GUARD_LAYER_LEN;
}

size_t frame_sums_guard_len(const struct frame_sums *sums)
{
    return FRAME_GUARD_RUNS_OFF + sums->unsummed.n * FRAME_GUARD_RUN_LEN +
           sums->ngroups * FRAME_GUARD_SIZES_LEN + layers_len(sums) +
           sums->index_len;
}

uint64_t frame_sums_of_bytes(const uint8_t *bytes, size_t len)
{
    return XXH3_64bits(bytes, len);
}

size_t frame_sums_ntags(uint64_t nchunks)
{
    return nchunks <= FRAME_TAGS_MAX ? (size_t)nchunks : 0;
}

void frame_sums_encode_start(const struct frame_sums *sums, uint8_t *guard)
{
    memcpy(guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN);
    store_le64(guard + FRAME_GUARD_COUNT_OFF, sums->unsummed.n);
    store_le64(guard + FRAME_GUARD_NGROUPS_OFF, sums->ngroups);
    store_le64(guard + FRAME_GUARD_NVL_OFF, sums->nvl);
    store_le64(guard + FRAME_GUARD_NFIXED_OFF, sums->nfixed);
    store_le64(guard + FRAME_GUARD_TAGS_OFF, sums->tags);
    store_le64(guard + FRAME_GUARD_TRAILER_OFF, sums->trailer);
    store_le64(guard + FRAME_GUARD_NAMES_OFF, sums->names);
    store_le64(guard + FRAME_GUARD_ARRAY_OFF, sums->array);
}

/* Append bytes, of which there may be none.  Returns where they end. */
static uint8_t *append(uint8_t *at, const uint8_t *bytes, size_t len)
{
    if (len > 0)
        memcpy(at, bytes, len);
    return at + len;
}

void frame_sums_encode(const struct frame_sums *sums, uint8_t *guard)
{
    uint8_t *at = guard + FRAME_GUARD_RUNS_OFF;

    frame_sums_encode_start(sums, guard);
    for (size_t i = 0; i < sums->unsummed.n; i++, at += FRAME_GUARD_RUN_LEN) {
        const struct range *range = &sums->unsummed.list[i];

        store_le64(at, range->first);
        store_le64(at + sizeof(uint64_t), range->end - range->first);
    }
    at = append(at, sums->sizes, sums->ngroups * FRAME_GUARD_SIZES_LEN);
    at = append(at, sums->layers, layers_len(sums));
    append(at, sums->index, sums->index_len);
}

uint64_t frame_sums_of_sizes(const uint32_t *nbytes, size_t n)
{
    uint8_t bytes[FRAME_GUARD_GROUP * sizeof(nbytes[0])];

    for (size_t i = 0; i < n; i++)
        store_le32(bytes + i * sizeof(nbytes[0]), nbytes[i]);
    return XXH3_64bits(bytes, n * sizeof(nbytes[0]));
}

bool frame_sums_check_sizes(const struct frame_sums *sums, uint64_t group_no,
                            const uint32_t *nbytes, size_t n)
{
    return group_no < sums->ngroups &&
           load_le64(sums->sizes + group_no * FRAME_GUARD_SIZES_LEN) ==
               frame_sums_of_sizes(nbytes, n);
}

/* Read `n` ranges; each must lie behind the one before, with a gap. */
static int parse_ranges(struct ranges *ranges, size_t n, const uint8_t *at)
{
    if (ranges_reserve(ranges, n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++, at += FRAME_GUARD_RUN_LEN) {
        uint64_t first = load_le64(at);
        uint64_t len = load_le64(at + sizeof(uint64_t));

        if (len == 0 || first > UINT64_MAX - len ||
            (i > 0 && first <= ranges->list[i - 1].end))
            return -EBADMSG;
        ranges_add(ranges, first, first + len);
    }
    return 0;
}

/* Copy bytes of the guard.  Returns NULL if there is no memory. */
static uint8_t *copy(const uint8_t *bytes, size_t len)
{
    uint8_t *to = malloc(len + 1);

    if (to)
        memcpy(to, bytes, len);
    return to;
}

/* Read what follows the start of a guard that is as long as the counts say. */
static int parse_parts(struct frame_sums *sums, size_t nranges,
                       const uint8_t *at)
{
    size_t sizes_len = sums->ngroups * FRAME_GUARD_SIZES_LEN;
    const uint8_t *sizes = at + nranges * FRAME_GUARD_RUN_LEN;
    const uint8_t *layers = sizes + sizes_len;

    sums->sizes = copy(sizes, sizes_len);
    sums->layers = copy(layers, layers_len(sums));
    sums->index = copy(layers + layers_len(sums), sums->index_len);
    if (!sums->sizes || !sums->layers || !sums->index)
        return -ENOMEM;
    return parse_ranges(&sums->unsummed, nranges, at);
}

/* Read a count of parts, and take their length off the rest. */
static bool parse_count(const uint8_t *at, size_t part_len, size_t *rest,
                        size_t *count)
{
    uint64_t n = load_le64(at);

    if (n > *rest / part_len)
        return false;
    *count = (size_t)n;
    *rest -= *count * part_len;
    return true;
}

/* Read the start of a guard.  Returns the number of ranges, or -EBADMSG. */
static ssize_t parse_start(struct frame_sums *sums, const uint8_t *guard,
                           size_t len)
{
    size_t rest = len - FRAME_GUARD_RUNS_OFF;
    size_t nranges;

    if (!parse_count(guard + FRAME_GUARD_COUNT_OFF, FRAME_GUARD_RUN_LEN, &rest,
                     &nranges) ||
        !parse_count(guard + FRAME_GUARD_NGROUPS_OFF, FRAME_GUARD_SIZES_LEN,
                     &rest, &sums->ngroups) ||
        !parse_count(guard + FRAME_GUARD_NVL_OFF, FRAME_GUARD_LAYER_LEN, &rest,
                     &sums->nvl) ||
        !parse_count(guard + FRAME_GUARD_NFIXED_OFF, FRAME_GUARD_LAYER_LEN,
                     &rest, &sums->nfixed))
        return -EBADMSG;
    sums->index_len = rest;
    sums->tags = load_le64(guard + FRAME_GUARD_TAGS_OFF);
    sums->trailer = load_le64(guard + FRAME_GUARD_TRAILER_OFF);
    sums->names = load_le64(guard + FRAME_GUARD_NAMES_OFF);
    sums->array = load_le64(guard + FRAME_GUARD_ARRAY_OFF);
    return (ssize_t)nranges;
}

int frame_sums_parse(const uint8_t *guard, size_t len, struct frame_sums **out)
{
    struct frame_sums *sums;
    ssize_t nranges;
    int r;

    if (len < FRAME_GUARD_RUNS_OFF ||
        memcmp(guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN) != 0)
        return -EBADMSG;
    sums = calloc(1, sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    nranges = parse_start(sums, guard, len);
    r = nranges < 0
            ? (int)nranges
            : parse_parts(sums, (size_t)nranges, guard + FRAME_GUARD_RUNS_OFF);
    if (r < 0)
        frame_sums_free(sums);
    else
        *out = sums;
    return r;
}

int frame_sums_of_index(const uint8_t *index, size_t len,
                        struct frame_sums *sums)
{
    struct chunk_header header;
    struct chunk *chunk = NULL;
    struct fault ignored;
    int r = chunk_header_parse(index, len, &header, &ignored);

    if (r == 0 && (header.cbytes > len || chunk_head_len(&header) > len))
        r = -EBADMSG;
    if (r == 0)
        r = chunk_open(&header, index, NULL, &chunk, &ignored);
    if (r < 0)
        return r;
    sums->index_len = chunk_sums_len(&header);
    sums->index = malloc(sums->index_len);
    if (sums->index)
        chunk_sums_make(chunk, index, 0, sums->index);
    else
        r = -ENOMEM;
    chunk_close(chunk);
    return r;
}

void frame_sums_free(struct frame_sums *sums)
{
    if (!sums)
        return;
    ranges_fini(&sums->unsummed);
    free(sums->sizes);
    free(sums->layers);
    free(sums->index);
    free(sums);
}

bool frame_sums_have(const struct frame_sums *sums, uint64_t place)
{
    return !ranges_have(&sums->unsummed, place);
}

/* The fields of the header that place and size the chunks. */
static void encode_fields(const struct frame_info *info, uint8_t *dst)
{
    const uint64_t fields[FRAME_FINGERPRINT_NFIELDS] = {
        info->header_len, info->frame_len,
        info->nbytes,     info->sparse ? 0 : info->cbytes,
        info->typesize,   info->chunksize,
    };

    for (size_t i = 0; i < FRAME_FINGERPRINT_NFIELDS; i++)
        store_le64(dst + i * sizeof(fields[0]), fields[i]);
}

int frame_sums_fingerprint(const struct frame_info *info, const uint8_t *guard,
                           size_t len, uint8_t out[FRAME_FINGERPRINT_LEN])
{
    size_t head = FRAME_FINGERPRINT_NFIELDS * sizeof(uint64_t);
    uint8_t *bytes = malloc(head + len);
    XXH128_hash_t hash;

    if (!bytes)
        return -ENOMEM;
    encode_fields(info, bytes);
    memcpy(bytes + head, guard, len);
    hash = XXH3_128bits(bytes, head + len);
    free(bytes);
    store_le64(out, hash.low64);
    store_le64(out + sizeof(uint64_t), hash.high64);
    return 0;
}

bool frame_sums_is_fingerprint(const uint8_t *a, const uint8_t *b)
{
    unsigned nbits = 0;

    for (size_t i = 0; i < FRAME_FINGERPRINT_LEN; i++)
        nbits += (unsigned)__builtin_popcount((unsigned)(a[i] ^ b[i]));
    return nbits <= FINGERPRINT_BITS_MAX;
}
