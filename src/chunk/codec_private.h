/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_PRIVATE_H
#define CHUNK_CODEC_PRIVATE_H

#include "chunk/codec.h"

/* The codecs, each defined in its codec_*.c. */
extern const struct codec codec_blosclz;
extern const struct codec codec_lz4;
extern const struct codec codec_lz4hc;
extern const struct codec codec_zlib;
extern const struct codec codec_zstd;

#endif
