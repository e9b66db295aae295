/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/generation.h"

#include <stddef.h>

struct generation *generation_get(struct generation *generation)
{
    atomic_fetch_add(&generation->nrefs, 1);
    return generation;
}

void generation_put(struct generation *generation)
{
    while (generation && atomic_fetch_sub(&generation->nrefs, 1) == 1) {
        struct generation *next = generation->next;

        generation->release(generation);
        generation = next;
    }
}

bool generation_is_overwritten(const struct generation *generation)
{
    return atomic_load(generation->overwrites) != generation->noverwrites;
}
