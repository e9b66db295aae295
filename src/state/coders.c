/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/coders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"

int coders_init(struct coders *coders, unsigned keep)
{
    coders->decoders = calloc(keep, sizeof(struct chunk_decoder *));
    coders->encoders = calloc(keep, sizeof(struct chunk_encoder *));
    if (!coders->decoders || !coders->encoders) {
        free(coders->decoders);
        free(coders->encoders);
        *coders = (struct coders){ 0 };
        return -ENOMEM;
    }
    coders->cpu = cpu_features();
    coders->keep = keep;
    pthread_mutex_init(&coders->lock, NULL);
    return 0;
}

void coders_fini(struct coders *coders)
{
    if (!coders->decoders)
        return;

    while (coders->ndecoders > 0)
        chunk_decoder_free(coders->decoders[--coders->ndecoders]);
    while (coders->nencoders > 0)
        chunk_encoder_free(coders->encoders[--coders->nencoders]);
    free(coders->decoders);
    free(coders->encoders);
    pthread_mutex_destroy(&coders->lock);
}

int coders_get_decoder(struct coders *coders, struct chunk_decoder **out)
{
    struct chunk_decoder *decoder = NULL;

    pthread_mutex_lock(&coders->lock);
    if (coders->ndecoders > 0)
        decoder = coders->decoders[--coders->ndecoders];
    pthread_mutex_unlock(&coders->lock);

    if (!decoder)
        return chunk_decoder_new(coders->cpu, out);
    *out = decoder;
    return 0;
}

int coders_get_encoder(struct coders *coders, struct chunk_encoder **out)
{
    struct chunk_encoder *encoder = NULL;

    pthread_mutex_lock(&coders->lock);
    if (coders->nencoders > 0)
        encoder = coders->encoders[--coders->nencoders];
    pthread_mutex_unlock(&coders->lock);

    if (!encoder)
        return chunk_encoder_new(coders->cpu, out);
    *out = encoder;
    return 0;
}

void coders_put_decoder(struct coders *coders, struct chunk_decoder *decoder)
{
    pthread_mutex_lock(&coders->lock);
    if (coders->ndecoders < coders->keep) {
        coders->decoders[coders->ndecoders++] = decoder;
        decoder = NULL;
    }
    pthread_mutex_unlock(&coders->lock);
    chunk_decoder_free(decoder);
}

void coders_put_encoder(struct coders *coders, struct chunk_encoder *encoder)
{
    pthread_mutex_lock(&coders->lock);
    if (coders->nencoders < coders->keep) {
        coders->encoders[coders->nencoders++] = encoder;
        encoder = NULL;
    }
    pthread_mutex_unlock(&coders->lock);
    chunk_encoder_free(encoder);
}
