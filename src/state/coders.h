/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_CODERS_H
#define STATE_CODERS_H

#include <pthread.h>

#include "chunk/chunk.h"
#include "chunk/chunk_encode.h"

/*
 * Chunk decoders and encoders, which threads borrow while they need one.
 *
 * Locking.  `lock` is a leaf and guards the lists of idle coders and their
 * lengths.
 */
struct coders {
    unsigned cpu;  /* see cpu_features() */
    unsigned keep; /* number of idle decoders, and of idle encoders, to keep */
    pthread_mutex_t lock;
    struct chunk_decoder **decoders;
    struct chunk_encoder **encoders;
    unsigned ndecoders;
    unsigned nencoders;
};

/* Returns 0 or -ENOMEM. */
int coders_init(struct coders *coders, unsigned keep);

/* The caller has put back all coders.  Accepts a zeroed struct. */
void coders_fini(struct coders *coders);

/* Take an idle coder, or make one if there is none.  Return 0 or -ENOMEM. */
int coders_get_decoder(struct coders *coders, struct chunk_decoder **out);
int coders_get_encoder(struct coders *coders, struct chunk_encoder **out);

/* Put back a coder, which is kept if fewer than `keep` are idle, and else
   freed. */
void coders_put_decoder(struct coders *coders, struct chunk_decoder *decoder);
void coders_put_encoder(struct coders *coders, struct chunk_encoder *encoder);

#endif
