/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/codec_ndlz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_params.h"
#include "chunk/codec_private.h"

/* Index 4 has no token that writers use, but readers accept it. */
static const struct ndlz_pattern patterns_4[] = {
    [0x00] = { 2, { 2, 3, 0, 1 } }, [0x01] = { 2, { 0, 1, 2, 3 } },
    [0x02] = { 2, { 0, 2, 1, 3 } }, [0x03] = { 2, { 0, 3, 1, 2 } },
    [0x04] = { 2, { 1, 0, 2, 3 } }, [0x06] = { 2, { 1, 2, 0, 3 } },
    [0x07] = { 2, { 1, 3, 0, 2 } }, [0x0c] = { 3, { 1, 2, 3, 0 } },
    [0x0d] = { 3, { 0, 1, 2, 3 } }, [0x0e] = { 3, { 0, 1, 3, 2 } },
    [0x0f] = { 3, { 0, 2, 3, 1 } },
};

static const struct ndlz_pattern patterns_8[] = {
    [0x00] = { 2, { 0, 1, 2, 3, 4, 5, 6, 7 } },
    [0x01] = { 2, { 1, 2, 0, 3, 4, 5, 6, 7 } },
    [0x02] = { 2, { 2, 3, 0, 1, 4, 5, 6, 7 } },
    [0x03] = { 2, { 3, 4, 0, 1, 2, 5, 6, 7 } },
    [0x04] = { 2, { 4, 5, 0, 1, 2, 3, 6, 7 } },
    [0x05] = { 2, { 5, 6, 0, 1, 2, 3, 4, 7 } },
    [0x06] = { 2, { 6, 7, 0, 1, 2, 3, 4, 5 } },
    [0x20] = { 3, { 0, 1, 2, 3, 4, 5, 6, 7 } },
    [0x21] = { 3, { 1, 2, 3, 0, 4, 5, 6, 7 } },
    [0x22] = { 3, { 2, 3, 4, 0, 1, 5, 6, 7 } },
    [0x23] = { 3, { 3, 4, 5, 0, 1, 2, 6, 7 } },
    [0x24] = { 3, { 4, 5, 6, 0, 1, 2, 3, 7 } },
    [0x25] = { 3, { 5, 6, 7, 0, 1, 2, 3, 4 } },
};

static const struct ndlz_format formats[] = {
    { 4, 0x80, 3, sizeof(patterns_4) / sizeof(*patterns_4), patterns_4 },
    { 8, 0x88, 0, sizeof(patterns_8) / sizeof(*patterns_8), patterns_8 },
};

const struct ndlz_format *ndlz_format(uint8_t side)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        if (formats[i].side == side)
            return &formats[i];
    return NULL;
}

/* A stream that is being decoded. */
struct reader {
    const struct ndlz_format *format;
    const uint8_t *bytes;
    size_t len;
    size_t pos;
    size_t token_pos; /* of the instruction that is being decoded */
};

/*
 * Functions below that are marked so have a constant side of cells, and for
 * most cells also a constant size, once they are inlined.  Copies then become
 * single moves.
 */
#define INLINE static inline __attribute__((always_inline))

/* The place of a cell in the matrix.  At an edge it may be cut. */
struct cell {
    uint8_t *dst;
    size_t pitch; /* bytes from one row to the next */
    size_t nrows;
    size_t ncols;
};

/* Read `len` literal bytes; NULL if there are too few. */
INLINE const uint8_t *read_bytes(struct reader *in, size_t len)
{
    const uint8_t *bytes = in->bytes + in->pos;

    if (len > in->len - in->pos)
        return NULL;
    in->pos += len;
    return bytes;
}

/* Read a reference to `len` bytes; NULL if they are not in the stream. */
INLINE const uint8_t *read_reference(struct reader *in, size_t len)
{
    const uint8_t *bytes = read_bytes(in, NDLZ_REF_LEN);
    size_t distance;

    if (!bytes)
        return NULL;
    distance = load_le16(bytes);
    if (distance > in->token_pos ||
        !size_within(in->token_pos - distance, len, in->len))
        return NULL;
    return in->bytes + in->token_pos - distance;
}

/* Copy a row of a whole cell. */
INLINE void copy_row(uint8_t *dst, const uint8_t *src, size_t side)
{
    if (side == 4)
        memcpy(dst, src, 4);
    else
        memcpy(dst, src, 8);
}

/* Fill a cell with bytes that lie row by row, as wide as the cell is. */
INLINE int put_bytes(size_t side, const struct cell *cell, const uint8_t *src)
{
    if (!src)
        return -EBADMSG;
    if (cell->ncols == side) {
        for (size_t i = 0; i < cell->nrows; i++)
            copy_row(cell->dst + i * cell->pitch, src + i * side, side);
        return 0;
    }
    for (size_t i = 0; i < cell->nrows; i++)
        memcpy(cell->dst + i * cell->pitch, src + i * cell->ncols, cell->ncols);
    return 0;
}

/* Fill a cell with one value. */
INLINE int put_value(size_t side, const struct cell *cell, const uint8_t *value)
{
    uint8_t row[NDLZ_SIDE_MAX];

    if (!value)
        return -EBADMSG;
    memset(row, *value, sizeof(row));
    for (size_t i = 0; i < cell->nrows; i++) {
        if (cell->ncols == side)
            copy_row(cell->dst + i * cell->pitch, row, side);
        else
            memcpy(cell->dst + i * cell->pitch, row, cell->ncols);
    }
    return 0;
}

/* Find the pattern of a token; NULL if it is not one of a pattern. */
INLINE const struct ndlz_pattern *find_pattern(const struct ndlz_format *format,
                                               size_t side, uint8_t token)
{
    unsigned i = (token - (unsigned)format->first_token) >> format->shift;

    if (token < format->first_token || i >= format->npatterns ||
        format->patterns[i].nrows == 0)
        return NULL;
    /* The low bits of this token are not ignored. */
    if (side == 4 && i == 0 && token != format->first_token)
        return NULL;
    return &format->patterns[i];
}

/* Put the rows of a whole cell where a pattern wants them: some from `first`,
   and the others from `rest`. */
INLINE void put_rows(size_t side, const struct ndlz_pattern *pattern,
                     const uint8_t *first, const uint8_t *rest,
                     const struct cell *cell)
{
    size_t nrows = pattern->nrows;

    for (size_t i = 0; i < side; i++)
        copy_row(cell->dst + pattern->rows[i] * cell->pitch,
                 i < nrows ? first + i * side : rest + (i - nrows) * side,
                 side);
}

/* Read an instruction that builds a cell of rows. */
INLINE int decode_rows(struct reader *in, size_t side, uint8_t token,
                       const struct cell *cell)
{
    const struct ndlz_format *format = in->format;
    bool pairs = side == 4 && token >= NDLZ_PAIRS && token < NDLZ_VALUE;
    const struct ndlz_pattern *pattern =
        pairs ? &format->patterns[1 + ((token - NDLZ_PAIRS) >> format->shift)]
              : find_pattern(format, side, token);
    uint8_t bytes[NDLZ_SIDE_MAX * NDLZ_SIDE_MAX];
    const struct cell whole = { bytes, side, side, side };
    const uint8_t *first;
    const uint8_t *rest;
    size_t rest_len;

    if (!pattern)
        return -EBADMSG;
    first = read_reference(in, pattern->nrows * side);
    rest_len = (side - pattern->nrows) * side;
    rest = pairs ? read_reference(in, rest_len) : read_bytes(in, rest_len);
    if (!first || !rest)
        return -EBADMSG;
    if (cell->nrows == side && cell->ncols == side) {
        put_rows(side, pattern, first, rest, cell);
        return 0;
    }
    put_rows(side, pattern, first, rest, &whole);
    return put_bytes(side, cell, bytes);
}

INLINE int decode_cell(struct reader *in, size_t side, const struct cell *cell)
{
    size_t len = cell->nrows * cell->ncols;
    const uint8_t *token;

    in->token_pos = in->pos;
    token = read_bytes(in, 1);
    if (!token)
        return -EBADMSG;
    switch (*token) {
    case NDLZ_LITERAL:
        return put_bytes(side, cell, read_bytes(in, len));
    case NDLZ_VALUE:
        return put_value(side, cell, read_bytes(in, 1));
    case NDLZ_CELL:
        return put_bytes(side, cell, read_reference(in, len));
    default:
        return decode_rows(in, side, *token, cell);
    }
}

/* Decode a cell at the end of a row or column, which may be cut. */
static int decode_last(struct reader *in, const struct cell *cell)
{
    return in->format->side == 4 ? decode_cell(in, 4, cell)
                                 : decode_cell(in, 8, cell);
}

/* Decode all cells of a matrix. */
INLINE int decode_cells(struct reader *in, size_t side, size_t nrows,
                        size_t ncols, uint8_t *dst)
{
    int r = 0;

    for (size_t row = 0; row < nrows && r == 0; row += side) {
        for (size_t col = 0; col < ncols && r == 0; col += side) {
            struct cell cell = { dst + row * ncols + col, ncols, side, side };

            if (nrows - row >= side && ncols - col >= side) {
                r = decode_cell(in, side, &cell);
                continue;
            }
            cell.nrows = nrows - row < side ? nrows - row : side;
            cell.ncols = ncols - col < side ? ncols - col : side;
            r = decode_last(in, &cell);
        }
    }
    return r;
}

static const char *refuse(const struct codec_stream *stream)
{
    return ndlz_format(stream->meta) ? NULL
                                     : "codec ndlz has cells of unknown size";
}

static int decode(const struct codec_stream *stream)
{
    struct reader in = {
        .format = ndlz_format(stream->meta),
        .bytes = stream->src,
        .len = stream->src_len,
        .pos = NDLZ_HEAD_LEN,
    };
    uint64_t nrows;
    uint64_t ncols;

    if (!in.format || in.len < NDLZ_HEAD_LEN || in.bytes[0] != 2)
        return -EBADMSG;
    nrows = load_le32(in.bytes + 1);
    ncols = load_le32(in.bytes + 5);
    if (nrows == 0 || nrows > INT32_MAX || ncols == 0 || ncols > INT32_MAX ||
        nrows * ncols != stream->dst_len)
        return -EBADMSG;
    if (in.format->side == 4)
        return decode_cells(&in, 4, (size_t)nrows, (size_t)ncols, stream->dst);
    return decode_cells(&in, 8, (size_t)nrows, (size_t)ncols, stream->dst);
}

/* Each stream has to be a matrix of bytes, as wide and as high as a block. */
static int check(const struct chunk_params *params)
{
    const struct chunk_items items = chunk_params_items(params);

    if (!ndlz_format(params->codec_meta) || params->block.ndim != 2 ||
        params->typesize > UINT8_MAX ||
        !chunk_items_fill(&items, params->typesize, params->blocksize))
        return -EINVAL;
    if (params->typesize > 1 && params->split_mode != CHUNK_SPLIT_ALWAYS)
        return -EINVAL;
    return 0;
}

static void fini(struct codec_context *context)
{
    free(context->encoder);
}

const struct codec codec_ndlz = {
    .id = CODEC_NDLZ,
    .name = "ndlz",
    .must_split = true,
    .uses_shape = true,
    .has_meta = true,
    .check = check,
    .refuse = refuse,
    .decode = decode,
    .encode = ndlz_encode,
    .fini = fini,
};
