/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "frame/frame_keys.h"

/* A chunk that is still to be matched. */
struct candidate {
    uint64_t check;
    uint64_t chunk_no;
};

static int by_check(const void *a, const void *b)
{
    const struct candidate *left = a;
    const struct candidate *right = b;

    if (left->check != right->check)
        return left->check < right->check ? -1 : 1;
    return (left->chunk_no > right->chunk_no) -
           (left->chunk_no < right->chunk_no);
}

/* Give a key away. */
static void assign(struct frame_keys *old, uint64_t from,
                   struct frame_keys *now, uint64_t to)
{
    now->keys[to] = old->keys[from];
    old->keys[from] = 0;
}

/* List the chunks with a check that have a key, or that have none, in the order
   of their checks.  Returns their number. */
static size_t list(const struct frame_keys *keys, bool with_key,
                   struct candidate *out)
{
    size_t n = 0;

    for (uint64_t i = 0; i < keys->n; i++)
        if (keys->checks[i] != 0 && (keys->keys[i] != 0) == with_key)
            out[n++] = (struct candidate){ keys->checks[i], i };
    qsort(out, n, sizeof(*out), by_check);
    return n;
}

static void match_places(struct frame_keys *old, struct frame_keys *now)
{
    for (uint64_t i = 0; i < old->n && i < now->n; i++)
        if (now->checks[i] != 0 && now->checks[i] == old->checks[i])
            assign(old, i, now, i);
}

static int match_checks(struct frame_keys *old, struct frame_keys *now)
{
    struct candidate *from = calloc((size_t)old->n + 1, sizeof(*from));
    struct candidate *to = calloc((size_t)now->n + 1, sizeof(*to));
    size_t nfrom = from && to ? list(old, true, from) : 0;
    size_t nto = from && to ? list(now, false, to) : 0;
    int r = from && to ? 0 : -ENOMEM;

    for (size_t i = 0, k = 0; i < nfrom && k < nto;) {
        if (from[i].check == to[k].check)
            assign(old, from[i++].chunk_no, now, to[k++].chunk_no);
        else if (from[i].check < to[k].check)
            i++;
        else
            k++;
    }
    free(from);
    free(to);
    return r;
}

static void match_rest(struct frame_keys *old, struct frame_keys *now)
{
    if (old->n != now->n)
        return;
    for (uint64_t i = 0; i < now->n; i++)
        if (now->keys[i] == 0 && old->keys[i] != 0)
            assign(old, i, now, i);
}

int frame_keys_match(struct frame_keys *old, struct frame_keys *now)
{
    int r;

    now->next = old->next;
    match_places(old, now);
    r = match_checks(old, now);
    if (r == 0)
        match_rest(old, now);
    return r;
}
