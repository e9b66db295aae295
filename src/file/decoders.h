/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_DECODERS_H
#define FILE_DECODERS_H

#include <pthread.h>

#include "chunk/chunk.h"

/*
 * Chunk decoders for the threads that need one just now.
 *
 * Locking.  `lock` is a leaf and guards `idle` and `nidle`.
 */
struct decoders {
    unsigned cpu;  /* see cpu_features() */
    unsigned keep; /* how many idle ones to keep */
    pthread_mutex_t lock;
    struct chunk_decoder **idle;
    unsigned nidle;
};

/* Returns 0 or -ENOMEM. */
int decoders_init(struct decoders *decoders, unsigned keep);

/* All decoders must have been put back.  Accepts a zeroed struct. */
void decoders_fini(struct decoders *decoders);

/* Take an idle decoder, or make one.  Returns 0 or -ENOMEM. */
int decoders_get(struct decoders *decoders, struct chunk_decoder **out);
void decoders_put(struct decoders *decoders, struct chunk_decoder *decoder);

#endif
