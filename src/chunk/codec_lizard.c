/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/codec_private.h"
#include "chunk/huffman.h"

/* Format: Snappy and Lizard, 3.  The numbers below are its sections. */
enum {
    LEVEL_MIN = 10, /* 3: the first byte of a stream */
    LEVEL_MAX = 49,
    BLOCK_MAX = 128 << 10, /* 3: decoded bytes of a block */
    LEN_LEN = 3,           /* 3.1: bytes of a length */
    RAW_BLOCK = 0x80,      /* 3.1: head of a block that is not compressed */
};

/* 3.1: the parts of a block that may be Huffman coded, in their order, and the
   bits of the head that say so. */
enum {
    OFFSETS16,
    OFFSETS24,
    TOKENS,
    LITERALS,
    NPARTS
};

static const uint8_t coded_bits[NPARTS] = { 0x04, 0x08, 0x02, 0x01 };

enum {
    CODED_LENGTHS = 0x10 /* of the part before these, which is not used */
};

/* The decoded parts of a block, in the context of the codec. */
struct parts {
    uint8_t bytes[NPARTS][BLOCK_MAX];
};

/* Bytes that are read from the first to the last. */
struct input {
    const uint8_t *bytes;
    size_t len;
};

/* A stream that is being decoded. */
struct decoder {
    struct parts *parts;
    bool has_offsets; /* 3: tokens of the kind with streams of offsets */
    struct input in;
    struct input part[NPARTS];
    uint8_t *dst;
    size_t dst_len;
    size_t pos;      /* bytes decoded */
    size_t distance; /* the last one in this block */
};

/* Take the next bytes; NULL if there are too few. */
static const uint8_t *take(struct input *in, size_t len)
{
    const uint8_t *bytes = in->bytes;

    if (len > in->len)
        return NULL;
    in->bytes += len;
    in->len -= len;
    return bytes;
}

/* Take a number of 1 to 3 bytes. */
static int take_number(struct input *in, size_t len, size_t *out)
{
    const uint8_t *bytes = take(in, len);

    if (!bytes)
        return -EBADMSG;
    *out = 0;
    for (size_t i = len; i-- > 0;)
        *out = *out << 8 | bytes[i];
    return 0;
}

static int take_part(struct input *in, struct input *out)
{
    if (take_number(in, LEN_LEN, &out->len) < 0)
        return -EBADMSG;
    out->bytes = take(in, out->len);
    return out->bytes ? 0 : -EBADMSG;
}

/* Take a part that is Huffman coded, and decode it into `bytes`. */
static int take_coded_part(struct input *in, uint8_t *bytes, struct input *out)
{
    struct input coded;
    size_t len;

    if (take_number(in, LEN_LEN, &len) < 0 || len > BLOCK_MAX ||
        take_part(in, &coded) < 0 || coded.len > len)
        return -EBADMSG;
    *out = (struct input){ bytes, len };
    if (coded.len == len) {
        *out = coded;
        return 0;
    }
    if (coded.len == 1) {
        memset(bytes, coded.bytes[0], len);
        return 0;
    }
    return huffman_decode(coded.bytes, coded.len, bytes, len);
}

/* 3.2 */
static int add_more(struct decoder *decoder, size_t *len)
{
    struct input *in = &decoder->part[LITERALS];
    size_t more;

    if (take_number(in, 1, &more) < 0)
        return -EBADMSG;
    if (more >= 254 && take_number(in, more - 252, &more) < 0)
        return -EBADMSG;
    *len += more;
    return 0;
}

static int copy_literals(struct decoder *decoder, struct input *in, size_t len)
{
    const uint8_t *bytes = take(in, len);

    if (!bytes || len > decoder->dst_len - decoder->pos)
        return -EBADMSG;
    memcpy(decoder->dst + decoder->pos, bytes, len);
    decoder->pos += len;
    return 0;
}

/* Copy earlier bytes, which the copy may overlap. */
static int copy_match(struct decoder *decoder, size_t len)
{
    uint8_t *dst = decoder->dst + decoder->pos;

    if (len == 0)
        return 0;
    if (decoder->distance == 0 || decoder->distance > decoder->pos ||
        len > decoder->dst_len - decoder->pos)
        return -EBADMSG;
    for (size_t i = 0; i < len; i++)
        dst[i] = dst[(ptrdiff_t)i - (ptrdiff_t)decoder->distance];
    decoder->pos += len;
    return 0;
}

/* Copy as many literals as a field of a token says; its highest value means
   that there are more. */
static int token_literals(struct decoder *decoder, size_t len, size_t highest)
{
    if (len == highest && add_more(decoder, &len) < 0)
        return -EBADMSG;
    return copy_literals(decoder, &decoder->part[LITERALS], len);
}

/* 3.3: a token of the kind that LZ4 has. */
static int decode_lz4_token(struct decoder *decoder, unsigned token)
{
    size_t len = token >> 4;

    if (token_literals(decoder, token & 15, 15) < 0 ||
        take_number(&decoder->part[LITERALS], 2, &decoder->distance) < 0)
        return -EBADMSG;
    if (len == 15 && add_more(decoder, &len) < 0)
        return -EBADMSG;
    return copy_match(decoder, len + 4);
}

/* 3.3: a token of the other kind. */
static int decode_token(struct decoder *decoder, unsigned token)
{
    size_t len = token >> 3 & 15;

    if (token < 32) {
        len = token == 31 ? 47 : 16 + token;
        if ((token == 31 && add_more(decoder, &len) < 0) ||
            take_number(&decoder->part[OFFSETS24], 3, &decoder->distance) < 0)
            return -EBADMSG;
        return copy_match(decoder, len);
    }
    if (token_literals(decoder, token & 7, 7) < 0)
        return -EBADMSG;
    if (token < 128 &&
        take_number(&decoder->part[OFFSETS16], 2, &decoder->distance) < 0)
        return -EBADMSG;
    if (len == 15 && add_more(decoder, &len) < 0)
        return -EBADMSG;
    return copy_match(decoder, len);
}

static int take_parts(struct decoder *decoder, unsigned head)
{
    struct input lengths;
    int r = head & CODED_LENGTHS ? -EBADMSG : take_part(&decoder->in, &lengths);

    for (size_t i = 0; i < NPARTS && r == 0; i++)
        r = head & coded_bits[i]
                ? take_coded_part(&decoder->in, decoder->parts->bytes[i],
                                  &decoder->part[i])
                : take_part(&decoder->in, &decoder->part[i]);
    return r;
}

static int decode_block(struct decoder *decoder)
{
    struct input *tokens = &decoder->part[TOKENS];
    struct input *literals = &decoder->part[LITERALS];
    struct input raw;
    size_t head;
    int r = take_number(&decoder->in, 1, &head);

    if (r == 0 && head == RAW_BLOCK) {
        r = take_part(&decoder->in, &raw);
        return r < 0 ? r : copy_literals(decoder, &raw, raw.len);
    }
    decoder->distance = 0;
    if (r == 0)
        r = take_parts(decoder, (unsigned)head);
    while (r == 0 && tokens->len > 0) {
        unsigned token = *take(tokens, 1);

        r = decoder->has_offsets ? decode_token(decoder, token)
                                 : decode_lz4_token(decoder, token);
    }
    return r < 0 ? r : copy_literals(decoder, literals, literals->len);
}

static int decode(const struct codec_stream *stream)
{
    struct codec_context *context = stream->context;
    unsigned level = stream->src[0];
    struct decoder decoder = {
        .has_offsets = (level >= 20 && level < 30) || level >= 40,
        .in = { stream->src + 1, stream->src_len - 1 },
        .dst = stream->dst,
        .dst_len = stream->dst_len,
    };
    int r = 0;

    if (level < LEVEL_MIN || level > LEVEL_MAX)
        return -EBADMSG;
    if (!context->decoder)
        context->decoder = malloc(sizeof(struct parts));
    decoder.parts = context->decoder;
    if (!decoder.parts)
        return -ENOMEM;
    while (r == 0 && decoder.in.len > 0) {
        size_t start = decoder.pos;

        r = decode_block(&decoder);
        if (r == 0 && decoder.pos - start > BLOCK_MAX)
            r = -EBADMSG;
    }
    return r == 0 && decoder.pos == stream->dst_len ? 0 : -EBADMSG;
}

static void fini(struct codec_context *context)
{
    free(context->decoder);
}

/* No current program reads such chunks, so there is no encoder. */
const struct codec codec_lizard = {
    .id = CODEC_LIZARD,
    .name = "lizard",
    .decode = decode,
    .fini = fini,
};
