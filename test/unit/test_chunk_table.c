/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "frame/chunk_table.h"
#include "frame/frame_private.h"
#include "suite.h"
#include "writer/index_encode.h"

enum {
    NCHUNKS_MAX = 140 * CHUNK_TABLE_PIECE,
    NSTEPS = 1000,
    NCOMMITS_MAX = NSTEPS,
};

/* A table, and the same chunks as a plain list. */
struct fixture {
    struct chunk_table *table;
    struct chunk_encoder *encoder;
    bool sparse;
    struct table_chunk chunks[NCHUNKS_MAX];
    uint64_t nchunks;
    uint8_t *indexes[NCOMMITS_MAX]; /* the committed ones */
    size_t nindexes;
    uint64_t random;
};

static uint32_t some(struct fixture *fixture, uint64_t below)
{
    fixture->random = fixture->random * 6364136223846793005u + 1;
    return (uint32_t)((fixture->random >> 33) % below);
}

static struct fixture *begin(bool sparse)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    ck_assert_ptr_nonnull(fixture);
    fixture->sparse = sparse;
    ck_assert_int_eq(chunk_table_new(sparse, &fixture->table), 0);
    ck_assert_int_eq(chunk_encoder_new(cpu_features(), &fixture->encoder), 0);
    return fixture;
}

static void end(struct fixture *fixture)
{
    chunk_table_free(fixture->table);
    chunk_encoder_free(fixture->encoder);
    for (size_t i = 0; i < fixture->nindexes; i++)
        free(fixture->indexes[i]);
    free(fixture);
}

static struct table_chunk special(enum chunk_kind kind)
{
    return (struct table_chunk){ .entry = frame_special_entry(kind) };
}

static struct table_chunk stored(const struct fixture *fixture, int64_t entry,
                                 uint32_t cbytes)
{
    return (struct table_chunk){ .entry = entry,
                                 .cbytes = fixture->sparse ? 1 : cbytes };
}

static struct table_chunk some_chunk(struct fixture *fixture)
{
    switch (some(fixture, 4)) {
    case 0:
        return special(CHUNK_ZEROS);
    case 1:
        return special(CHUNK_NANS);
    default:
        return stored(fixture, some(fixture, 1 << 30),
                      32 + some(fixture, 1000));
    }
}

/* Store the content of the table in an index. */
static void commit(struct fixture *fixture)
{
    struct index_source source;
    struct store_object *object;
    struct store *store;
    struct index *index;
    struct fault fault;
    uint8_t *bytes;
    size_t len;

    if (fixture->nchunks == 0) {
        chunk_table_commit(fixture->table, NULL, NULL);
        return;
    }
    ck_assert_int_eq(
        index_encode(fixture->encoder, fixture->table, 0, &bytes, &len), 0);
    ck_assert_int_eq(store_mem_open(bytes, len, &store), 0);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    store_close(store);
    source = (struct index_source){
        .object = object, .end = len, .head = bytes, .head_len = len
    };
    ck_assert_int_eq(index_open(&source, &index, &fault), 0);
    chunk_table_commit(fixture->table, object, index);
    fixture->indexes[fixture->nindexes++] = bytes;
}

static void check_chunk(struct fixture *fixture, uint64_t chunk_no)
{
    const struct table_chunk *expected = &fixture->chunks[chunk_no];
    struct table_chunk chunk;

    /* A passing assertion would cost a system call. */
    if (chunk_table_get(fixture->table, chunk_no, &chunk) < 0 ||
        chunk.entry != expected->entry || chunk.cbytes != expected->cbytes)
        ck_abort_msg("chunk %llu differs", (unsigned long long)chunk_no);
}

static void check_stored(struct fixture *fixture)
{
    uint64_t next = 0;
    struct table_chunk chunk;

    for (uint64_t i = 0; i < fixture->nchunks; i++) {
        if (fixture->chunks[i].entry < 0)
            continue;
        if (chunk_table_next_stored(fixture->table, &next, &chunk) != 1 ||
            next++ != i || chunk.entry != fixture->chunks[i].entry)
            ck_abort_msg("chunk %llu is not found", (unsigned long long)i);
    }
    ck_assert_int_eq(chunk_table_next_stored(fixture->table, &next, &chunk), 0);
}

/* Compare all chunks, and the sums over them. */
static void check(struct fixture *fixture)
{
    uint64_t cbytes = 0;
    uint64_t end = 0;

    ck_assert_uint_eq(chunk_table_count(fixture->table), fixture->nchunks);
    for (uint64_t i = 0; i < fixture->nchunks; i++) {
        const struct table_chunk *chunk = &fixture->chunks[i];

        check_chunk(fixture, i);
        if (chunk->entry < 0)
            continue;
        cbytes += chunk->cbytes;
        if ((uint64_t)chunk->entry + chunk->cbytes > end)
            end = (uint64_t)chunk->entry + chunk->cbytes;
    }
    ck_assert_uint_eq(chunk_table_cbytes(fixture->table), cbytes);
    ck_assert_uint_eq(chunk_table_end(fixture->table), end);
    check_stored(fixture);
}

static void check_count(struct fixture *fixture)
{
    uint64_t first = some(fixture, fixture->nchunks + 1);
    uint64_t n = some(fixture, fixture->nchunks - first + 1);
    uint64_t expected = 0;
    uint64_t count;

    for (uint64_t i = first; i < first + n; i++)
        expected += fixture->chunks[i].entry >= 0;
    ck_assert_int_eq(chunk_table_count_stored(fixture->table, first, n, &count),
                     0);
    ck_assert_uint_eq(count, expected);
}

static void check_run(struct fixture *fixture)
{
    uint64_t first = some(fixture, fixture->nchunks);
    struct table_chunk chunk;
    uint64_t n;

    ck_assert_int_eq(chunk_table_get_run(fixture->table, first, &chunk, &n), 0);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_le(first + n, fixture->nchunks);
    for (uint64_t i = first; i < first + n; i++)
        if (fixture->chunks[i].entry != chunk.entry)
            ck_abort_msg("chunk %llu differs", (unsigned long long)i);
}

static void set(struct fixture *fixture)
{
    uint64_t chunk_no = some(fixture, fixture->nchunks);
    struct table_chunk chunk = some_chunk(fixture);

    ck_assert_int_eq(chunk_table_set(fixture->table, chunk_no, &chunk), 0);
    fixture->chunks[chunk_no] = chunk;
}

/* Replace a range in the list and in the table. */
static void splice(struct fixture *fixture, uint64_t first, uint64_t nremoved,
                   struct table_chunk chunk, uint64_t nadded)
{
    struct table_chunk *at = fixture->chunks + first;
    uint64_t rest = fixture->nchunks - first - nremoved;

    if (fixture->nchunks - nremoved + nadded > NCHUNKS_MAX)
        return;
    ck_assert_int_eq(
        chunk_table_splice(fixture->table, first, nremoved, &chunk, nadded), 0);
    memmove(at + nadded, at + nremoved, rest * sizeof(at[0]));
    for (uint64_t i = 0; i < nadded; i++)
        at[i] = chunk;
    fixture->nchunks += nadded - nremoved;
}

/* Choose a length: few chunks, some pieces, or up to the largest. */
static uint64_t some_len(struct fixture *fixture, uint64_t max)
{
    uint64_t n = some(fixture, 3) ? some(fixture, 4) : some(fixture, max + 1);

    if (some(fixture, 4) == 0)
        n = n / CHUNK_TABLE_PIECE * CHUNK_TABLE_PIECE;
    return n < max ? n : max;
}

static void splice_some(struct fixture *fixture)
{
    uint64_t first = some(fixture, fixture->nchunks + 1);
    uint64_t nremoved = some_len(fixture, fixture->nchunks - first);
    uint64_t nadded = some_len(fixture, NCHUNKS_MAX / 3);
    struct table_chunk chunk = special(CHUNK_ZEROS);

    if (some(fixture, 2) == 0)
        first = first / CHUNK_TABLE_PIECE * CHUNK_TABLE_PIECE;
    if (some(fixture, 3) == 0)
        nadded = nremoved;
    else if (some(fixture, 2) == 0)
        nadded = 1;
    if (nadded == 1)
        chunk = some_chunk(fixture);
    splice(fixture, first, nremoved, chunk, nadded);
}

static void append_some(struct fixture *fixture)
{
    struct table_chunk chunk = some_chunk(fixture);

    if (fixture->nchunks == NCHUNKS_MAX)
        return;
    ck_assert_int_eq(chunk_table_append(fixture->table, &chunk, 1), 0);
    fixture->chunks[fixture->nchunks++] = chunk;
}

/* Append a run of special chunks.  The longest runs fill groups of pieces. */
static void append_run(struct fixture *fixture)
{
    const struct table_chunk nans = special(CHUNK_NANS);
    uint64_t n = some(fixture, NCHUNKS_MAX);

    if (n > NCHUNKS_MAX - fixture->nchunks)
        return;
    ck_assert_int_eq(chunk_table_append(fixture->table, &nans, n), 0);
    while (n-- > 0)
        fixture->chunks[fixture->nchunks++] = nans;
}

static void step(struct fixture *fixture)
{
    uint32_t what = some(fixture, 40);

    if (what < 16)
        append_some(fixture);
    else if (what < 18)
        append_run(fixture);
    else if (what < 22)
        splice_some(fixture);
    else if (what == 39)
        commit(fixture);
    else if (fixture->nchunks > 0)
        set(fixture);
    if (fixture->nchunks > 0) {
        check_chunk(fixture, some(fixture, fixture->nchunks));
        check_count(fixture);
        check_run(fixture);
    }
}

static void compare(bool sparse, uint64_t seed)
{
    struct fixture *fixture = begin(sparse);

    fixture->random = seed;
    for (int i = 0; i < NSTEPS; i++) {
        step(fixture);
        if (i % 40 == 0)
            check(fixture);
    }
    end(fixture);
}

START_TEST(table_agrees_with_a_list)
{
    for (uint64_t seed = 1; seed <= 8; seed++)
        compare(seed % 2 == 0, seed);
}
END_TEST

/* Commit a table of stored chunks, with more pieces than stay loaded. */
static struct fixture *begin_committed(void)
{
    struct fixture *fixture = begin(false);

    fixture->nchunks = 32 * CHUNK_TABLE_PIECE;
    for (uint64_t i = 0; i < fixture->nchunks; i++) {
        struct table_chunk chunk = stored(fixture, (int64_t)(100 * i), 100);

        ck_assert_int_eq(chunk_table_append(fixture->table, &chunk, 1), 0);
    }
    commit(fixture);
    return fixture;
}

START_TEST(unchanged_pieces_leave_memory)
{
    struct fixture *fixture = begin(false);
    size_t loaded;

    for (uint64_t i = 0; i < 64; i++) {
        const struct table_chunk chunk = stored(fixture, (int64_t)i, 50);
        const struct table_chunk zeros = special(CHUNK_ZEROS);

        ck_assert_int_eq(chunk_table_append(fixture->table, &chunk, 1), 0);
        ck_assert_int_eq(
            chunk_table_append(fixture->table, &zeros, CHUNK_TABLE_PIECE - 1),
            0);
    }
    fixture->nchunks = 64 * CHUNK_TABLE_PIECE;
    loaded = chunk_table_footprint(fixture->table);
    ck_assert_uint_gt(loaded, 64 * CHUNK_TABLE_PIECE * 16);
    commit(fixture);
    ck_assert_uint_lt(chunk_table_footprint(fixture->table), loaded / 100);
    end(fixture);
}
END_TEST

START_TEST(chunks_that_are_all_zeros_take_no_memory)
{
    const struct table_chunk zeros = special(CHUNK_ZEROS);
    const uint64_t n = ((uint64_t)1 << 28) - 1;
    struct chunk_table *table;
    struct table_chunk chunk;
    int64_t entry;
    uint64_t at = 0;

    ck_assert_int_eq(chunk_table_new(true, &table), 0);
    ck_assert_int_eq(chunk_table_append(table, &zeros, n), 0);
    ck_assert_uint_lt(chunk_table_footprint(table), 512 << 10);
    ck_assert(chunk_table_is_uniform(table, 0, n, &entry));
    ck_assert_int_eq(chunk_table_next_stored(table, &at, &chunk), 0);
    chunk = (struct table_chunk){ .entry = 7, .cbytes = 1 };
    ck_assert_int_eq(chunk_table_set(table, n / 2, &chunk), 0);
    at = 0;
    ck_assert_int_eq(chunk_table_next_stored(table, &at, &chunk), 1);
    ck_assert_uint_eq(at, n / 2);
    ck_assert(!chunk_table_is_uniform(table, 0, n, &entry));
    ck_assert(chunk_table_is_uniform(table, 0, n / 4, &entry));
    ck_assert_uint_eq(chunk_table_end(table), 8);
    chunk_table_free(table);
}
END_TEST

START_TEST(index_that_others_overwrite_is_noticed)
{
    struct fixture *fixture = begin_committed();
    struct table_chunk chunk;
    size_t nstale = 0;

    memset(fixture->indexes[0] + 4000, 0xff, 4000);
    for (uint64_t i = 0; i < fixture->nchunks; i += CHUNK_TABLE_PIECE) {
        int r = chunk_table_get(fixture->table, i, &chunk);

        ck_assert_int_eq(chunk_table_set(fixture->table, i, &chunk), r);
        ck_assert_msg(r == 0 || r == -ESTALE, "%d", r);
        nstale += r == -ESTALE;
    }
    ck_assert_uint_gt(nstale, 0);
    ck_assert_uint_lt(nstale, 32);
    end(fixture);
}
END_TEST

START_TEST(blocks_that_have_not_changed_are_copied)
{
    struct fixture *fixture = begin_committed();
    struct table_chunk chunk = special(CHUNK_ZEROS);
    uint8_t *bytes;
    size_t len;

    ck_assert_int_eq(
        index_encode(fixture->encoder, fixture->table, 0, &bytes, &len), 0);
    ck_assert_mem_eq(bytes, fixture->indexes[0], len);
    free(bytes);

    /*
     * Another program has overwritten the blocks, so they are neither copied
     * nor encoded.
     */
    memset(fixture->indexes[0] + 4000, 0xff, 100);
    ck_assert_int_eq(chunk_table_set(fixture->table, 0, &chunk), 0);
    ck_assert_int_eq(
        index_encode(fixture->encoder, fixture->table, 0, &bytes, &len),
        -ESTALE);
    end(fixture);
}
END_TEST

START_TEST(index_tells_where_entries_repeat)
{
    const struct table_chunk zeros = special(CHUNK_ZEROS);
    struct fixture *fixture = begin(false);
    const struct table_chunk one = stored(fixture, 5, 32);
    struct index *index;
    int64_t entry;

    fixture->nchunks = 5000;
    ck_assert_int_eq(chunk_table_append(fixture->table, &zeros, 5000), 0);
    commit(fixture);
    index = chunk_table_index(fixture->table);
    ck_assert_uint_eq(index_run(index, 7, &entry), 5000 - 7);
    ck_assert_int_eq(entry, zeros.entry);

    ck_assert_int_eq(chunk_table_set(fixture->table, 3000, &one), 0);
    commit(fixture);
    index = chunk_table_index(fixture->table);
    ck_assert_uint_eq(index_run(index, 7, &entry), 2048 - 7);
    ck_assert_int_eq(entry, zeros.entry);
    ck_assert_uint_eq(index_run(index, 2048, &entry), 0);
    ck_assert_uint_eq(index_run(index, 4999, &entry), 0);
    end(fixture);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        table_agrees_with_a_list,
        unchanged_pieces_leave_memory,
        chunks_that_are_all_zeros_take_no_memory,
        index_that_others_overwrite_is_noticed,
        blocks_that_have_not_changed_are_copied,
        index_tells_where_entries_repeat,
        NULL,
    };

    return suite_run("chunk_table", tests);
}
