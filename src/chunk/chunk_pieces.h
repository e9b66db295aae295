/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_PIECES_H
#define CHUNK_CHUNK_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that lie in several places.  All pieces have one length, except the
   last, which holds the rest. */
struct chunk_pieces {
    const uint8_t *const *pieces;
    size_t piece_len; /* at least 1; if there are several pieces, more than
                         the period for pieces_repeat() */
    size_t nbytes;    /* of all pieces */
};

/* Return `len` bytes from `off` on, or NULL if they are not in one piece. */
const uint8_t *pieces_at(const struct chunk_pieces *src, size_t off,
                         size_t len);

/* Copy `len` bytes from `off` on. */
void pieces_copy(const struct chunk_pieces *src, size_t off, uint8_t *dst,
                 size_t len);

/* Do the first `period` bytes repeat to the end? */
bool pieces_repeat(const struct chunk_pieces *src, size_t period);

#endif
