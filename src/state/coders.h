/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_CODERS_H
#define STATE_CODERS_H

#include <pthread.h>

#include "chunk/chunk.h"
#include "chunk/chunk_encode.h"

/*
 * Chunk decoders and encoders for the threads that need one just now.
 *
 * Locking.  `lock` is a leaf and guards the idle ones and their numbers.
 */
struct coders {
    unsigned cpu;  /* see cpu_features() */
    unsigned keep; /* how many idle ones to keep of each */
    pthread_mutex_t lock;
    struct chunk_decoder **decoders;
    struct chunk_encoder **encoders;
    unsigned ndecoders;
    unsigned nencoders;
};

/* Returns 0 or -ENOMEM. */
int coders_init(struct coders *coders, unsigned keep);

/* All must have been put back.  Accepts a zeroed struct. */
void coders_fini(struct coders *coders);

/* Take an idle coder, or make one.  Return 0 or -ENOMEM. */
int coders_get_decoder(struct coders *coders, struct chunk_decoder **out);
int coders_get_encoder(struct coders *coders, struct chunk_encoder **out);

/* Give one back, to be kept or freed. */
void coders_put_decoder(struct coders *coders, struct chunk_decoder *decoder);
void coders_put_encoder(struct coders *coders, struct chunk_encoder *encoder);

#endif
