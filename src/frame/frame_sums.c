/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/bytes.h"
#include "chunk/chunk_sums.h"

enum {
    FINGERPRINT_BITS_MAX = 8, /* that may differ */
};

size_t frame_sums_guard_len(const struct frame_sums *sums)
{
    return FRAME_GUARD_RUNS_OFF + sums->nruns * FRAME_GUARD_RUN_LEN +
           sums->ngroups * FRAME_GUARD_SIZES_LEN + sums->index_len;
}

void frame_sums_encode(const struct frame_sums *sums, uint8_t *guard)
{
    uint8_t *at = guard + FRAME_GUARD_RUNS_OFF;

    memcpy(guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN);
    store_le64(guard + FRAME_GUARD_COUNT_OFF, sums->nruns);
    store_le64(guard + FRAME_GUARD_NGROUPS_OFF, sums->ngroups);
    for (size_t i = 0; i < sums->nruns; i++, at += FRAME_GUARD_RUN_LEN) {
        store_le64(at, sums->runs[i].off);
        store_le64(at + sizeof(uint64_t), sums->runs[i].len);
    }
    if (sums->ngroups > 0)
        memcpy(at, sums->sizes, sums->ngroups * FRAME_GUARD_SIZES_LEN);
    at += sums->ngroups * FRAME_GUARD_SIZES_LEN;
    memcpy(at, sums->index, sums->index_len);
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

/* Read the runs; each must lie behind the one before. */
static int parse_runs(struct frame_sums *sums, const uint8_t *at)
{
    uint64_t end = 0;

    for (size_t i = 0; i < sums->nruns; i++, at += FRAME_GUARD_RUN_LEN) {
        struct frame_run run = { load_le64(at),
                                 load_le64(at + sizeof(uint64_t)) };

        if (run.len == 0 || run.off > UINT64_MAX - run.len ||
            (i > 0 && run.off <= end))
            return -EBADMSG;
        end = run.off + run.len;
        sums->runs[i] = run;
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

/* Read what follows the counts of a guard that is as long as these say. */
static int parse_parts(struct frame_sums *sums, const uint8_t *at)
{
    size_t sizes_len = sums->ngroups * FRAME_GUARD_SIZES_LEN;
    const uint8_t *sizes = at + sums->nruns * FRAME_GUARD_RUN_LEN;

    sums->runs = calloc(sums->nruns + 1, sizeof(sums->runs[0]));
    sums->sizes = copy(sizes, sizes_len);
    sums->index = copy(sizes + sizes_len, sums->index_len);
    if (!sums->runs || !sums->sizes || !sums->index)
        return -ENOMEM;
    return parse_runs(sums, at);
}

int frame_sums_parse(const uint8_t *guard, size_t len, struct frame_sums **out)
{
    struct frame_sums *sums;
    uint64_t nruns;
    uint64_t ngroups;
    size_t rest;
    int r;

    if (len < FRAME_GUARD_RUNS_OFF ||
        memcmp(guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN) != 0)
        return -EBADMSG;
    rest = len - FRAME_GUARD_RUNS_OFF;
    nruns = load_le64(guard + FRAME_GUARD_COUNT_OFF);
    ngroups = load_le64(guard + FRAME_GUARD_NGROUPS_OFF);
    if (nruns > rest / FRAME_GUARD_RUN_LEN)
        return -EBADMSG;
    rest -= (size_t)nruns * FRAME_GUARD_RUN_LEN;
    if (ngroups > rest / FRAME_GUARD_SIZES_LEN)
        return -EBADMSG;
    sums = calloc(1, sizeof(*sums));
    if (!sums)
        return -ENOMEM;
    sums->nruns = (size_t)nruns;
    sums->ngroups = (size_t)ngroups;
    sums->index_len = rest - (size_t)ngroups * FRAME_GUARD_SIZES_LEN;
    r = parse_parts(sums, guard + FRAME_GUARD_RUNS_OFF);
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
    free(sums->runs);
    free(sums->sizes);
    free(sums->index);
    free(sums);
}

bool frame_sums_have(const struct frame_sums *sums, uint64_t place)
{
    size_t low = 0;
    size_t high = sums->nruns;

    /* Find the first run that ends behind the place. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sums->runs[middle].off + sums->runs[middle].len <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low == sums->nruns || sums->runs[low].off > place;
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
