/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CHANGE_MODEL_H
#define TEST_CHANGE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/frame_writer.h"

enum {
    MODEL_CHUNKSIZE = 640,
    MODEL_TYPESIZE = 4,
    MODEL_CHUNKS_MAX = 24,
    MODEL_LAYERS = 3,
};

struct model_chunk {
    size_t len;
    uint8_t bytes[MODEL_CHUNKSIZE];
};

/* The content that a frame should have: its chunks and vlmetalayers. */
struct model {
    bool variable;
    size_t nchunks;
    struct model_chunk chunks[MODEL_CHUNKS_MAX];
    char layers[MODEL_LAYERS][32]; /* "layer0" and so on; "" if absent */
};

/* Parameters of new frames with the model's sizes. */
extern const struct frame_params model_params;

/*
 * Return a pseudo-random number below `below`.  The same `state` gives the same
 * numbers; it may start with any value.
 */
uint32_t model_random(uint64_t *state, uint32_t below);

/*
 * Make a random change to a frame and to the model.
 *
 * Returns the result of the change.  The model only changes on success.
 */
int model_step(struct model *model, struct frame_writer *writer,
               uint64_t *random);

/* Remove one chunk. */
void model_delete(struct model *model, struct frame_writer *writer, size_t at);

/* Remove all chunks. */
void model_empty(struct model *model, struct frame_writer *writer);

/* Append one chunk of random bytes.  Returns the result of the change. */
int model_append(struct model *model, struct frame_writer *writer, size_t len,
                 uint64_t *random);

/* Does the frame pass a check, and does it hold the same as the model? */
bool model_matches(const struct model *model, struct frame *frame);

/* Fail the test unless model_matches(). */
void model_check(const struct model *model, struct frame *frame);

#endif
