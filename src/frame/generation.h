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
 * reads.  The writer does not reuse space that the next commit frees before the
 * last reference is dropped, because readers of that state may still look
 * there.  Each generation holds a reference to the next one, so it also
 * outlives older readers.
 *
 * The writer allocates a generation as the first member of a struct of its own.
 */
struct generation {
    atomic_uint nrefs;
    struct watch *watch; /* of the frame; lives as long as the writer's
                            struct */
    const atomic_uint
        *overwrites;         /* counts how often the start of the frame was
                                overwritten; lives as long as `watch` */
    unsigned noverwrites;    /* value of that counter when this generation
                                began */
    struct generation *next; /* NULL until this generation has ended */

    /* Free the struct, because the last reference is gone.  generation_put()
       drops the reference to `next` afterwards. */
    void (*release)(struct generation *generation);
};

/* Take one more reference. */
struct generation *generation_get(struct generation *generation);

/* Accepts NULL. */
void generation_put(struct generation *generation);

/* Has the writer overwritten the bytes that this generation had at the start of
   the frame? */
bool generation_is_overwritten(const struct generation *generation);

#endif
