/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_pieces.h"

#include <string.h>

/* Find the bytes from `off` to the end of their piece, up to `*len` of them. */
static const uint8_t *run_at(const struct chunk_pieces *src, size_t off,
                             size_t *len)
{
    size_t in_piece = off % src->piece_len;

    if (*len > src->piece_len - in_piece)
        *len = src->piece_len - in_piece;
    return src->pieces[off / src->piece_len] + in_piece;
}

const uint8_t *pieces_at(const struct chunk_pieces *src, size_t off, size_t len)
{
    size_t n = len;
    const uint8_t *bytes = run_at(src, off, &n);

    return n == len ? bytes : NULL;
}

void pieces_copy(const struct chunk_pieces *src, size_t off, uint8_t *dst,
                 size_t len)
{
    while (len > 0) {
        size_t n = len;
        const uint8_t *bytes = run_at(src, off, &n);

        memcpy(dst, bytes, n);
        dst += n;
        off += n;
        len -= n;
    }
}

/* Does the piece at `off` continue the pattern of the first `period` bytes? */
static bool goes_on(const struct chunk_pieces *src, size_t off, size_t period)
{
    size_t len = src->nbytes - off;
    const uint8_t *bytes = run_at(src, off, &len);
    size_t n = len < period ? len : period;

    for (size_t i = 0; i < n; i++)
        if (bytes[i] != src->pieces[0][(off + i) % period])
            return false;
    return len == n || memcmp(bytes, bytes + period, len - period) == 0;
}

bool pieces_repeat(const struct chunk_pieces *src, size_t period)
{
    for (size_t off = 0; off < src->nbytes; off += src->piece_len)
        if (!goes_on(src, off, period))
            return false;
    return true;
}
