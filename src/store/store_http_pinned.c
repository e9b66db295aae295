/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_http_pinned.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_backend.h"

struct pinned {
    struct store store;
    struct store *wrapped; /* a reference */
    struct store_http_tag tag;
    void (*report)(const char *line);
    atomic_bool moved;
    char name[];
};

static bool is_same(const struct store_http_tag *a,
                    const struct store_http_tag *b)
{
    if (a->etag[0] != '\0' && b->etag[0] != '\0')
        return strcmp(a->etag, b->etag) == 0;
    return a->size == b->size && a->modified == b->modified;
}

static void tell(const struct pinned *pinned)
{
    char *line;

    if (!pinned->report ||
        asprintf(&line, "%s: has changed since the ticket was made",
                 pinned->name) < 0)
        return;
    pinned->report(line);
    free(line);
}

/* Check the state of the index after it was used, if it was opened at all. */
static int check(struct pinned *pinned)
{
    struct store_http_tag tag;
    int r = store_http_get_tag(pinned->wrapped, &tag);

    if (r == -ESTALE)
        return 0;
    if (r < 0 || is_same(&tag, &pinned->tag))
        return r;
    if (!atomic_exchange(&pinned->moved, true))
        tell(pinned);
    return -ESTALE;
}

static int pinned_open(struct store *store, const char *name,
                       struct store_object **out)
{
    struct pinned *pinned = (struct pinned *)store;
    struct store_object *object;
    int r = atomic_load(&pinned->moved)
                ? -ESTALE
                : store_open(pinned->wrapped, name, &object);

    if (r < 0)
        return r;
    r = check(pinned);
    if (r < 0)
        store_object_close(object);
    else
        *out = object;
    return r;
}

static int pinned_stat(struct store *store, const char *name,
                       struct store_stat *out)
{
    struct pinned *pinned = (struct pinned *)store;
    struct store_stat stat;
    int r = atomic_load(&pinned->moved)
                ? -ESTALE
                : store_stat(pinned->wrapped, name, &stat);

    if (r == 0)
        r = check(pinned);
    if (r == 0)
        *out = stat;
    return r;
}

static void pinned_expect(struct store *store, uint64_t unit)
{
    store_expect(((struct pinned *)store)->wrapped, unit);
}

static int pinned_list(struct store *store,
                       int (*visit)(void *context, const char *name),
                       void *context)
{
    return store_list(((struct pinned *)store)->wrapped, visit, context);
}

static void pinned_close(struct store *store)
{
    store_close(((struct pinned *)store)->wrapped);
    free(store);
}

static const struct store_ops pinned_ops = {
    .directory = true,
    .open = pinned_open,
    .close = pinned_close,
    .stat = pinned_stat,
    .expect = pinned_expect,
    .list = pinned_list,
};

int store_http_pinned_open(struct store *store,
                           const struct store_http_tag *tag,
                           void (*report)(const char *line), const char *name,
                           struct store **out)
{
    struct pinned *pinned = calloc(1, sizeof(*pinned) + strlen(name) + 1);

    if (!pinned) {
        store_close(store);
        return -ENOMEM;
    }
    store_init(&pinned->store, &pinned_ops);
    pinned->wrapped = store;
    pinned->tag = *tag;
    pinned->report = report;
    strcpy(pinned->name, name);
    *out = &pinned->store;
    return 0;
}
