/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_BLOSCLZ_H
#define CHUNK_CODEC_BLOSCLZ_H

#include "chunk/codec.h"

enum {
    CODEC_BLOSCLZ_LITERALS_MAX = 32 /* bytes in one run of literals */
};

/* The encoder of BloscLZ, which has a file of its own.  These are encode() and
   fini() of struct codec. */
ssize_t codec_blosclz_encode(const struct codec_stream *stream);
void codec_blosclz_fini(struct codec_context *context);

#endif
