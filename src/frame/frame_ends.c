/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "frame/frame_private.h"

enum {
    FRAME_END_LEN = 512, /* end of the frame: holds most trailers, the
                            stamp, and most guards */
};

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

/* First and last bytes behind the chunks, as read. */
struct ends {
    uint8_t end[FRAME_END_LEN]; /* end of the frame; `end_len` bytes */
    size_t end_len;
    uint8_t head[INDEX_HEAD_LEN]; /* start of the index; `head_len` bytes */
    size_t head_len;
};

static int open_index(struct frame *frame, const struct ends *ends,
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
static int read_bytes(struct frame *frame, struct ends *ends,
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

static int parse_end(struct frame *frame, const struct ends *ends,
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

static bool has_own_stamp(const struct frame *frame)
{
    return frame->stamp_off > 0 &&
           memcmp(frame->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0;
}

/*
 * Find the bytes that tell this state from others with the same header.  If
 * framefs wrote the frame, they are its stamp; otherwise they are the end of
 * the index, or whatever another program left there.
 */
static int find_stamp(struct frame *frame, const struct ends *ends,
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
    if (r == 0 && has_own_stamp(frame))
        frame->stamp_number = load_le64(frame->stamp + FRAME_STAMP_MAGIC_LEN);
    return r;
}

/* Copy bytes of the frame that were read with its ends. */
static bool copy_ends(const struct frame *frame, const struct ends *ends,
                      uint64_t off, uint8_t *dst, size_t len)
{
    uint64_t end_off = frame->info.frame_len - ends->end_len;
    uint64_t head_off = frame_index_off(&frame->info);

    if (off >= end_off)
        memcpy(dst, ends->end + (off - end_off), len);
    else if (size_within(off - head_off, len, ends->head_len))
        memcpy(dst, ends->head + (off - head_off), len);
    else
        return false;
    return true;
}

static int mismatch(const struct frame *frame, struct fault *fault)
{
    return frame_fault(frame, -EBADMSG,
                       frame->base + frame->info.frame_len -
                           FRAME_FINGERPRINT_LEN,
                       "header or index do not match the fingerprint", fault);
}

/* Compare the guard with the fingerprint. */
static int check_guard(struct frame *frame, const uint8_t *guard, size_t len,
                       const uint8_t *fingerprint, struct fault *fault)
{
    uint8_t right[FRAME_FINGERPRINT_LEN];
    int r = frame_sums_fingerprint(&frame->info, guard, len, right);

    if (r == 0 && !frame_sums_is_fingerprint(fingerprint, right))
        return mismatch(frame, fault);
    if (r == 0)
        r = frame_sums_parse(guard, len, &frame->sums);
    return r == -EBADMSG ? mismatch(frame, fault) : r;
}

/* Read the guard, which lies between index and stamp. */
static int read_guard(struct frame *frame, const struct ends *ends,
                      const uint8_t *fingerprint, struct fault *fault)
{
    uint64_t off = frame_index_off(&frame->info);
    uint64_t len;
    uint8_t *guard;
    int r = 0;

    if (ends->head_len < CHUNK_SHORT_HEADER_LEN || frame->stamp_off == 0)
        return mismatch(frame, fault);
    off += load_le32(ends->head + CHUNK_OFF_CBYTES);
    if (off > frame->stamp_off || frame->stamp_off - off > FRAME_GUARD_LEN_MAX)
        return mismatch(frame, fault);
    len = frame->stamp_off - off;
    guard = malloc(len + 1);
    if (!guard)
        return fault_set(fault, -ENOMEM, 0, NULL);
    if (!copy_ends(frame, ends, off, guard, len))
        r = frame_read_at(frame, frame->base + off, guard, len, fault);
    if (r == 0)
        r = check_guard(frame, guard, len, fingerprint, fault);
    free(guard);
    return r;
}

/* Find out whether sums are in force.  What is said only by a fingerprint that
   another program may have written is ignored. */
static int read_sums(struct frame *frame, const struct ends *ends,
                     struct fault *fault)
{
    const uint8_t *end = ends->end + ends->end_len - FRAME_TRAILER_END_LEN;
    uint8_t type = end[FRAME_FINGERPRINT_TYPE_OFF];
    int r;

    if (frame->info.format != FRAME_FORMAT_E || frame->info.nbytes == 0 ||
        type == FRAME_FINGERPRINT_NONE)
        return 0;
    if (type == FRAME_FINGERPRINT_128)
        r = read_guard(frame, ends, end + FRAME_FINGERPRINT_OFF, fault);
    else
        r = has_own_stamp(frame) ? mismatch(frame, fault) : 0;
    return r == -EBADMSG && frame->unchecked ? 0 : r;
}

int frame_read_ends(struct frame *frame, struct fault *fault)
{
    struct ends ends;
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
    r = read_sums(frame, &ends, fault);
    return r < 0 ? r : open_index(frame, &ends, fault);
}
