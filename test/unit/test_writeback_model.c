/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "fixture.h"
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
static size_t pick_len(struct fixture *fixture, uint64_t off)
{
    uint32_t most =
        pick(&fixture->random, 4) == 0 ? 4 * fixture->kind.chunksize : 5000;
    size_t len = 1 + pick(&fixture->random, most);

    return len < fixture->capacity - off ? len : fixture->capacity - off;
}

static void copy_step(struct fixture *fixture, uint64_t off, size_t len,
                      bool aligned)
{
    uint64_t to = pick(&fixture->random, (uint32_t)fixture->capacity);

    if (aligned) {
        off -= off % fixture->kind.chunksize;
        to -= to % fixture->kind.chunksize;
    }
    if (len > fixture->capacity - to)
        len = fixture->capacity - to;
    if (off + len <= to || to + len <= off)
        fixture_copy(fixture, off, to, len);
}

static void random_step(struct fixture *fixture)
{
    uint32_t chunksize = fixture->kind.chunksize;
    uint64_t off = pick(&fixture->random, (uint32_t)fixture->capacity);
    size_t len = pick_len(fixture, off);

    switch (pick(&fixture->random, 18)) {
    case 0:
        fixture_truncate(fixture, off);
        break;
    case 1:
        fixture_truncate(fixture, off - off % chunksize);
        break;
    case 2:
        fixture_zero(fixture, off, len);
        break;
    case 3:
        fixture_zero(fixture, off - off % chunksize, 2 * (uint64_t)chunksize);
        break;
    case 4:
        fixture_sync(fixture);
        break;
    case 5:
        if (pick(&fixture->random, 4) == 0)
            fixture_reopen(fixture);
        break;
    case 6:
    case 7:
        if (off < fixture->size)
            fixture_check_range(
                fixture, off,
                len < fixture->size - off ? len : fixture->size - off);
        break;
    case 8:
        copy_step(fixture, off, len, pick(&fixture->random, 2));
        break;
    default:
        fixture_write(fixture, off, len);
        break;
    }
}

static void random_changes(const struct fixture_kind *kind, uint64_t nsteps)
{
    struct fixture fixture;

    fixture_init(&fixture, kind);
    fixture.random = setting("FRAMEFS_MODEL_SEED", 42);
    nsteps = setting("FRAMEFS_MODEL_STEPS", nsteps);
    for (uint64_t i = 0; i < nsteps; i++) {
        random_step(&fixture);
        if (i % 32 == 0)
            fixture_check(&fixture);
    }
    fixture_check(&fixture);
    fixture_reopen(&fixture);
    fixture_check(&fixture);
    fixture_fini(&fixture);
}

START_TEST(file_holds_what_was_written)
{
    struct fixture_kind kind = { .typesize = 4, .commit = 1 };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 200);
}
END_TEST

START_TEST(file_larger_than_cache_holds_what_was_written)
{
    struct fixture_kind kind = { .cache_size = 1 << 20, .commit = 1 };

    random_changes(&kind, 400);
    kind.sparse = true;
    random_changes(&kind, 200);
}
END_TEST

START_TEST(file_of_small_chunks_in_a_tiny_cache_holds_what_was_written)
{
    struct fixture_kind kind = {
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
    struct fixture_kind kind = {
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
    struct fixture_kind kind = {
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
            struct fixture_kind kind = {
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
