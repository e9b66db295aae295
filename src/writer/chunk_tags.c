/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/chunk_tags.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

void chunk_tags_free(struct chunk_tags *tags)
{
    free(tags->tags);
    *tags = (struct chunk_tags){ 0 };
}

static void forget(struct chunk_tags *tags)
{
    chunk_tags_free(tags);
    tags->unknown = true;
}

/* Make room for `n` tags.  Returns false if there are none any more. */
static bool reserve(struct chunk_tags *tags, uint64_t n)
{
    size_t capacity = tags->capacity + tags->capacity / 2;
    uint32_t *more;

    if (n <= tags->capacity)
        return true;
    if (n > FRAME_TAGS_MAX) {
        forget(tags);
        return false;
    }
    if (capacity < n)
        capacity = (size_t)n;
    more = realloc(tags->tags, capacity * sizeof(*more));
    if (!more) {
        forget(tags);
        return false;
    }
    tags->tags = more;
    tags->capacity = capacity;
    return true;
}

void chunk_tags_load(struct chunk_tags *tags, const struct frame_tags *from,
                     uint64_t nchunks)
{
    chunk_tags_free(tags);
    chunk_tags_splice(tags, 0, 0, nchunks, 0);
    for (size_t i = 0; from && !from->damaged && i < from->n && i < tags->n;
         i++)
        tags->tags[i] = load_le32(from->bytes + i * FRAME_TAG_LEN);
}

uint32_t chunk_tags_get(const struct chunk_tags *tags, uint64_t chunk_no)
{
    return chunk_no < tags->n ? tags->tags[chunk_no] : 0;
}

void chunk_tags_put(struct chunk_tags *tags, uint64_t first, uint64_t n,
                    uint32_t tag)
{
    for (uint64_t i = first; i < first + n && i < tags->n; i++)
        tags->tags[i] = tag;
}

void chunk_tags_splice(struct chunk_tags *tags, uint64_t first,
                       uint64_t nremoved, uint64_t nadded, uint32_t tag)
{
    size_t behind;

    if (tags->unknown || !reserve(tags, tags->n - nremoved + nadded))
        return;
    behind = tags->n - (size_t)first - (size_t)nremoved;
    if (behind > 0)
        memmove(tags->tags + first + nadded, tags->tags + first + nremoved,
                behind * sizeof(*tags->tags));
    tags->n = tags->n - (size_t)nremoved + (size_t)nadded;
    chunk_tags_put(tags, first, nadded, tag);
}

void chunk_tags_reorder(struct chunk_tags *tags, const uint64_t *order)
{
    uint32_t *now = malloc(tags->n * sizeof(*now) + 1);

    if (!now) {
        forget(tags);
        return;
    }
    for (size_t i = 0; i < tags->n; i++)
        now[i] = tags->tags[order[i]];
    free(tags->tags);
    tags->tags = now;
    tags->capacity = tags->n;
}

void chunk_tags_revive(struct chunk_tags *tags, uint64_t nchunks)
{
    if (tags->unknown && nchunks <= FRAME_TAGS_MAX)
        chunk_tags_load(tags, NULL, nchunks);
}

void chunk_tags_encode(const struct chunk_tags *tags, size_t n, uint8_t *dst)
{
    for (size_t i = 0; i < n; i++)
        store_le32(dst + i * FRAME_TAG_LEN, chunk_tags_get(tags, i));
}
