/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_GENERATION_H
#define FRAME_GENERATION_H

#include <stdatomic.h>
#include <stdbool.h>

#include "frame/watch.h"

/*
 * The time in which one state of a frame is the newest.
 *
 * A frame that this process changes holds the generation of the state that it
 * reads.  Places that the next commit frees are not reused before the last
 * reference is dropped, because readers of that state may still look there.  Each
 * generation holds a reference to the next, so it also outlives older readers.
 *
 * The writer allocates generations, as the first member of a struct of its own.
 */
struct generation {
    atomic_uint nrefs;
    struct watch *watch; /* of the frame; lives as long as the writer's
                                      struct */
    const atomic_uint
        *overwrites;         /* counts how often the start of the frame was
                                      overwritten; likewise */
    unsigned noverwrites;    /* that, when this generation began */
    struct generation *next; /* NULL until this one has ended */

    /* Free the struct, because the last reference is gone; `next` is put later. */
    void (*release)(struct generation *generation);
};

/* Take one more reference. */
struct generation *generation_get(struct generation *generation);

/* Accepts NULL. */
void generation_put(struct generation *generation);

/* Have the bytes that this generation had at the start of the frame been
   overwritten? */
bool generation_is_overwritten(const struct generation *generation);

#endif
