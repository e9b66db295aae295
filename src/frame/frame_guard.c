/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"

/* A guard is not made again from a longer index. */
static const size_t index_max = (size_t)64 << 20;

bool frame_has_own_stamp(const struct frame *frame)
{
    return frame->stamp_off > 0 &&
           memcmp(frame->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0;
}

/* Copy bytes of the frame that were read with its ends. */
static bool copy_ends(const struct frame *frame, const struct frame_ends *ends,
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

/* Make the guard again. */
static int mend(struct frame *frame, const struct frame_guard *stored,
                size_t index_len, struct fault *fault)
{
    uint8_t *index;
    int r;

    if (index_len > index_max)
        return mismatch(frame, fault);
    index = malloc(index_len);
    if (!index)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, frame->base + frame_index_off(&frame->info), index,
                      index_len, fault);
    if (r == 0) {
        r = frame_sums_mend(&frame->info, stored, index, index_len,
                            &frame->sums);
        frame->guard_damaged = r == 0;
        if (r == -EBADMSG)
            mismatch(frame, fault);
        else if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    free(index);
    return r;
}

/* Compare the guard with the fingerprint. */
static int check_guard(struct frame *frame, const struct frame_guard *stored,
                       size_t index_len, struct fault *fault)
{
    uint8_t right[FRAME_FINGERPRINT_LEN];
    int r =
        frame_sums_fingerprint(&frame->info, stored->bytes, stored->len, right);

    if (r == 0 && !frame_sums_is_fingerprint(stored->fingerprint, right))
        return mend(frame, stored, index_len, fault);
    if (r == 0)
        r = frame_sums_parse(stored->bytes, stored->len, &frame->sums);
    if (r == 0)
        frame->guard_damaged =
            memcmp(stored->fingerprint, right, sizeof(right)) != 0;
    if (r == -EBADMSG)
        return mismatch(frame, fault);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Read the guard, which lies between index and stamp. */
static int read_guard(struct frame *frame, const struct frame_ends *ends,
                      const uint8_t *fingerprint, struct fault *fault)
{
    uint64_t off = frame_index_off(&frame->info);
    struct frame_guard stored = { .fingerprint = fingerprint };
    uint32_t index_len;
    uint8_t *bytes;
    int r = 0;

    if (ends->head_len < CHUNK_SHORT_HEADER_LEN || frame->stamp_off == 0)
        return mismatch(frame, fault);
    index_len = load_le32(ends->head + CHUNK_OFF_CBYTES);
    off += index_len;
    if (off > frame->stamp_off || frame->stamp_off - off > FRAME_GUARD_LEN_MAX)
        return mismatch(frame, fault);
    stored.len = (size_t)(frame->stamp_off - off);
    bytes = malloc(stored.len + 1);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    if (!copy_ends(frame, ends, off, bytes, stored.len))
        r = frame_read_at(frame, frame->base + off, bytes, stored.len, fault);
    stored.bytes = bytes;
    if (r == 0)
        r = check_guard(frame, &stored, index_len, fault);
    free(bytes);
    return r;
}

int frame_read_sums(struct frame *frame, const struct frame_ends *ends,
                    struct fault *fault)
{
    const uint8_t *end = ends->end + ends->end_len - FRAME_TRAILER_END_LEN;
    uint8_t type = end[FRAME_FINGERPRINT_TYPE_OFF];
    int r;

    if (frame->info.format != FRAME_FORMAT_E || frame->info.nbytes == 0 ||
        type == FRAME_FINGERPRINT_NONE)
        return 0;
    /* framefs writes no other type, so this one is damaged. */
    if (type != FRAME_FINGERPRINT_128 && !frame_has_own_stamp(frame))
        return 0;
    r = read_guard(frame, ends, end + FRAME_FINGERPRINT_OFF, fault);
    if (r == 0 && type != FRAME_FINGERPRINT_128)
        frame->guard_damaged = true;
    return r == -EBADMSG && frame->unchecked ? 0 : r;
}
