/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/huffman.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"

enum {
    CODE_BITS_MAX = 11, /* of a byte */
    WEIGHT_MAX = CODE_BITS_MAX,
    NSYMBOLS = 256,
    DIRECT_MIN = 128, /* first byte of weights that are not compressed */
    JUMP_LEN = 6,     /* sizes of the first three streams of bits */
    NSTREAMS = 4,
    FSE_BITS_MIN = 5, /* of a state */
    FSE_BITS_MAX = 6,
};

/* Bits that are read from the last one to the first, as a stack. */
struct bits {
    const uint8_t *bytes;
    size_t left; /* bits that are not read yet */
};

static unsigned log2_floor(unsigned n)
{
    return 31u - (unsigned)__builtin_clz(n);
}

/* The highest bit set in the last byte ends the bits. */
static int bits_init(struct bits *bits, const uint8_t *bytes, size_t len)
{
    if (len == 0 || bytes[len - 1] == 0)
        return -EBADMSG;
    bits->bytes = bytes;
    bits->left = 8 * (len - 1) + log2_floor(bytes[len - 1]);
    return 0;
}

/* Return the next `n` bits, at most 16, followed by zeros if fewer are left. */
static unsigned bits_peek(const struct bits *bits, unsigned n)
{
    unsigned missing = bits->left < n ? n - (unsigned)bits->left : 0;
    size_t low = bits->left + missing - n;
    unsigned value = 0;

    for (size_t i = low / 8, shift = 0; i * 8 < bits->left; i++, shift += 8)
        value |= (unsigned)bits->bytes[i] << shift;
    return (value >> low % 8 << missing) & ((1u << n) - 1);
}

/* Returns false if there are fewer bits. */
static bool bits_skip(struct bits *bits, unsigned n)
{
    if (bits->left < n)
        return false;
    bits->left -= n;
    return true;
}

/* A state of the entropy code of the weights. */
struct fse_state {
    uint8_t weight;
    uint8_t nbits; /* to read for the next state */
    uint8_t base;  /* to add to them */
};

struct fse_table {
    unsigned nbits; /* of a state */
    struct fse_state states[1 << FSE_BITS_MAX];
};

/* Bits that are read from the first one to the last. */
struct forward {
    const uint8_t *bytes;
    size_t nbits;
    size_t pos;
};

/* Return the next `n` bits, at most 8, and zeros behind the end. */
static unsigned forward_peek(const struct forward *in, unsigned n)
{
    unsigned value = 0;

    for (unsigned i = 0; i < n && in->pos + i < in->nbits; i++) {
        size_t at = in->pos + i;

        value |= (in->bytes[at / 8] >> at % 8 & 1u) << i;
    }
    return value;
}

/* Read how often a weight occurs; `rest` is how often all others may.  Returns
   -1 for a weight that takes a single state. */
static int read_count(struct forward *in, unsigned rest)
{
    unsigned nbits = log2_floor(rest + 1) + 1;
    unsigned low = (1u << (nbits - 1)) - 1;
    unsigned short_codes = (1u << nbits) - 2 - rest;
    unsigned value = forward_peek(in, nbits);

    if ((value & low) < short_codes) {
        in->pos += nbits - 1;
        value &= low;
    } else {
        in->pos += nbits;
        if (value > low)
            value -= short_codes;
    }
    return (int)value - 1;
}

/* Read the table of counts.  Returns the number of weights, or -EBADMSG. */
static int read_counts(struct forward *in, unsigned nstates,
                       int8_t counts[WEIGHT_MAX + 1])
{
    unsigned rest = nstates;
    int n = 0;

    while (rest > 0) {
        int count;
        unsigned repeat = 3;

        if (n > WEIGHT_MAX)
            return -EBADMSG;
        count = read_count(in, rest);
        counts[n++] = (int8_t)count;
        rest -= (unsigned)(count < 0 ? 1 : count);
        while (count == 0 && repeat == 3) {
            repeat = forward_peek(in, 2);
            in->pos += 2;
            for (unsigned i = 0; i < repeat; i++) {
                if (n > WEIGHT_MAX)
                    return -EBADMSG;
                counts[n++] = 0;
            }
        }
    }
    return in->pos <= in->nbits ? n : -EBADMSG;
}

/* Spread the weights over the states. */
static int spread(struct fse_table *table, const int8_t *counts, int ncounts)
{
    unsigned nstates = 1u << table->nbits;
    unsigned step = nstates / 2 + nstates / 8 + 3;
    unsigned high = nstates;
    unsigned pos = 0;

    for (int i = 0; i < ncounts; i++)
        if (counts[i] < 0)
            table->states[--high].weight = (uint8_t)i;
    for (int i = 0; i < ncounts; i++) {
        for (int k = 0; k < counts[i]; k++) {
            table->states[pos].weight = (uint8_t)i;
            do
                pos = (pos + step) & (nstates - 1);
            while (pos >= high);
        }
    }
    return pos == 0 ? 0 : -EBADMSG;
}

/* Read the table of the entropy code.  Returns its length in bytes, or
   -EBADMSG. */
static ssize_t read_table(struct fse_table *table, const uint8_t *src,
                          size_t len)
{
    struct forward in = { .bytes = src, .nbits = 8 * len, .pos = 4 };
    int8_t counts[WEIGHT_MAX + 1];
    unsigned next[WEIGHT_MAX + 1];
    int n;

    table->nbits = (len > 0 ? src[0] & 15u : 15u) + FSE_BITS_MIN;
    if (table->nbits > FSE_BITS_MAX)
        return -EBADMSG;
    n = read_counts(&in, 1u << table->nbits, counts);
    if (n < 0 || spread(table, counts, n) < 0)
        return -EBADMSG;
    for (int i = 0; i < n; i++)
        next[i] = counts[i] < 0 ? 1 : (unsigned)counts[i];
    for (unsigned i = 0; i < 1u << table->nbits; i++) {
        struct fse_state *state = &table->states[i];
        unsigned k = next[state->weight]++;

        state->nbits = (uint8_t)(table->nbits - log2_floor(k));
        state->base = (uint8_t)((k << state->nbits) - (1u << table->nbits));
    }
    return (ssize_t)((in.pos + 7) / 8);
}

/* Decode compressed weights.  Two states take turns; the weight of the other
   one is the last when the bits do not suffice for the next state.  Returns
   their number, or -EBADMSG. */
static int read_packed_weights(const uint8_t *src, size_t len, uint8_t *weights)
{
    struct fse_table table;
    struct bits bits;
    unsigned states[2];
    ssize_t table_len = read_table(&table, src, len);
    int n = 0;

    if (table_len < 0 || (size_t)table_len >= len ||
        bits_init(&bits, src + table_len, len - (size_t)table_len) < 0)
        return -EBADMSG;
    for (int i = 0; i < 2; i++) {
        states[i] = bits_peek(&bits, table.nbits);
        if (!bits_skip(&bits, table.nbits))
            return -EBADMSG;
    }
    for (unsigned turn = 0; n < NSYMBOLS - 2; turn ^= 1) {
        const struct fse_state *state = &table.states[states[turn]];
        unsigned more = bits_peek(&bits, state->nbits);

        weights[n++] = state->weight;
        if (!bits_skip(&bits, state->nbits)) {
            weights[n++] = table.states[states[turn ^ 1]].weight;
            return n;
        }
        states[turn] = state->base + more;
    }
    return -EBADMSG;
}

/* Read weights of four bits each.  Returns their number. */
static int read_plain_weights(const uint8_t *src, size_t n, uint8_t *weights)
{
    for (size_t i = 0; i < n; i++)
        weights[i] = i % 2 ? src[i / 2] & 15 : src[i / 2] >> 4;
    return (int)n;
}

/* The bytes that the next bits stand for. */
struct code {
    unsigned nbits; /* of the longest code */
    struct {
        uint8_t byte;
        uint8_t nbits;
    } entries[1 << CODE_BITS_MAX];
};

/* Find the weight of the last byte, which makes the code complete. */
static int complete_weights(struct code *code, uint8_t *weights, int n)
{
    unsigned sum = 0;
    unsigned rest;

    for (int i = 0; i < n; i++) {
        if (weights[i] > WEIGHT_MAX)
            return -EBADMSG;
        sum += weights[i] > 0 ? 1u << (weights[i] - 1) : 0;
    }
    if (sum == 0 || log2_floor(sum) + 1 > CODE_BITS_MAX)
        return -EBADMSG;
    code->nbits = log2_floor(sum) + 1;
    rest = (1u << code->nbits) - sum;
    if ((rest & (rest - 1)) != 0)
        return -EBADMSG;
    weights[n] = (uint8_t)(log2_floor(rest) + 1);
    return n + 1;
}

/* Enter the codes, the longest first. */
static void fill_code(struct code *code, const uint8_t *weights, int n)
{
    unsigned at = 0;

    for (unsigned weight = 1; weight <= code->nbits; weight++) {
        for (int i = 0; i < n; i++) {
            for (unsigned k = 0; weights[i] == weight && k < 1u << (weight - 1);
                 k++, at++) {
                code->entries[at].byte = (uint8_t)i;
                code->entries[at].nbits = (uint8_t)(code->nbits + 1 - weight);
            }
        }
    }
}

/* Read the description of the tree.  Returns its length, or -EBADMSG. */
static ssize_t read_code(struct code *code, const uint8_t *src, size_t len)
{
    uint8_t weights[NSYMBOLS];
    size_t used = len > 0 ? src[0] : 0;
    int n;

    if (len == 0)
        return -EBADMSG;
    if (src[0] >= DIRECT_MIN)
        used = (src[0] - DIRECT_MIN + 2u) / 2;
    if (used > len - 1)
        return -EBADMSG;
    n = src[0] < DIRECT_MIN
            ? read_packed_weights(src + 1, used, weights)
            : read_plain_weights(src + 1, src[0] - DIRECT_MIN + 1u, weights);
    if (n > 0)
        n = complete_weights(code, weights, n);
    if (n <= 0)
        return -EBADMSG;
    fill_code(code, weights, n);
    return (ssize_t)(used + 1);
}

static int decode_stream(const struct code *code, const uint8_t *src,
                         size_t src_len, uint8_t *dst, size_t dst_len)
{
    struct bits bits;

    if (bits_init(&bits, src, src_len) < 0)
        return -EBADMSG;
    for (size_t i = 0; i < dst_len; i++) {
        unsigned at = bits_peek(&bits, code->nbits);

        if (!bits_skip(&bits, code->entries[at].nbits))
            return -EBADMSG;
        dst[i] = code->entries[at].byte;
    }
    return bits.left == 0 ? 0 : -EBADMSG;
}

int huffman_decode(const uint8_t *src, size_t src_len, uint8_t *dst,
                   size_t dst_len)
{
    struct code code;
    ssize_t used = read_code(&code, src, src_len);
    size_t part = (dst_len + NSTREAMS - 1) / NSTREAMS;
    const uint8_t *jump;
    int r = 0;

    if (used < 0 || src_len - (size_t)used < JUMP_LEN ||
        part * (NSTREAMS - 1) > dst_len)
        return -EBADMSG;
    jump = src + used;
    src += used + JUMP_LEN;
    src_len -= (size_t)used + JUMP_LEN;
    for (size_t i = 0; i < NSTREAMS && r == 0; i++) {
        bool is_last = i == NSTREAMS - 1;
        size_t len = is_last ? src_len : load_le16(jump + 2 * i);
        size_t n = is_last ? dst_len : part;

        if (len > src_len)
            return -EBADMSG;
        r = decode_stream(&code, src, len, dst, n);
        src += len;
        src_len -= len;
        dst += n;
        dst_len -= n;
    }
    return r;
}
