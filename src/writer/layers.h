/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_LAYERS_H
#define WRITER_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "frame/metalayer.h"

enum {
    LAYERS_BYTES_MAX = 64 << 20 /* total length of a frame's metalayers in
                                   memory */
};

/* A metalayer in memory, to be written. */
struct layer {
    char name[METALAYER_NAME_MAX + 1];
    uint8_t *bytes; /* as stored; a vlmetalayer is a chunk */
    uint32_t len;
};

/* The metalayers of one kind, in order.  Starts zeroed. */
struct layers {
    struct layer *layers;
    size_t nlayers;
};

/*
 * Read all metalayers of a frame as they are stored.  A user meta becomes the
 * vlmetalayer "usermeta"; a trailer with a user meta has no vlmetalayers.
 *
 * Returns 0, -EBADMSG, -ENOMEM, -E2BIG if they take more than 64 MiB, or an
 * error of the store.
 */
int layers_read(struct frame *frame, struct layers *fixed,
                struct layers *variable, struct fault *fault);

/* Accepts a zeroed list. */
void layers_free(struct layers *layers);

/* Returns NULL if the name does not exist. */
struct layer *layers_find(const struct layers *layers, const char *name);

/* Set the content of a metalayer, and append the metalayer if its name is new.
   `bytes` belongs to the list on success.  Returns 0 or -ENOMEM. */
int layers_set(struct layers *layers, const char *name, uint8_t *bytes,
               uint32_t len);

/* Remove a metalayer from the list. */
void layers_remove(struct layers *layers, struct layer *layer);

/*
 * Size of the encoded list: map of names, array of contents.
 *
 * Format: frame.md, 3 "Metalayers" and 7 "Trailer".
 */
uint64_t layers_encoded_len(const struct layers *layers);

/*
 * Encode the list.
 *
 *  dst         room for layers_encoded_len() bytes
 *  origin      offset of dst[0] from the point where offsets of contents start
 *  count_from  number of bytes of the map that its size field does not count: 0
 *              in the header, 1 in the trailer
 */
void layers_encode(const struct layers *layers, uint8_t *dst, uint32_t origin,
                   uint32_t count_from);

#endif
