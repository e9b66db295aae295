/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/known_frames.h"

#include <stdlib.h>

enum {
    NSTAMPS = 1 << 16 /* a power of two */
};

void known_frames_init(struct known_frames *known)
{
    known->stamps = calloc(NSTAMPS, sizeof(*known->stamps));
}

void known_frames_fini(struct known_frames *known)
{
    free(known->stamps);
    known->stamps = NULL;
}

/* The lowest bit is the same in all stamps. */
static atomic_uint_least64_t *find(const struct known_frames *known,
                                   uint64_t stamp)
{
    return &known->stamps[stamp >> 1 & (NSTAMPS - 1)];
}

bool known_frames_has(const struct known_frames *known, uint64_t stamp)
{
    return known->stamps && stamp != 0 &&
           atomic_load_explicit(find(known, stamp), memory_order_relaxed) ==
               stamp;
}

void known_frames_add(struct known_frames *known, uint64_t stamp)
{
    if (known->stamps && stamp != 0)
        atomic_store_explicit(find(known, stamp), stamp, memory_order_relaxed);
}
