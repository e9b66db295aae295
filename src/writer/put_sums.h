/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_PUT_SUMS_H
#define WRITER_PUT_SUMS_H

#include "chunk/chunk_sums.h"
#include "store/store.h"

/* A chunk that is to be stored with its sums. */
struct put_sums {
    const uint8_t *bytes; /* the chunk, or a copy that has room for sums */
    size_t chunk_len;
    size_t len; /* of everything that is written */
    bool
        summed; /* false: the chunk cannot have sums, and is written as it is */
    uint32_t tag; /* once it was written; 0: it has no sums */

    /* Private. */
    uint64_t off; /* of the second piece */
    struct chunk *chunk;
    struct chunk_sums_place place;
    uint8_t *wider; /* `bytes`, if the caller's chunk had no room */
    uint8_t *copy; /* what lies before the second piece, with the record; or the
                       record alone */
};

/*
 * Prepare a chunk.
 *
 *  bytes, len  the chunk, which must stay until put_sums_fini()
 *  sums        false: write the chunk as it is
 *
 * The caller calls put_sums_fini() in any case.  Returns 0 or -ENOMEM.
 */
int put_sums_init(struct put_sums *put, const uint8_t *bytes, size_t len,
                  bool sums);
void put_sums_fini(struct put_sums *put);

/*
 * Write the chunk.
 *
 *  off    in the object
 *  place  its place as in the index
 *
 * Returns 0 or an error of the store.
 */
int put_sums_write(struct put_sums *put, struct store_object *object,
                   uint64_t off, uint64_t place);

/* A stored chunk that was copied with its sums from another place. */
struct moved_chunk {
    struct store_object *object;
    uint64_t off;  /* in the object */
    uint64_t from; /* the places as in the index */
    uint64_t to;
    uint32_t tag; /* the tag of the chunk, or 0; receives the new one */
};

/* Make the sums of a chunk valid for its new place.  If they were not valid for
   the old one, or it is not the chunk that belongs to the tag, they remain
   invalid, and the tag stays.  Returns 0, -ENOMEM or an error of the store. */
int put_sums_move(struct moved_chunk *moved);

#endif
