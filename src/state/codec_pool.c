/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/codec_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"

int codec_pool_init(struct codec_pool *pool, unsigned keep)
{
    pool->decoders = calloc(keep, sizeof(struct chunk_decoder *));
    pool->encoders = calloc(keep, sizeof(struct chunk_encoder *));
    if (!pool->decoders || !pool->encoders) {
        free(pool->decoders);
        free(pool->encoders);
        *pool = (struct codec_pool){ 0 };
        return -ENOMEM;
    }
    pool->cpu = cpu_features();
    pool->keep = keep;
    pthread_mutex_init(&pool->lock, NULL);
    return 0;
}

void codec_pool_fini(struct codec_pool *pool)
{
    if (!pool->decoders)
        return;

    while (pool->ndecoders > 0)
        chunk_decoder_free(pool->decoders[--pool->ndecoders]);
    while (pool->nencoders > 0)
        chunk_encoder_free(pool->encoders[--pool->nencoders]);
    free(pool->decoders);
    free(pool->encoders);
    pthread_mutex_destroy(&pool->lock);
}

int codec_pool_get_decoder(struct codec_pool *pool, struct chunk_decoder **out)
{
    struct chunk_decoder *decoder = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->ndecoders > 0)
        decoder = pool->decoders[--pool->ndecoders];
    pthread_mutex_unlock(&pool->lock);

    if (!decoder)
        return chunk_decoder_new(pool->cpu, out);
    *out = decoder;
    return 0;
}

int codec_pool_get_encoder(struct codec_pool *pool, struct chunk_encoder **out)
{
    struct chunk_encoder *encoder = NULL;

    pthread_mutex_lock(&pool->lock);
    if (pool->nencoders > 0)
        encoder = pool->encoders[--pool->nencoders];
    pthread_mutex_unlock(&pool->lock);

    if (!encoder)
        return chunk_encoder_new(pool->cpu, out);
    *out = encoder;
    return 0;
}

void codec_pool_put_decoder(struct codec_pool *pool,
                            struct chunk_decoder *decoder)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->ndecoders < pool->keep) {
        pool->decoders[pool->ndecoders++] = decoder;
        decoder = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    chunk_decoder_free(decoder);
}

void codec_pool_put_encoder(struct codec_pool *pool,
                            struct chunk_encoder *encoder)
{
    pthread_mutex_lock(&pool->lock);
    if (pool->nencoders < pool->keep) {
        pool->encoders[pool->nencoders++] = encoder;
        encoder = NULL;
    }
    pthread_mutex_unlock(&pool->lock);
    chunk_encoder_free(encoder);
}
