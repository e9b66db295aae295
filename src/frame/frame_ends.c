/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "frame/frame_guard.h"

static int parse_trailer(struct frame *frame, const uint8_t *end,
                         struct fault *fault)
{
    int r =
        frame_header_trailer_len(&frame->info, end, &frame->trailer_len, fault);

    if (r < 0) {
        fault->off += frame->base;
        frame_fault_name(frame, fault);
    }
    return r;
}

static int open_index(struct frame *frame, const struct frame_ends *ends,
                      struct fault *fault)
{
    uint64_t off = frame_index_off(&frame->info);
    uint64_t end = frame->info.frame_len - frame->trailer_len;
    const bool checked = frame->sums && !frame->unchecked;
    const struct index_source source = {
        .object = frame->object,
        .off = frame->base + off,
        .end = frame->base + end,
        .head = ends->head,
        .head_len = ends->head_len,
        .sums = checked ? frame->sums->index : NULL,
        .sums_len = checked ? frame->sums->index_len : 0,
    };
    uint64_t nentries;
    int r;

    if (off > end)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_CBYTES_OFF,
                           "cbytes leaves no room for the index", fault);
    r = index_open(&source, &frame->index, fault);
    if (r < 0) {
        frame_fault_name(frame, fault);
        return r;
    }
    nentries = index_nentries(frame->index);
    if (frame->info.chunksize == 0)
        frame->info.nchunks = nentries;
    if (nentries != frame->info.nchunks)
        return frame_fault(frame, -EBADMSG, frame->base + off,
                           "the index has not one entry for each chunk", fault);
    return 0;
}

void frame_watch_state(const struct frame *frame, struct watch *watch)
{
    const struct watch_state state = {
        .header = frame->header,
        .len = frame->header_len,
        .stamp_off = frame->stamp_off,
        .stamp = frame->stamp,
    };

    watch_set(watch, &state, &frame->stat);
}

/* Read both in one call, the end before the index, because the end holds the
   stamp. */
static int read_bytes(struct frame *frame, struct frame_ends *ends,
                      struct fault *fault)
{
    const struct frame_info *info = &frame->info;
    uint64_t off = info->nbytes > 0 ? frame_index_off(info) : info->header_len;
    uint64_t rest;
    struct store_range ranges[2];

    if (off > info->frame_len)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_CBYTES_OFF,
                           "cbytes is larger than the frame", fault);
    rest = info->frame_len - off;
    ends->end_len = rest < sizeof(ends->end) ? (size_t)rest : sizeof(ends->end);
    ends->head_len =
        rest < sizeof(ends->head) ? (size_t)rest : sizeof(ends->head);
    ranges[0] =
        (struct store_range){ frame->base + info->frame_len - ends->end_len,
                              ends->end_len, ends->end };
    ranges[1] =
        (struct store_range){ frame->base + off, ends->head_len, ends->head };
    return frame_read_ranges(frame, ranges, info->nbytes > 0 ? 2 : 1, fault);
}

static int parse_end(struct frame *frame, const struct frame_ends *ends,
                     struct fault *fault)
{
    if (frame->info.format == FRAME_FORMAT_A)
        return 0;
    if (ends->end_len < FRAME_TRAILER_END_LEN)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_LEN_OFF,
                           "the frame has no room for a trailer", fault);
    return parse_trailer(
        frame, ends->end + ends->end_len - FRAME_TRAILER_END_LEN, fault);
}

/*
 * Find the bytes that tell this state from others with the same header.  If
 * framefs wrote the frame, they are its stamp; otherwise they are the end of
 * the index, or whatever another program left there.
 */
static int find_stamp(struct frame *frame, const struct frame_ends *ends,
                      struct fault *fault)
{
    const struct frame_info *info = &frame->info;
    uint64_t end = info->frame_len - frame->trailer_len;
    size_t behind = frame->trailer_len + FRAME_STAMP_LEN;
    int r = 0;

    if (info->nbytes == 0 || frame_index_off(info) + FRAME_STAMP_LEN > end)
        return 0;
    frame->stamp_off = end - FRAME_STAMP_LEN;
    if (behind > ends->end_len)
        r = frame_read_at(frame, frame->base + frame->stamp_off, frame->stamp,
                          FRAME_STAMP_LEN, fault);
    else
        memcpy(frame->stamp, ends->end + ends->end_len - behind,
               FRAME_STAMP_LEN);
    if (r == 0 && frame_has_own_stamp(frame))
        frame->stamp_number = load_le64(frame->stamp + FRAME_STAMP_MAGIC_LEN);
    return r;
}

int frame_read_ends(struct frame *frame, struct fault *fault)
{
    struct frame_ends ends;
    int r = read_bytes(frame, &ends, fault);

    if (r == 0)
        r = parse_end(frame, &ends, fault);
    if (r == 0)
        r = find_stamp(frame, &ends, fault);
    if (r < 0)
        return r;
    frame_watch_state(frame, frame->watch);
    if (frame->info.nbytes == 0)
        return 0;
    r = frame_read_sums(frame, &ends, fault);
    return r < 0 ? r : open_index(frame, &ends, fault);
}
