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
    const struct frame_info *info;
    const uint8_t *fingerprint;
    struct frame_sums sums; /* of a frame whose chunks all have sums */
    uint8_t *guard;
    size_t len;
};

/* Does the fingerprint confirm the guard?  Returns 1, 0 or -ENOMEM. */
static int is_right(const struct mending *mending)
{
    uint8_t right[FRAME_FINGERPRINT_LEN];
    int r = frame_sums_fingerprint(mending->info, mending->guard, mending->len,
                                   right);

    return r < 0 ? r : frame_sums_is_fingerprint(mending->fingerprint, right);
}

/* Try the guard of a frame without ranges and groups. */
static int try_plain(struct mending *mending)
{
    mending->len = frame_sums_guard_len(&mending->sums);
    frame_sums_encode(&mending->sums, mending->guard);
    return is_right(mending);
}

/* Look for the only bit of ranges, groups and their counts that is damaged. */
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

/* Try the stored guard with another magic and record. */
static int try_stored(struct mending *mending, const struct frame_guard *stored)
{
    size_t record_len = mending->sums.index_len;
    size_t end;
    int r;

    if (stored->len < FRAME_GUARD_RUNS_OFF + record_len)
        return 0;
    end = stored->len - record_len;
    mending->len = stored->len;
    memcpy(mending->guard, stored->bytes, stored->len);
    memcpy(mending->guard, FRAME_GUARD_MAGIC, FRAME_GUARD_MAGIC_LEN);
    memcpy(mending->guard + end, mending->sums.index, record_len);
    r = is_right(mending);
    return r == 0 ? try_bits(mending, end) : r;
}

int frame_sums_mend(const struct frame_info *info,
                    const struct frame_guard *stored, const uint8_t *index,
                    size_t len, struct frame_sums **out)
{
    struct mending mending = { .info = info,
                               .fingerprint = stored->fingerprint };
    int r = frame_sums_of_index(index, len, &mending.sums);

    if (r < 0)
        return r == -ENOMEM ? r : -EBADMSG;
    mending.guard = malloc(frame_sums_guard_len(&mending.sums) + stored->len);
    r = mending.guard ? try_plain(&mending) : -ENOMEM;
    if (r == 0)
        r = try_stored(&mending, stored);
    if (r == 0)
        r = -EBADMSG;
    if (r > 0)
        r = frame_sums_parse(mending.guard, mending.len, out);
    free(mending.guard);
    free(mending.sums.index);
    return r;
}
