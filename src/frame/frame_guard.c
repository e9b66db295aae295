/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_format.h"
#include "frame/frame_layer_sums.h"
#include "frame/frame_tags.h"

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

/* Find what an intact guard would say of index, tags and metalayers. */
static int find_parts(struct frame *frame, struct frame_guard *stored,
                      const uint8_t *index, size_t index_len,
                      struct frame_sums *found)
{
    struct fault ignored;
    int r = frame_sums_of_index(index, index_len, found);

    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    found->tags =
        frame_sums_of_bytes(index + index_len, frame->ntags * FRAME_TAG_LEN);
    r = frame_find_layers(frame, found, &ignored);
    stored->has_layers = r == 0;
    stored->found = found;
    return r == -ENOMEM ? r : 0;
}

/* Make the guard again from the rest of the frame. */
static int remake(struct frame *frame, struct frame_guard *stored,
                  const uint8_t *index, size_t index_len, struct fault *fault)
{
    struct frame_sums found = { 0 };
    int r = find_parts(frame, stored, index, index_len, &found);

    if (r == 0)
        r = frame_sums_mend(stored, &frame->sums);
    frame->guard_damaged = r == 0;
    free(found.index);
    free(found.layers);
    if (r == -EBADMSG)
        return mismatch(frame, fault);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* The fingerprint refutes the guard: read the index and the tags behind it. */
static int mend(struct frame *frame, struct frame_guard *stored,
                size_t index_len, struct fault *fault)
{
    size_t len = index_len + frame->ntags * FRAME_TAG_LEN;
    uint8_t *bytes;
    int r;

    if (len > index_max)
        return mismatch(frame, fault);
    bytes = malloc(len);
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_read_at(frame, frame->base + frame_index_off(&frame->info), bytes,
                      len, fault);
    if (r == 0)
        r = remake(frame, stored, bytes, index_len, fault);
    free(bytes);
    return r;
}

/* Compare the guard with the fingerprint. */
static int check_guard(struct frame *frame, struct frame_guard *stored,
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
        return mend(frame, stored, index_len, fault);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Take the tags, if they were read with the ends of the frame.  If they do not
   match their sum, frame_get_tags() reads them again. */
static int keep_tags(struct frame *frame, const struct frame_ends *ends,
                     struct fault *fault)
{
    uint8_t bytes[sizeof(ends->head)];
    size_t len = frame->ntags * FRAME_TAG_LEN;

    if (len > sizeof(bytes) ||
        !copy_ends(frame, ends, frame->tags_off - frame->base, bytes, len) ||
        frame_sums_of_bytes(bytes, len) != frame->sums->tags)
        return 0;
    frame->tags = frame_tags_new(bytes, frame->ntags);
    return frame->tags ? 0 : fault_set(fault, -ENOMEM, 0, NULL);
}

/* Find tags and guard, which lie between index and stamp. */
static int find_guard(struct frame *frame, const struct frame_ends *ends,
                      uint32_t *index_len, uint64_t *off, struct fault *fault)
{
    if (ends->head_len < CHUNK_SHORT_HEADER_LEN || frame->stamp_off == 0)
        return mismatch(frame, fault);
    *index_len = load_le32(ends->head + CHUNK_OFF_CBYTES);
    frame->ntags = frame_sums_ntags(load_le32(ends->head + CHUNK_OFF_NBYTES) /
                                    FRAME_INDEX_TYPESIZE);
    frame->tags_off = frame->base + frame_index_off(&frame->info) + *index_len;
    *off = frame->tags_off - frame->base + frame->ntags * FRAME_TAG_LEN;
    if (*off > frame->stamp_off ||
        frame->stamp_off - *off > FRAME_GUARD_LEN_MAX)
        return mismatch(frame, fault);
    return 0;
}

static int read_guard(struct frame *frame, const struct frame_ends *ends,
                      const uint8_t *fingerprint, struct fault *fault)
{
    struct frame_guard stored = { .info = &frame->info,
                                  .fingerprint = fingerprint };
    uint32_t index_len = 0;
    uint64_t off = 0;
    uint8_t *bytes;
    int r = find_guard(frame, ends, &index_len, &off, fault);

    if (r < 0)
        return r;
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
    return r == 0 ? keep_tags(frame, ends, fault) : r;
}

/* Does the frame have a guard of another kind, which an earlier or a later
   version of framefs has written?  All other kinds are right behind the index.
   They are ignored. */
static bool has_other_kind(struct frame *frame)
{
    const size_t same_len = FRAME_GUARD_MAGIC_LEN - 1;
    uint8_t magic[FRAME_GUARD_MAGIC_LEN];
    struct fault ignored;

    return frame->tags_off > 0 &&
           frame_read_at(frame, frame->tags_off, magic, sizeof(magic),
                         &ignored) == 0 &&
           memcmp(magic, FRAME_GUARD_MAGIC, same_len) == 0 &&
           magic[same_len] != FRAME_GUARD_MAGIC[same_len];
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
    if (r == -EBADMSG && has_other_kind(frame))
        return 0;
    if (r == 0 && type != FRAME_FINGERPRINT_128)
        frame->guard_damaged = true;
    return r == -EBADMSG && frame->unchecked ? 0 : r;
}
