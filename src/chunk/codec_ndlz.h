/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_NDLZ_H
#define CHUNK_CODEC_NDLZ_H

#include "chunk/codec.h"

/*
 * NDLZ cuts a matrix of bytes into square cells.  Each cell is an instruction:
 * a token, and then references to earlier bytes of the stream, literal bytes,
 * or both.
 *
 * Format: NDLZ.  The numbers below are its sections.
 */
enum {
    NDLZ_SIDE_MAX = 8,   /* rows of a cell, which has as many columns */
    NDLZ_HEAD_LEN = 9,   /* 2: dimensions, rows and columns */
    NDLZ_REF_LEN = 2,    /* 2 */
    NDLZ_PATTERN_MAX = 3 /* rows through one reference */
};

/* 3 and 4: tokens. */
enum {
    NDLZ_LITERAL = 0x00,
    NDLZ_VALUE = 0x40,
    NDLZ_CELL = 0xc0,
    NDLZ_PAIRS = 0x28,     /* side 4: rows 0 and 1, 2 and 3 */
    NDLZ_PAIRS_STEP = 0x08 /* the next token: rows 0 and 2, 1 and 3 */
};

/* 4 and 5: a token for some rows through a reference; the others are
   literal. */
struct ndlz_pattern {
    uint8_t nrows; /* 0: the token has no such meaning */
    uint8_t rows[NDLZ_PATTERN_MAX];
};

/* The values that depend on the side of a cell. */
struct ndlz_format {
    uint8_t side;
    uint8_t first_token; /* the token of the first pattern */
    uint8_t shift;       /* low bits of a token that are ignored */
    uint8_t npatterns;
    const struct ndlz_pattern *patterns; /* pairs of rows, then triples */
};

/* Return the format for a side, the parameter of the codec; NULL if there is
   none. */
const struct ndlz_format *ndlz_format(uint8_t side);

/* Return the rows of the second pair, if the first one has rows 0 and `row`,
   1 to 3. */
static inline struct ndlz_pattern ndlz_other_pair(uint8_t row)
{
    return (struct ndlz_pattern){
        .nrows = 2,
        .rows = { row == 1 ? 2 : 1, row == 3 ? 2 : 3 },
    };
}

/* See struct codec. */
ssize_t ndlz_encode(const struct codec_stream *stream);

#endif
