/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/sync_set.h"

#include <stdlib.h>

bool sync_set_has(const struct sync_set *set, dev_t dev)
{
    for (size_t i = 0; i < set->ndevs; i++)
        if (set->devs[i] == dev)
            return true;
    return false;
}

void sync_set_add(struct sync_set *set, dev_t dev)
{
    dev_t *devs = realloc(set->devs, (set->ndevs + 1) * sizeof(*devs));

    if (!devs)
        return;
    set->devs = devs;
    set->devs[set->ndevs++] = dev;
}

void sync_set_fini(struct sync_set *set)
{
    free(set->devs);
}
