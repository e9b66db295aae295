/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/chunk_typesize.h"

/* A larger typesize must save more than one part in this many, because later
   chunks may be of another kind. */
enum {
    GAIN_PARTS = 50
};

int chunk_choose_typesize(struct chunk_encoder *encoder,
                          const struct chunk_params *params, uint32_t chunksize,
                          const struct chunk_content *content, uint8_t *scratch)
{
    struct chunk_params tried = *params;
    size_t cap = content->nbytes + CHUNK_OVERHEAD_MAX;
    uint32_t chosen = 1;
    ssize_t best = 0;
    ssize_t size = 0;

    for (uint32_t typesize = 1;
         typesize <= CHUNK_TYPESIZE_AUTO_MAX && size >= 0; typesize *= 2) {
        tried.typesize = typesize;
        if (chunksize % typesize != 0 || chunk_params_check(&tried) < 0)
            continue;
        size = chunk_encode(encoder, &tried, content, scratch, cap);
        if (typesize == 1 || (size >= 0 && size < best - best / GAIN_PARTS)) {
            best = size;
            chosen = typesize;
        }
    }
    return size < 0 ? (int)size : (int)chosen;
}
