/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "bed.h"
#include "suite.h"

/*
 * Random changes of a file, compared with bytes in memory. FRAMEFS_MODEL_STEPS
 * sets their number, and FRAMEFS_MODEL_SEED selects them.
 */

static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = getenv(name);

    return text ? strtoull(text, NULL, 10) : usual;
}

/* Choose a length at `off`, short in most cases. */
static size_t pick_len(struct bed *bed, uint64_t off)
{
    uint32_t most = pick(&bed->random, 4) == 0 ? 4 * bed->kind.chunksize : 5000;
    size_t len = 1 + pick(&bed->random, most);

    return len < bed->capacity - off ? len : bed->capacity - off;
}

static void copy_step(struct bed *bed, uint64_t off, size_t len, bool aligned)
{
    uint64_t to = pick(&bed->random, (uint32_t)bed->capacity);

    if (aligned) {
        off -= off % bed->kind.chunksize;
        to -= to % bed->kind.chunksize;
    }
    if (len > bed->capacity - to)
        len = bed->capacity - to;
    if (off + len <= to || to + len <= off)
        bed_copy(bed, off, to, len);
}

static void random_step(struct bed *bed)
{
    uint32_t chunksize = bed->kind.chunksize;
    uint64_t off = pick(&bed->random, (uint32_t)bed->capacity);
    size_t len = pick_len(bed, off);

    switch (pick(&bed->random, 18)) {
    case 0:
        bed_truncate(bed, off);
        break;
    case 1:
        bed_truncate(bed, off - off % chunksize);
        break;
    case 2:
        bed_zero(bed, off, len);
        break;
    case 3:
        bed_zero(bed, off - off % chunksize, 2 * (uint64_t)chunksize);
        break;
    case 4:
        bed_sync(bed);
        break;
    case 5:
        if (pick(&bed->random, 4) == 0)
            bed_reopen(bed);
        break;
    case 6:
    case 7:
        if (off < bed->size)
            bed_check_range(bed, off,
                            len < bed->size - off ? len : bed->size - off);
        break;
    case 8:
        copy_step(bed, off, len, pick(&bed->random, 2));
        break;
    default:
        bed_write(bed, off, len);
        break;
    }
}

static void random_changes(const struct bed_kind *kind, uint64_t nsteps)
{
    struct bed bed;

    bed_init(&bed, kind);
    bed.random = setting("FRAMEFS_MODEL_SEED", 42);
    nsteps = setting("FRAMEFS_MODEL_STEPS", nsteps);
    for (uint64_t i = 0; i < nsteps; i++) {
        random_step(&bed);
        if (i % 32 == 0)
            bed_check(&bed);
    }
    bed_check(&bed);
    bed_reopen(&bed);
    bed_check(&bed);
    bed_fini(&bed);
}

START_TEST(file_holds_what_was_written)
{
    struct bed_kind kind = { .typesize = 4, .commit = 1 };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 200);
}
END_TEST

START_TEST(file_larger_than_cache_holds_what_was_written)
{
    struct bed_kind kind = { .cache_size = 1 << 20, .commit = 1 };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 200);
}
END_TEST

START_TEST(file_of_small_chunks_in_a_tiny_cache_holds_what_was_written)
{
    struct bed_kind kind = {
        .typesize = 4,
        .chunksize = 4096,
        .nchunks = 100,
        .cache_size = 64 << 10,
    };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 400);
}
END_TEST

START_TEST(file_of_odd_chunks_holds_what_was_written)
{
    struct bed_kind kind = {
        .typesize = 7,
        .chunksize = 5005,
        .nchunks = 40,
        .cache_size = 128 << 10,
    };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 400);
}
END_TEST

START_TEST(file_holds_what_was_written_beside_commits)
{
    struct bed_kind kind = {
        .chunksize = 4096,
        .nchunks = 100,
        .cache_size = 256 << 10,
        .flushed_always = true,
    };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 400);
}
END_TEST

START_TEST(file_in_a_cache_of_few_chunks_holds_what_was_written)
{
    for (uint32_t nchunks = 2; nchunks <= 5; nchunks++) {
        for (uint32_t chunksize = 16384; chunksize <= 1 << 20; chunksize *= 4) {
            struct bed_kind kind = {
                .chunksize = chunksize,
                .nchunks = 8,
                .cache_size = (size_t)nchunks * chunksize,
                .sparse = nchunks % 2 == 0,
            };

            random_changes(&kind, chunksize < 1 << 20 ? 150 : 40);
        }
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        file_holds_what_was_written,
        file_larger_than_cache_holds_what_was_written,
        file_of_small_chunks_in_a_tiny_cache_holds_what_was_written,
        file_of_odd_chunks_holds_what_was_written,
        file_holds_what_was_written_beside_commits,
        file_in_a_cache_of_few_chunks_holds_what_was_written,
        NULL,
    };

    return suite_run("writeback_model", tests);
}
