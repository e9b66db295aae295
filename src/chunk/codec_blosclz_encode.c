/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "chunk/codec_blosclz.h"

enum {
    LONG_MATCH = 9,  /* from this length on, further bytes hold the rest */
    NEAR_MIN = 5,    /* least length of a near match, because shorter ones
                          slow down decoding for little gain */
    FAR_MIN = 7,     /* the same for a far match */
    NEAR_MAX = 8191, /* largest distance that two bytes hold */
    FAR_MAX = 8192 + 65535,
    TAIL = 12, /* no match starts here, so that eight bytes can be read */
    TABLE_BITS = 14,
    MISSES_A_BYTE = 32, /* misses that one saved byte makes up for */
};

/* When and how far the search skips bytes, see leap(). */
enum {
    PATIENCE = 512,     /* places to search before the first leap */
    PATIENCE_NEXT = 64, /* places to search before each further one */
    SEARCH_MAX = 64,    /* most places that count for one match */
    WORTH = 4,          /* places that a saved byte is worth */
    LEAP_MIN = 256,     /* bytes that the first leap skips, doubled each time */
    NLEAPS = 16         /* a leap is at most this part of the stream */
};

/*
 * A slot holds the position at which a sequence with that hash was last seen.
 * Positions go on counting from stream to stream.  So the table need not be
 * cleared: entries of earlier streams are too far back to be taken for a match.
 */
struct blosclz_encoder {
    uint32_t base; /* position of the first byte of the stream */
    uint32_t slots[1 << TABLE_BITS];
};

/* By level: each 2^skip_shift misses make the step one byte longer. */
static const uint8_t skip_shifts[10] = { 0, 7, 7, 7, 7, 7, 7, 8, 8, 8 };

/* The stream to encode. */
struct stream {
    struct blosclz_encoder *encoder;
    unsigned skip_shift;
    const uint8_t *src;
    const uint8_t *end;
};

struct match {
    const uint8_t *start;
    size_t len;
    size_t distance;
};

/* The cost and gain of matches since the last leap. */
struct tally {
    size_t nlooks;
    size_t saved;
    size_t patience; /* places to search before the next leap */
    size_t leap;     /* bytes that it skips */
};

/* The rest of the room for encoded bytes. */
struct output {
    uint8_t *pos;
    uint8_t *end;
};

/* Move the base so far that every slot is too far back for the next stream. */
static void advance(struct blosclz_encoder *encoder, size_t len)
{
    encoder->base += (uint32_t)len + FAR_MAX + 1;
    if (encoder->base < INT32_MAX)
        return;

    memset(encoder->slots, 0, sizeof(encoder->slots));
    encoder->base = FAR_MAX + 1;
}

/* Return the slot of the five bytes at `bytes`; many sequences of four recur by
   chance. */
static inline uint32_t *slot_of(const struct stream *stream,
                                const uint8_t *bytes)
{
    uint64_t hash = (load_le64(bytes) << 24) * 0x9e3779b97f4a7c15u;

    return &stream->encoder->slots[hash >> (64 - TABLE_BITS)];
}

static inline uint32_t position_of(const struct stream *stream,
                                   const uint8_t *bytes)
{
    return stream->encoder->base + (uint32_t)(bytes - stream->src);
}

/* Count the bytes from `a` on that equal those from `b` on; `a` < `b`. */
static inline size_t common_len(const uint8_t *a, const uint8_t *b,
                                const uint8_t *end)
{
    const uint8_t *start = b;

    for (; end - b >= 8; a += 8, b += 8) {
        uint64_t diff = load_le64(a) ^ load_le64(b);

        if (diff)
            return (size_t)(b - start) + (size_t)__builtin_ctzll(diff) / 8;
    }
    while (b < end && *a == *b) {
        a++;
        b++;
    }
    return (size_t)(b - start);
}

static bool put_literals(struct output *out, const uint8_t *src, size_t len)
{
    size_t left = (size_t)(out->end - out->pos);

    if (len + (len + CODEC_BLOSCLZ_LITERALS_MAX - 1) /
                  CODEC_BLOSCLZ_LITERALS_MAX >
        left)
        return false;

    while (len > 0) {
        size_t run =
            len < CODEC_BLOSCLZ_LITERALS_MAX ? len : CODEC_BLOSCLZ_LITERALS_MAX;

        *out->pos++ = (uint8_t)(run - 1);
        memcpy(out->pos, src, run);
        out->pos += run;
        src += run;
        len -= run;
    }
    return true;
}

static bool put_match(struct output *out, size_t len, size_t distance)
{
    bool far = distance > NEAR_MAX;
    size_t code = far ? NEAR_MAX : distance - 1;
    uint8_t *pos = out->pos;

    if ((size_t)(out->end - pos) < 6 + len / 255)
        return false;

    if (len < LONG_MATCH) {
        *pos++ = (uint8_t)((len - 2) << 5 | code >> 8);
    } else {
        *pos++ = (uint8_t)(7 << 5 | code >> 8);
        for (len -= LONG_MATCH; len >= 255; len -= 255)
            *pos++ = 255;
        *pos++ = (uint8_t)len;
    }
    *pos++ = (uint8_t)code;
    if (far) {
        *pos++ = (uint8_t)((distance - NEAR_MAX - 1) >> 8);
        *pos++ = (uint8_t)(distance - NEAR_MAX - 1);
    }
    out->pos = pos;
    return true;
}

/*
 * Extend a match of four bytes at `here` in both directions, but not to before
 * `anchor`.  Returns true, with the match, if it is then long enough.
 */
static inline bool extend_match(const struct stream *stream,
                                const uint8_t *anchor, const uint8_t *here,
                                size_t distance, struct match *out)
{
    const uint8_t *stop =
        here + 4 + common_len(here + 4 - distance, here + 4, stream->end - 1);
    const uint8_t *start = here < anchor ? anchor : here;

    while (start > anchor && start - distance > stream->src &&
           start[-1] == *(start - distance - 1))
        start--;
    if (stop - start < (distance > NEAR_MAX ? FAR_MIN : NEAR_MIN))
        return false;

    *out = (struct match){ start, (size_t)(stop - start), distance };
    return true;
}

/*
 * Find the next match that is worth taking.  The search begins at `from`; the
 * match does not begin before `anchor`.  `misses` goes up by one for each place
 * searched in vain.
 */
static inline bool find_match(const struct stream *stream,
                              const uint8_t *anchor, const uint8_t *from,
                              size_t *misses, struct match *out)
{
    const uint8_t *stop = stream->end - TAIL;
    unsigned skip_shift = stream->skip_shift;

    for (const uint8_t *here = from; here < stop;
         here += 1 + ((*misses)++ >> skip_shift)) {
        uint32_t *slot = slot_of(stream, here);
        uint32_t position = position_of(stream, here);
        size_t distance = position - *slot;

        *slot = position;
        if (distance <= FAR_MAX &&
            load_le32(here) == load_le32(here - distance) &&
            extend_match(stream, anchor, here, distance, out))
            return true;
    }
    return false;
}

/* Return how many bytes a match saves, counting the control byte of the
   literals after it. */
static size_t savings(const struct match *match)
{
    size_t least = match->distance > NEAR_MAX ? FAR_MIN : NEAR_MIN;

    return match->len - least + 2;
}

/*
 * Return how many misses still count after a match.  Steps grow while matches
 * are few or save little, so that data that hardly compresses takes little
 * time.  They shrink again where matches pay.
 */
static size_t misses_left(size_t misses, const struct match *match)
{
    size_t paid = savings(match) * MISSES_A_BYTE;

    return misses > paid ? misses - paid : 0;
}

/* Add a match to the tally.  A long search counts as a short one, because its
   long steps cover many bytes in little time. */
static void count_match(struct tally *tally, size_t nlooks,
                        const struct match *match)
{
    tally->nlooks += nlooks < SEARCH_MAX ? nlooks : SEARCH_MAX;
    tally->saved += savings(match);
}

/*
 * Return where the search goes on after it has come to `from`.  Some planes of
 * numbers are noise of few values, in which many short matches save little.
 * They would take most of the time, in the decoder too.  So the search skips
 * bytes where it does not pay, and more of them each time.  It does not give up
 * altogether, because the rest may be better: shuffled bits often begin with
 * noise.
 */
static const uint8_t *leap(const struct stream *stream, struct tally *tally,
                           const uint8_t *from)
{
    size_t leap_max = (size_t)(stream->end - stream->src) / NLEAPS;
    size_t len = tally->leap < leap_max ? tally->leap : leap_max;

    if (tally->nlooks < tally->patience)
        return from;
    if (tally->saved * WORTH >= tally->nlooks) {
        tally->leap = LEAP_MIN;
        return from;
    }
    *tally = (struct tally){ .patience = PATIENCE_NEXT, .leap = 2 * len };
    return len < (size_t)(stream->end - from) ? from + len : stream->end;
}

static bool encode(const struct stream *stream, struct output *out)
{
    const uint8_t *anchor = stream->src; /* all bytes before it are written */
    const uint8_t *from = anchor + 1;    /* because literals come first */
    struct tally tally = { .patience = PATIENCE, .leap = LEAP_MIN };
    size_t misses = 0;
    size_t before = 0;
    struct match match;

    while (find_match(stream, anchor, from, &misses, &match)) {
        if (!put_literals(out, anchor, (size_t)(match.start - anchor)) ||
            !put_match(out, match.len, match.distance))
            return false;
        count_match(&tally, misses - before + 1, &match);
        misses = misses_left(misses, &match);
        before = misses;

        /* In data of long runs, only sequences that straddle the border between
           two runs lead to an earlier match, so the table needs this one. */
        anchor = match.start + match.len;
        from = anchor - 1;
        if (from < stream->end - TAIL)
            *slot_of(stream, from - 1) = position_of(stream, from - 1);
        from = leap(stream, &tally, from);
    }
    return put_literals(out, anchor, (size_t)(stream->end - anchor));
}

static struct blosclz_encoder *ready_encoder(struct codec_context *context)
{
    struct blosclz_encoder *encoder = context->encoder;

    if (!encoder) {
        encoder = calloc(1, sizeof(*encoder));
        if (encoder)
            encoder->base = FAR_MAX + 1;
        context->encoder = encoder;
    }
    return encoder;
}

ssize_t codec_blosclz_encode(const struct codec_stream *job)
{
    struct blosclz_encoder *encoder = ready_encoder(job->context);
    struct stream stream = {
        .encoder = encoder,
        .skip_shift = skip_shifts[job->level],
        .src = job->src,
        .end = job->src + job->src_len,
    };
    struct output out = { .pos = job->dst, .end = job->dst + job->dst_len };
    bool fits;

    if (!encoder)
        return -ENOMEM;
    if (job->src_len <= TAIL)
        return 0;

    fits = encode(&stream, &out);
    advance(encoder, job->src_len);
    if (!fits)
        return 0;

    job->dst[0] |= 1 << 5; /* marks the level of the format */
    return out.pos - job->dst;
}

void codec_blosclz_fini(struct codec_context *context)
{
    free(context->encoder);
}
