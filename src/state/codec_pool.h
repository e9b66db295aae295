/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_CODEC_POOL_H
#define STATE_CODEC_POOL_H

#include <pthread.h>

#include "chunk/chunk.h"
#include "chunk/chunk_encode.h"

/*
 * Chunk decoders and encoders, which threads borrow while they need one.
 *
 * Locking.  `lock` is a leaf and guards the lists of idle decoders and encoders
 * and their lengths.
 */
struct codec_pool {
    unsigned cpu;  /* see cpu_features() */
    unsigned keep; /* number of idle decoders, and of idle encoders, to keep */
    pthread_mutex_t lock;
    struct chunk_decoder **decoders;
    struct chunk_encoder **encoders;
    unsigned ndecoders;
    unsigned nencoders;
};

/* Returns 0 or -ENOMEM. */
int codec_pool_init(struct codec_pool *pool, unsigned keep);

/* The caller has put back all decoders and encoders.  Accepts a zeroed
   struct. */
void codec_pool_fini(struct codec_pool *pool);

/* Take an idle one, or make one if there is none.  Return 0 or -ENOMEM. */
int codec_pool_get_decoder(struct codec_pool *pool, struct chunk_decoder **out);
int codec_pool_get_encoder(struct codec_pool *pool, struct chunk_encoder **out);

/* Put one back, which is kept if fewer than `keep` are idle, and else freed. */
void codec_pool_put_decoder(struct codec_pool *pool,
                            struct chunk_decoder *decoder);
void codec_pool_put_encoder(struct codec_pool *pool,
                            struct chunk_encoder *encoder);

#endif
