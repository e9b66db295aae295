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
    NDLZ_PAIRS = 0x28, /* side 4, and the next ones: a pattern of pairs, whose
                          other rows are not literal, but by a reference, too */
};

/* 4 and 5: a token for some rows through a reference; the others are
   literal. */
struct ndlz_pattern {
    uint8_t nrows;               /* 0: the token has no such meaning */
    uint8_t rows[NDLZ_SIDE_MAX]; /* these, and then the others */
};

/* The values that depend on the side of a cell. */
struct ndlz_format {
    uint8_t side;
    uint8_t first_token; /* the token of the first pattern */
    uint8_t shift;       /* low bits of a token that are ignored */
    uint8_t npatterns;
    const struct ndlz_pattern *patterns; /* pairs of rows, then triples; those
                                            of NDLZ_PAIRS are 1 to 3 */
};

/* Return the format for a side, the parameter of the codec; NULL if there is
   none. */
const struct ndlz_format *ndlz_format(uint8_t side);

/* See struct codec. */
ssize_t ndlz_encode(const struct codec_stream *stream);

#endif
