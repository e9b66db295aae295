/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_CHUNK_PRIVATE_H
#define FRAME_FRAME_CHUNK_PRIVATE_H

#include "frame/blocks.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"
#include "store/store_settling.h"

enum {
    FEW_SUMS_LEN = 40, /* bytes of a record for a few blocks */
};

/* A chunk and the memory that it owns. */
struct open_chunk {
    struct frame_chunk pub;     /* first, so that the structs convert to each
                                   other */
    struct frame_source source; /* closed; kept to locate faults */
    struct chunk *chunk;        /* NULL if only the index knows the chunk */
    uint8_t *bytes;             /* the whole chunk if it is short, else NULL */
    uint8_t *pattern;           /* NULL if the pattern is shared */
    uint8_t *sums;              /* the record; NULL if there is none */
    uint8_t few[FEW_SUMS_LEN];  /* room for a short record */
};

/* Tries to read bytes that match their sum. */
struct chunk_settling {
    struct store_settling settling;
    bool begun;
};

/*
 * Another program may be overwriting a chunk, and only then write a header that
 * tells of it.  So bytes that do not match their sum are read again while their
 * file is changing.
 *
 *  settling  zeroed at first
 *
 * Returns whether to try again, after a pause.
 */
bool frame_chunk_settle(struct store_object *object, int r,
                        struct chunk_settling *settling,
                        const struct fault *fault);

#endif
