/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/decoders.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"

int decoders_init(struct decoders *decoders, unsigned keep)
{
    struct chunk_decoder **idle = calloc(keep, sizeof(struct chunk_decoder *));

    if (!idle)
        return -ENOMEM;

    decoders->cpu = cpu_features();
    decoders->keep = keep;
    decoders->idle = idle;
    decoders->nidle = 0;
    pthread_mutex_init(&decoders->lock, NULL);
    return 0;
}

void decoders_fini(struct decoders *decoders)
{
    if (!decoders->idle)
        return;

    while (decoders->nidle > 0)
        chunk_decoder_free(decoders->idle[--decoders->nidle]);
    free(decoders->idle);
    pthread_mutex_destroy(&decoders->lock);
}

int decoders_get(struct decoders *decoders, struct chunk_decoder **out)
{
    struct chunk_decoder *decoder = NULL;

    pthread_mutex_lock(&decoders->lock);
    if (decoders->nidle > 0)
        decoder = decoders->idle[--decoders->nidle];
    pthread_mutex_unlock(&decoders->lock);

    if (!decoder)
        return chunk_decoder_new(decoders->cpu, out);
    *out = decoder;
    return 0;
}

void decoders_put(struct decoders *decoders, struct chunk_decoder *decoder)
{
    pthread_mutex_lock(&decoders->lock);
    if (decoders->nidle < decoders->keep) {
        decoders->idle[decoders->nidle++] = decoder;
        decoder = NULL;
    }
    pthread_mutex_unlock(&decoders->lock);
    chunk_decoder_free(decoder);
}
