/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunk/codec_ndlz.h"

enum {
    HASH_BITS = 12,

    /* The reference library reads wrong bytes through some references beyond
       this.  Format: NDLZ, 6. */
    DISTANCE_MAX = 65530,
};

/* Positions in the stream, by the hash of the bytes there; 0: none.  Each is in
   the literal bytes of a cell. */
struct table {
    uint32_t positions[1 << HASH_BITS];
};

/* The tables are in the context of the codec. */
struct tables {
    struct table cells;
    struct table rows[NDLZ_PATTERN_MAX + 1]; /* by number of rows: 2 and 3 */
};

/* A stream that is being encoded. */
struct writer {
    const struct ndlz_format *format;
    struct tables *tables;
    uint8_t *bytes;
    size_t cap;
    size_t pos;
    size_t token_pos; /* of the instruction that is being encoded */
};

/* A cell that is not cut, row by row, and the hashes of its rows. */
struct cell {
    uint8_t bytes[NDLZ_SIDE_MAX * NDLZ_SIDE_MAX];
    uint32_t hashes[NDLZ_SIDE_MAX];
};

static uint32_t mix(uint32_t hash, uint32_t more)
{
    return ((hash << 5 | hash >> 27) ^ more) * 2654435761u;
}

static uint32_t hash_row(const uint8_t *row, size_t side)
{
    uint32_t hash = mix(0, load_le32(row));

    return side == 4 ? hash : mix(hash, load_le32(row + 4));
}

static size_t slot_of(uint32_t hash)
{
    return hash >> (32 - HASH_BITS);
}

static uint32_t hash_rows(const struct cell *cell, const uint8_t *rows,
                          size_t nrows)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < nrows; i++)
        hash = mix(hash, cell->hashes[rows[i]]);
    return hash;
}

static const uint8_t all_rows[NDLZ_SIDE_MAX] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/*
 * Find some rows of the cell in the stream, one after another.  Returns the
 * distance back from the token, or 0 if they are not found.
 */
static uint16_t find_rows(const struct writer *out, const struct table *table,
                          const struct cell *cell, const uint8_t *rows,
                          size_t nrows)
{
    size_t side = out->format->side;
    uint32_t pos = table->positions[slot_of(hash_rows(cell, rows, nrows))];

    if (pos == 0 || out->token_pos - pos > DISTANCE_MAX)
        return 0;
    for (size_t i = 0; i < nrows; i++)
        if (memcmp(out->bytes + pos + i * side, cell->bytes + rows[i] * side,
                   side) != 0)
            return 0;
    return (uint16_t)(out->token_pos - pos);
}

static uint16_t find_pattern(const struct writer *out, const struct cell *cell,
                             const struct ndlz_pattern *pattern)
{
    return find_rows(out, &out->tables->rows[pattern->nrows], cell,
                     pattern->rows, pattern->nrows);
}

/* All instructions fit, because the caller has made sure of the longest. */
static void put_byte(struct writer *out, unsigned byte)
{
    out->bytes[out->pos++] = (uint8_t)byte;
}

static void put_reference(struct writer *out, uint16_t distance)
{
    put_byte(out, distance & 0xffu);
    put_byte(out, distance >> 8);
}

static void put_bytes(struct writer *out, const uint8_t *bytes, size_t len)
{
    memcpy(out->bytes + out->pos, bytes, len);
    out->pos += len;
}

/* Write the rows that a pattern does not have. */
static void put_other_rows(struct writer *out, const struct cell *cell,
                           const struct ndlz_pattern *pattern)
{
    size_t side = out->format->side;

    for (size_t i = pattern->nrows; i < side; i++)
        put_bytes(out, cell->bytes + pattern->rows[i] * side, side);
}

static bool try_cell(struct writer *out, const struct cell *cell)
{
    size_t side = out->format->side;
    uint16_t distance =
        find_rows(out, &out->tables->cells, cell, all_rows, side);

    if (distance == 0)
        return false;
    put_byte(out, NDLZ_CELL);
    put_reference(out, distance);
    return true;
}

static bool try_pairs(struct writer *out, const struct cell *cell)
{
    const struct ndlz_format *format = out->format;

    for (unsigned i = 0; format->side == 4 && i < 3; i++) {
        const struct ndlz_pattern *pair = &format->patterns[1 + i];
        const struct ndlz_pattern other = { 2,
                                            { pair->rows[2], pair->rows[3] } };
        uint16_t distance = find_pattern(out, cell, pair);
        uint16_t more = distance ? find_pattern(out, cell, &other) : 0;

        if (more == 0)
            continue;
        put_byte(out, NDLZ_PAIRS + (i << format->shift));
        put_reference(out, distance);
        put_reference(out, more);
        return true;
    }
    return false;
}

/* Try triples of rows first, because they come last. */
static bool try_patterns(struct writer *out, const struct cell *cell)
{
    const struct ndlz_format *format = out->format;

    for (size_t i = format->npatterns; i-- > 0;) {
        const struct ndlz_pattern *pattern = &format->patterns[i];
        uint16_t distance;

        /* No writer uses a token whose rows descend. */
        if (pattern->nrows == 0 || pattern->rows[0] > pattern->rows[1])
            continue;
        distance = find_pattern(out, cell, pattern);
        if (distance == 0)
            continue;
        put_byte(out, format->first_token + (unsigned)(i << format->shift));
        put_reference(out, distance);
        put_other_rows(out, cell, pattern);
        return true;
    }
    return false;
}

/* Enter runs of rows of a cell whose literal bytes are at `pos`. */
static void enter_runs(struct writer *out, const struct cell *cell, size_t pos,
                       size_t nrows)
{
    struct table *table = &out->tables->rows[nrows];
    size_t side = out->format->side;

    for (size_t i = 0; i + nrows <= side; i++) {
        uint32_t hash = hash_rows(cell, all_rows + i, nrows);

        table->positions[slot_of(hash)] = (uint32_t)(pos + i * side);
    }
}

static void put_literal(struct writer *out, const struct cell *cell)
{
    size_t side = out->format->side;
    uint32_t hash = hash_rows(cell, all_rows, side);

    put_byte(out, NDLZ_LITERAL);
    out->tables->cells.positions[slot_of(hash)] = (uint32_t)out->pos;
    enter_runs(out, cell, out->pos, 2);
    enter_runs(out, cell, out->pos, 3);
    put_bytes(out, cell->bytes, side * side);
}

static void encode_whole(struct writer *out, const uint8_t *src, size_t pitch)
{
    size_t side = out->format->side;
    struct cell cell;

    for (size_t i = 0; i < side; i++) {
        memcpy(cell.bytes + i * side, src + i * pitch, side);
        cell.hashes[i] = hash_row(cell.bytes + i * side, side);
    }
    if (memcmp(cell.bytes, cell.bytes + 1, side * side - 1) == 0) {
        put_byte(out, NDLZ_VALUE);
        put_byte(out, cell.bytes[0]);
    } else if (!try_cell(out, &cell) && !try_pairs(out, &cell) &&
               !try_patterns(out, &cell)) {
        put_literal(out, &cell);
    }
}

/* Write a cell at an edge as literal bytes. */
static void encode_cut(struct writer *out, const uint8_t *src, size_t pitch,
                       size_t nrows, size_t ncols)
{
    put_byte(out, NDLZ_LITERAL);
    for (size_t i = 0; i < nrows; i++)
        put_bytes(out, src + i * pitch, ncols);
}

/* Returns false if there may be no room for all cells. */
static bool encode_cells(struct writer *out, size_t nrows, size_t ncols,
                         const uint8_t *src)
{
    size_t side = out->format->side;

    for (size_t row = 0; row < nrows; row += side) {
        for (size_t col = 0; col < ncols; col += side) {
            size_t high = nrows - row < side ? nrows - row : side;
            size_t wide = ncols - col < side ? ncols - col : side;
            const uint8_t *at = src + row * ncols + col;

            if (out->cap - out->pos < side * side + 1)
                return false;
            out->token_pos = out->pos;
            if (high == side && wide == side)
                encode_whole(out, at, ncols);
            else
                encode_cut(out, at, ncols, high, wide);
        }
    }
    return true;
}

/* Return the tables of the context, empty; NULL if there is no memory. */
static struct tables *get_tables(struct codec_context *context)
{
    if (!context->encoder)
        context->encoder = malloc(sizeof(struct tables));
    if (context->encoder)
        memset(context->encoder, 0, sizeof(struct tables));
    return context->encoder;
}

/* A stream that is no plane of a whole block cannot be encoded. */
ssize_t ndlz_encode(const struct codec_stream *stream)
{
    const struct block_shape *block = &stream->items->block;
    struct writer out = {
        .format = ndlz_format(stream->meta),
        .bytes = stream->dst,
        .cap = stream->dst_len,
        .pos = NDLZ_HEAD_LEN,
    };

    if (!out.format || block->ndim != 2 ||
        !chunk_items_fill(stream->items, 1, stream->src_len) ||
        stream->src_len < (size_t)out.format->side * out.format->side ||
        out.cap < NDLZ_HEAD_LEN)
        return 0;
    out.tables = get_tables(stream->context);
    if (!out.tables)
        return -ENOMEM;
    out.bytes[0] = 2;
    store_le32(out.bytes + 1, block->extents[0]);
    store_le32(out.bytes + 5, block->extents[1]);
    if (!encode_cells(&out, block->extents[0], block->extents[1], stream->src))
        return 0;
    return (ssize_t)out.pos;
}
