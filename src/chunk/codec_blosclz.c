/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/codec_blosclz.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/codec_private.h"
#include "chunk/repeat.h"

/*
 * Two loops decode a stream.  The first runs while the ends of input and output
 * are both far.  It copies more bytes than it needs, because the next
 * instruction overwrites the surplus, and so needs few checks.  The second loop
 * checks every step.  It takes over near an end, and it alone decides whether a
 * stream ends correctly.
 *
 * Format: Codecs inside Blosc2 chunks, 5 "BloscLZ".
 */
enum {
    CONTROL_LOW = 0x1f,   /* these bits of a control byte; above: length code */
    CONTROL_SHIFT = 5,    /* of the length code */
    CONTROL_MATCH = 0x20, /* lowest control byte of a match; below: literals */
    LENGTH_ADD = 2,       /* added to the length code */
    LENGTH_LONG = 7,      /* this length code: bytes to add follow */
    BYTE_MAX = 0xff,      /* such a byte to add: another one follows */
    FAR_DISTANCE = 8192,  /* added to a distance held in two more bytes */
};

/* The first loop touches fewer bytes than these from its position on. */
enum {
    SRC_MARGIN = CODEC_BLOSCLZ_LITERALS_MAX + 8,
    DST_MARGIN = 64
};

/* The first loop copies matches of up to LONG_MATCH bytes in steps of
   SHORT_MATCH bytes, because calling memcpy() pays only for longer ones. */
enum {
    SHORT_MATCH = 32,
    LONG_MATCH = 256
};

/* The state of decoding one stream. */
struct cursor {
    const uint8_t *src; /* next byte after the control byte */
    const uint8_t *src_end;
    uint8_t *dst;
    uint8_t *dst_start;
    uint8_t *dst_end;
    unsigned control; /* control byte of the next instruction */
};

struct match {
    size_t len;
    size_t distance;
};

/*
 * Read the length of a match, whose bytes must lie before `end`.  Returns the
 * position after them, or NULL if they reach `end`.
 */
static inline const uint8_t *read_length(unsigned control, const uint8_t *src,
                                         const uint8_t *end, size_t *len)
{
    unsigned code = control >> CONTROL_SHIFT;
    uint8_t more = code == LENGTH_LONG ? BYTE_MAX : 0;

    *len = code + LENGTH_ADD;
    while (more == BYTE_MAX) {
        if (src >= end)
            return NULL;
        more = *src++;
        *len += more;
    }
    return src;
}

/* Does one more byte complete the distance?  If not, three do. */
static inline bool is_near(unsigned control, const uint8_t *src)
{
    return (control & CONTROL_LOW) != CONTROL_LOW || *src != BYTE_MAX;
}

/* Read the distance of a match.  Returns the position after it. */
static inline const uint8_t *read_distance(unsigned control, const uint8_t *src,
                                           size_t *distance)
{
    if (is_near(control, src)) {
        *distance = (size_t)(control & CONTROL_LOW) * 256 + src[0] + 1;
        return src + 1;
    }
    *distance = FAR_DISTANCE + (size_t)load_be16(src + 1);
    return src + 3;
}

/* Repeat the 1 to 7 bytes before `dst`.  Writes up to 7 bytes too many. */
static inline void repeat_word(uint8_t *dst, size_t distance, size_t len)
{
    /* The factor that repeats the bytes across a word, and the number of bytes
       in that word that whole distances fill. */
    static const struct {
        uint64_t factor;
        uint8_t step;
    } by_distance[8] = {
        [1] = { 0x0101010101010101, 8 }, [2] = { 0x0001000100010001, 8 },
        [3] = { 0x0001000001000001, 6 }, [4] = { 0x0000000100000001, 8 },
        [5] = { 0x0000010000000001, 5 }, [6] = { 0x0001000000000001, 6 },
        [7] = { 0x0100000000000001, 7 },
    };
    uint64_t word =
        load_le64(dst - distance) << (64 - 8 * distance) >> (64 - 8 * distance);
    size_t step = by_distance[distance].step;

    word = htole64(word * by_distance[distance].factor);
    for (size_t i = 0; i < len; i += step)
        memcpy(dst + i, &word, sizeof(word));
}

/* Copy a match.  At least DST_MARGIN - SHORT_MATCH more bytes follow it. */
static inline void copy_match_wide(uint8_t *dst, const struct match *match)
{
    const uint8_t *from = dst - match->distance;

    if (match->distance >= 16 && match->len <= LONG_MATCH) {
        size_t i = 0;

        do {
            memcpy(dst + i, from + i, 16);
            memcpy(dst + i + 16, from + i + 16, 16);
            i += SHORT_MATCH;
        } while (i < match->len);
    } else if (match->distance == 1 && match->len > SHORT_MATCH) {
        memset(dst, *from, match->len);
    } else if (match->distance < 8) {
        repeat_word(dst, match->distance, match->len);
    } else if (match->len > SHORT_MATCH) {
        repeat_bytes(dst, match->distance, match->len);
    } else {
        for (size_t i = 0; i < match->len; i += 8)
            memcpy(dst + i, from + i, 8);
    }
}

/* Execute instructions while both ends are far. */
static int decode_wide(struct cursor *cursor)
{
    const uint8_t *src = cursor->src;
    const uint8_t *src_stop = cursor->src_end - SRC_MARGIN;
    uint8_t *dst = cursor->dst;
    uint8_t *dst_stop = cursor->dst_end - DST_MARGIN;
    unsigned control = cursor->control;

    while (src < src_stop && dst < dst_stop) {
        if (control < CONTROL_MATCH) {
            memcpy(dst, src, CODEC_BLOSCLZ_LITERALS_MAX);
            dst += control + 1;
            src += control + 1;
        } else {
            struct match match;
            const uint8_t *next =
                read_length(control, src, src_stop, &match.len);

            if (!next)
                break;
            next = read_distance(control, next, &match.distance);
            if (match.distance > (size_t)(dst - cursor->dst_start))
                return -EBADMSG;
            if (match.len > SHORT_MATCH && match.len > (size_t)(dst_stop - dst))
                break;
            copy_match_wide(dst, &match);
            dst += match.len;
            src = next;
        }
        control = *src++;
    }

    cursor->src = src;
    cursor->dst = dst;
    cursor->control = control;
    return 0;
}

static int decode_literals(struct cursor *cursor)
{
    size_t len = cursor->control + 1;

    if (len > (size_t)(cursor->src_end - cursor->src) ||
        len > (size_t)(cursor->dst_end - cursor->dst))
        return -EBADMSG;
    memcpy(cursor->dst, cursor->src, len);
    cursor->src += len;
    cursor->dst += len;
    return 0;
}

/* A match is never the last instruction, so a byte must follow its own. */
static int decode_match(struct cursor *cursor)
{
    const uint8_t *last = cursor->src_end - 1;
    const uint8_t *src = cursor->src;
    struct match match;

    src = read_length(cursor->control, src, last, &match.len);
    if (!src || src >= last ||
        (!is_near(cursor->control, src) && last - src < 3))
        return -EBADMSG;
    src = read_distance(cursor->control, src, &match.distance);
    if (match.distance > (size_t)(cursor->dst - cursor->dst_start) ||
        match.len > (size_t)(cursor->dst_end - cursor->dst))
        return -EBADMSG;

    repeat_bytes(cursor->dst, match.distance, match.len);
    cursor->src = src;
    cursor->dst += match.len;
    return 0;
}

/* Execute the instructions up to the end of the stream. */
static int decode_rest(struct cursor *cursor)
{
    for (;;) {
        bool is_match = cursor->control >= CONTROL_MATCH;
        int r = is_match ? decode_match(cursor) : decode_literals(cursor);

        if (r < 0)
            return r;
        if (cursor->src == cursor->src_end)
            return cursor->dst == cursor->dst_end ? 0 : -EBADMSG;
        cursor->control = *cursor->src++;
    }
}

static int decode(const struct codec_stream *stream)
{
    struct cursor cursor = {
        .src = stream->src + 1,
        .src_end = stream->src + stream->src_len,
        .dst = stream->dst,
        .dst_start = stream->dst,
        .dst_end = stream->dst + stream->dst_len,
        .control = stream->src[0] & CONTROL_LOW, /* it starts with literals */
    };

    if (stream->src_len > SRC_MARGIN && stream->dst_len > DST_MARGIN) {
        int r = decode_wide(&cursor);

        if (r < 0)
            return r;
    }
    return decode_rest(&cursor);
}

const struct codec codec_blosclz = {
    .id = CODEC_BLOSCLZ,
    .name = "blosclz",
    .split_below = CODEC_LEVEL_MAX + 1,
    .trial_levels = { 5 },
    .decode = decode,
    .encode = codec_blosclz_encode,
    .fini = codec_blosclz_fini,
};
