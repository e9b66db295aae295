/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/local_seen.h"

#include <stdlib.h>
#include <string.h>

struct local_seen {
    struct store *store; /* NULL: nothing is kept */
    char name[NAME_MAX + 1];
};

struct local_seen *local_seen_new(void)
{
    struct local_seen *seen = malloc(sizeof(*seen));

    if (seen)
        seen->store = NULL;
    return seen;
}

void local_seen_free(struct local_seen *seen)
{
    if (seen)
        store_close(seen->store);
    free(seen);
}

void local_seen_keep(struct local_seen *seen, const char *name,
                     struct store *store)
{
    if (!seen) {
        store_close(store);
        return;
    }
    store_close(seen->store);
    seen->store = store;
    memcpy(seen->name, name, strlen(name) + 1);
}

struct store *local_seen_take(const struct backing_place *place)
{
    struct local_seen *seen = place->holder;
    struct store *store;

    if (!seen || !seen->store || strcmp(seen->name, place->name) != 0)
        return NULL;
    store = seen->store;
    seen->store = NULL;
    return store;
}
