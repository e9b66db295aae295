/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frame/frame_sums.h"

enum {
    SEARCH_MAX = 4096, /* length of a guard in which a damaged bit is found;
                          each bit takes a sum of the whole guard */
};

struct mending {
    const struct frame_guard *stored;
    const struct frame_sums *found;
    uint8_t *guard;
    size_t len;
};

/* Does the fingerprint confirm the guard?  Returns 1, 0 or -ENOMEM. */
static int is_right(const struct mending *mending)
{
    uint8_t right[FRAME_FINGERPRINT_LEN];
    int r = frame_sums_fingerprint(mending->stored->info, mending->guard,
                                   mending->len, right);

    return r < 0
               ? r
               : frame_sums_is_fingerprint(mending->stored->fingerprint, right);
}

/* Try the guard of a frame without ranges and groups. */
static int try_plain(struct mending *mending)
{
    if (!mending->stored->has_layers)
        return 0;
    mending->len = frame_sums_guard_len(mending->found);
    frame_sums_encode(mending->found, mending->guard);
    return is_right(mending);
}

/* Look for the only bit before `end` that is damaged. */
static int try_bits(struct mending *mending, size_t end)
{
    int r = 0;

    if (mending->len > SEARCH_MAX)
        return 0;
    for (size_t bit = 8 * FRAME_GUARD_COUNT_OFF; bit < 8 * end && r == 0;
         bit++) {
        uint8_t mask = (uint8_t)(1u << bit % 8);

        mending->guard[bit / 8] ^= mask;
        r = is_right(mending);
        if (r <= 0)
            mending->guard[bit / 8] ^= mask;
    }
    return r;
}

/* Copy the sums of metalayers and tags into the guard, whose layers end at
   `end`. */
static void put_layers(struct mending *mending, size_t end)
{
    const struct frame_sums *found = mending->found;
    size_t len = (found->nvl + found->nfixed) * FRAME_GUARD_LAYER_LEN;
    uint8_t bytes[FRAME_GUARD_RUNS_OFF];

    frame_sums_encode_start(found, bytes);
    memcpy(mending->guard + FRAME_GUARD_NVL_OFF, bytes + FRAME_GUARD_NVL_OFF,
           FRAME_GUARD_RUNS_OFF - FRAME_GUARD_NVL_OFF);
    if (len > 0)
        memcpy(mending->guard + end - len, found->layers, len);
}

/* Try the stored guard with another magic and record, and if `layers` is set,
   with other sums of metalayers and tags. */
static int try_stored(struct mending *mending, bool layers)
{
    const struct frame_guard *stored = mending->stored;
    const struct frame_sums *found = mending->found;
    size_t layers_len =
        layers ? (found->nvl + found->nfixed) * FRAME_GUARD_LAYER_LEN : 0;
    size_t end;
    int r;

    if (stored->len < FRAME_GUARD_RUNS_OFF + layers_len + found->index_len)
        return 0;
    end = stored->len - found->index_len;
    mending->len = stored->len;
    memcpy(mending->guard, stored->bytes, stored->len);
    memcpy(mending->guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN);
    memcpy(mending->guard + end, found->index, found->index_len);
    if (layers)
        put_layers(mending, end);
    r = is_right(mending);
    return r == 0 ? try_bits(mending, end) : r;
}

int frame_sums_mend(const struct frame_guard *guard, struct frame_sums **out)
{
    struct mending mending = { .stored = guard, .found = guard->found };
    int r;

    mending.guard = malloc(frame_sums_guard_len(guard->found) + guard->len);
    r = mending.guard ? try_plain(&mending) : -ENOMEM;
    if (r == 0)
        r = try_stored(&mending, false);
    if (r == 0 && guard->has_layers)
        r = try_stored(&mending, true);
    if (r == 0)
        r = -EBADMSG;
    if (r > 0)
        r = frame_sums_parse(mending.guard, mending.len, out);
    free(mending.guard);
    return r;
}
