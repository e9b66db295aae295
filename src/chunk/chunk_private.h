/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CHUNK_PRIVATE_H
#define CHUNK_CHUNK_PRIVATE_H

#include "chunk/chunk.h"
#include "chunk/codec.h"
#include "chunk/filter.h"

/* An opened chunk.  All fields are constant then. */
struct chunk {
    struct chunk_header header;
    struct chunk_items items;

    /* The rest is for CHUNK_BLOCKS and CHUNK_VLBLOCKS, except `value`. */
    struct filter_pipeline pipeline; /* empty if filters must not be undone */
    const struct codec *codec;       /* NULL if this build lacks it */
    struct codec_dict *dict;         /* NULL if there is none to use */
    uint32_t nstreams;               /* in a block of full size */
    uint32_t data_off;               /* end of block starts and dictionary */
    uint32_t *starts;                /* position of each block in the chunk */
    uint32_t *sorted; /* the same, ascending; NULL if `starts` ascend */
    uint8_t *value;   /* CHUNK_VALUE: the item */
};

#endif
