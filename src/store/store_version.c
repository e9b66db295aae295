/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/store_version.h"

#include <sys/stat.h>

#include "base/hash.h"

/*
 * Times of files are as coarse as the clock tick.  If a file changed less than
 * this time ago, another change may leave its times as they are.
 */
static const double SETTLE_SECONDS = 0.1;

/* The same for file systems whose times are whole seconds, or even ones, as
   those of sshfs, of ext4 with small inodes, and of FAT. */
static const double SETTLE_COARSE_SECONDS = 3;

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

enum store_relation store_version_compare(struct store_version a,
                                          struct store_version b)
{
    if (a.dev != b.dev || a.ino != b.ino)
        return VERSION_OTHER_OBJECT;
    if (a.size != b.size || !same_time(a.mtime, b.mtime))
        return VERSION_SAME_OBJECT;
    return same_time(a.ctime, b.ctime) ? VERSION_SAME : VERSION_SAME_CONTENT;
}

static uint64_t hash_time(uint64_t hash, struct timespec time)
{
    return hash_mix(hash_mix(hash, (uint64_t)time.tv_sec),
                    (uint64_t)time.tv_nsec);
}

uint64_t store_version_hash(struct store_version version,
                            enum store_relation relation)
{
    uint64_t hash = hash_mix(version.dev, version.ino);

    if (relation >= VERSION_SAME_CONTENT)
        hash = hash_time(hash_mix(hash, version.size), version.mtime);
    if (relation >= VERSION_SAME)
        hash = hash_time(hash, version.ctime);
    return hash | 1;
}

uint64_t store_version_stamp(struct store_version version)
{
    return version.settled ? store_version_hash(version, VERSION_SAME) : 0;
}

/* Would a change at the time `now` get another time than this one?  A time in
   the future was set by a program, or by a machine with another clock. */
static bool is_settled(struct timespec time, struct timespec now)
{
    double age = difftime(now.tv_sec, time.tv_sec) +
                 1e-9 * (double)(now.tv_nsec - time.tv_nsec);
    double settle = time.tv_nsec == 0 ? SETTLE_COARSE_SECONDS : SETTLE_SECONDS;

    return age > settle || age < -settle;
}

struct store_version store_version_of(const struct stat *st)
{
    struct timespec now;

    /* File systems take their times from this clock. */
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (struct store_version){
        .dev = st->st_dev,
        .ino = st->st_ino,
        .size = (uint64_t)st->st_size,
        .mtime = st->st_mtim,
        .ctime = st->st_ctim,
        .settled = is_settled(st->st_mtim, now) && is_settled(st->st_ctim, now),
    };
}

bool store_version_same_object(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}
