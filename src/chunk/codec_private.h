/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_PRIVATE_H
#define CHUNK_CODEC_PRIVATE_H

#include "chunk/codec.h"

/*
 * The contexts that codecs keep from one stream to the next.  Each field
 * belongs to one codec, which makes it when first needed and frees it in its
 * fini function.
 */
struct codec_state {
    struct ZSTD_DCtx_s *zstd_decoder;
    struct z_stream_s *zlib_decoder;

    struct blosclz_encoder *blosclz_encoder;
    union LZ4_stream_u *lz4_encoder;
    union LZ4_streamHC_u *lz4hc_encoder;
    struct z_stream_s *zlib_encoder;
    struct ZSTD_CCtx_s *zstd_encoder;
};

/* The encoder of BloscLZ, which has a file of its own. */
ssize_t codec_blosclz_encode(struct codec_state *state,
                             const struct codec_dict *dict, int level,
                             const uint8_t *src, size_t src_len, uint8_t *dst,
                             size_t dst_cap);

/* Free the contexts of one codec, if `state` has any. */
void codec_blosclz_fini(struct codec_state *state);
void codec_lz4_fini(struct codec_state *state);
void codec_zlib_fini(struct codec_state *state);
void codec_zstd_fini(struct codec_state *state);

/* The codecs, each defined in its codec_*.c. */
extern const struct codec codec_blosclz;
extern const struct codec codec_lz4;
extern const struct codec codec_lz4hc;
extern const struct codec codec_zlib;
extern const struct codec codec_zstd;

#endif
