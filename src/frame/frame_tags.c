/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_tags.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/chunk_sums.h"
#include "frame/frame_chunk_private.h"

static struct frame_tags *alloc(size_t n)
{
    struct frame_tags *tags = malloc(sizeof(*tags) + n * FRAME_TAG_LEN);

    if (tags) {
        tags->damaged = false;
        tags->n = n;
    }
    return tags;
}

struct frame_tags *frame_tags_new(const uint8_t *bytes, size_t n)
{
    struct frame_tags *tags = alloc(n);

    if (tags && n > 0)
        memcpy(tags->bytes, bytes, n * FRAME_TAG_LEN);
    return tags;
}

/* Read the tags; another program may be overwriting them. */
static int read_tags(struct frame *frame, struct frame_tags *tags,
                     struct fault *fault)
{
    struct chunk_settling settling = { 0 };
    size_t len = tags->n * FRAME_TAG_LEN;
    int r;

    do {
        r = frame_read_at(frame, frame->tags_off, tags->bytes, len, fault);
        if (r == 0 &&
            frame_sums_of_bytes(tags->bytes, len) != frame->sums->tags)
            r = fault_set_mismatch(fault, frame->tags_off, -1);
    } while (frame_chunk_settle(frame->object, r, &settling, fault));
    return frame_check_kept(frame, r, fault);
}

/* Read the tags, and keep them.  Tags that the disk cannot read are damaged,
   too, because the chunks may be right. */
static int load(struct frame *frame, struct fault *fault)
{
    struct frame_tags *tags = alloc(frame->ntags);
    struct frame_tags *none = NULL;
    int r;

    if (!tags)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = read_tags(frame, tags, fault);
    tags->damaged = r == -EBADMSG || r == -EIO;
    if (r == 0 || tags->damaged) {
        if (atomic_compare_exchange_strong(&frame->tags, &none, tags))
            return 0;
        r = 0;
    }
    free(tags);
    return r;
}

int frame_get_tags(struct frame *frame, const struct frame_tags **out,
                   struct fault *fault)
{
    int r = 0;

    *out = NULL;
    if (!frame->sums || frame->unchecked || frame->ntags == 0)
        return 0;
    if (!frame->tags)
        r = load(frame, fault);
    if (r == 0)
        *out = frame->tags;
    return r;
}

int frame_get_tag(struct frame *frame, uint64_t chunk_no, uint32_t *out,
                  struct fault *fault)
{
    const struct frame_tags *tags;
    int r = frame_get_tags(frame, &tags, fault);

    *out = 0;
    if (r == 0 && tags && !tags->damaged && chunk_no < tags->n)
        *out = load_le32(tags->bytes + chunk_no * FRAME_TAG_LEN);
    return r;
}

/* Read all blocks, and put their sums into the record. */
static int sum_blocks(const struct tagged_chunk *tagged, uint8_t *record)
{
    uint32_t n = chunk_sums_begin(tagged->chunk, record);
    uint8_t *bytes = NULL;
    int r = 0;

    for (uint32_t i = 0; i < n && r == 0; i++) {
        uint32_t off;
        uint32_t len;
        uint8_t *larger;

        chunk_block_extent(tagged->chunk, i, &off, &len);
        larger = realloc(bytes, (size_t)len + 1);
        if (!larger) {
            r = -ENOMEM;
            break;
        }
        bytes = larger;
        r = store_object_read_at(tagged->object, tagged->off + off, bytes, len);
        if (r == 0)
            chunk_sums_set_block(record, i, bytes, len);
    }
    free(bytes);
    return r;
}

int frame_tags_remake_record(const struct tagged_chunk *tagged, uint8_t *record)
{
    const struct chunk_header *header = chunk_get_header(tagged->chunk);
    int r = sum_blocks(tagged, record);

    if (r < 0)
        return r == -ENODATA ? 0 : r;
    chunk_sums_move(tagged->chunk, tagged->head, tagged->place, record);
    return chunk_sums_tag(record, chunk_sums_len(header)) == tagged->tag;
}
