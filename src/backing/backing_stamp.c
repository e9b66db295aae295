/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_stamp.h"

#include <errno.h>
#include <time.h>

#include "base/hash.h"
#include "store/store_local.h"

/*
 * Times of files are as coarse as the clock tick.  If a file changed less than
 * this time ago, another change may leave its times as they are.
 */
static const double SETTLE_SECONDS = 0.1;

uint64_t backing_content_stamp(const struct stat *st)
{
    uint64_t hash = hash_mix(st->st_dev, st->st_ino);

    hash = hash_mix(hash, (uint64_t)st->st_size);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_sec);
    hash = hash_mix(hash, (uint64_t)st->st_mtim.tv_nsec);
    return hash | 1;
}

uint64_t backing_stamp(const struct stat *st)
{
    uint64_t hash = backing_content_stamp(st);

    hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_sec);
    hash = hash_mix(hash, (uint64_t)st->st_ctim.tv_nsec);
    return hash | 1;
}

uint64_t backing_settled_stamp(const struct stat *st)
{
    struct timespec now;
    double age;

    clock_gettime(CLOCK_REALTIME, &now);
    age = difftime(now.tv_sec, st->st_ctim.tv_sec) +
          1e-9 * (double)(now.tv_nsec - st->st_ctim.tv_nsec);
    return age < 0 || age > SETTLE_SECONDS ? backing_stamp(st) : 0;
}

int backing_check_seen(struct store *store, const struct stat *st)
{
    struct store_stat found;
    int r = store_self(store, &found);

    if (r < 0)
        return r;
    return found.version.ino == st->st_ino && found.version.dev == st->st_dev ? 0 : -ESTALE;
}
