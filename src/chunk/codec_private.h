/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_PRIVATE_H
#define CHUNK_CODEC_PRIVATE_H

#include "chunk/chunk_lists.h"
#include "chunk/codec.h"

/* The codecs, each defined in its codec_*.c. */
#define CODEC_VARIABLE(name) codec_##name
extern const struct codec CODEC_LIST(CODEC_VARIABLE);

#endif
