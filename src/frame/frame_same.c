/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdatomic.h>

#include "base/bytes.h"
#include "frame/frame_private.h"
#include "frame/frame_tags.h"

/* Stamps of one frame on a server begin with a random number, and differ by
   less than this.  Those of local frames, which use ids again, begin with 1. */
static const uint64_t STAMPS_MAX = UINT64_C(1) << 32;

bool frame_may_share_chunks(const struct frame *was, const struct frame *is)
{
    const struct frame_info *a = &was->info;
    const struct frame_info *b = &is->info;

    return store_names_once(is->store) && a->sparse && b->sparse &&
           !was->walk && !is->walk && a->chunksize > 0 &&
           a->chunksize == b->chunksize && a->typesize == b->typesize &&
           a->blocksize == b->blocksize && a->vlblocks == b->vlblocks;
}

/* Has framefs made a state of an earlier one, with all commits in between, on a
   server?  Then no id was used twice. */
static bool is_later_state(const struct frame *was, const struct frame *is)
{
    return was->stamp_number > STAMPS_MAX && is->stamp_number > STAMPS_MAX &&
           is->stamp_number - was->stamp_number < STAMPS_MAX;
}

/* The decoded size of a chunk of a frame whose chunks have one size. */
static uint64_t size_of(const struct frame *frame, uint64_t chunk_no)
{
    uint64_t rest = frame->info.nbytes - chunk_no * frame->info.chunksize;

    return rest < frame->info.chunksize ? rest : frame->info.chunksize;
}

/* The tag of a chunk, if it is in memory; 0: it is unknown. */
static uint32_t tag_of(struct frame *frame, uint64_t chunk_no)
{
    const struct frame_tags *tags = atomic_load(&frame->tags);

    if (!tags || tags->damaged || chunk_no >= tags->n)
        return 0;
    return load_le32(tags->bytes + chunk_no * FRAME_TAG_LEN);
}

/* Do both indexes have the same entry, which is that of a stored chunk? */
static bool has_same_entry(struct frame *was, struct frame *is,
                           uint64_t chunk_no)
{
    struct fault ignored;
    int64_t a;
    int64_t b;

    return index_read(was->index, chunk_no, 1, &a, &ignored) == 0 &&
           index_read(is->index, chunk_no, 1, &b, &ignored) == 0 &&
           frame_plain_entry(a) == frame_plain_entry(b) && a >= 0;
}

bool frame_has_same_chunk(struct frame *was, struct frame *is,
                          uint64_t chunk_no)
{
    const struct frame_tags *tags;
    struct fault ignored;
    uint32_t before;
    uint32_t now;

    if (chunk_no >= was->info.nchunks || chunk_no >= is->info.nchunks ||
        size_of(was, chunk_no) != size_of(is, chunk_no) ||
        !has_same_entry(was, is, chunk_no))
        return false;
    before = tag_of(was, chunk_no);
    if (before == 0 || frame_get_tags(is, &tags, &ignored) < 0)
        return before == 0 && is_later_state(was, is);
    now = tag_of(is, chunk_no);
    return now == 0 ? is_later_state(was, is) : now == before;
}
