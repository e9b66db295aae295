/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "file/file.h"
#include "file/verify.h"
#include "fixture.h"
#include "give_store.h"
#include "state/file_private.h"
#include "suite.h"

enum {
    CHUNKSIZE = 512,
    SIZE_LIMIT = 10 * CHUNKSIZE + 100,
    NSTEPS = 70,
    SUBSETS_MAX = 30, /* number of sets of unsynced operations to drop */
    NHISTORIES = 3,
};

/*
 * The content of a file at a commit, and the operations at which the commit
 * began and ended.
 */
struct state {
    uint8_t bytes[SIZE_LIMIT];
    uint64_t size;
    size_t begun; /* number of disk operations */
    size_t done;
};

struct history {
    struct disk *disk;
    struct file_context *context;
    struct file *file;
    uint64_t random;
    struct state now;
    struct state states[2 * NSTEPS];
    size_t nstates;
};

static void begin_state(struct history *history)
{
    history->now.begun = disk_nops(history->disk);
    history->now.done = SIZE_MAX;
    history->states[history->nstates++] = history->now;
}

static void end_state(struct history *history)
{
    history->states[history->nstates - 1].done = disk_nops(history->disk);
}

static void sync_file(struct history *history)
{
    struct fault fault;

    begin_state(history);
    ck_assert_int_eq(file_sync(history->file, &fault), 0);
    end_state(history);
}

/* Is this unsynced operation lost? */
static bool is_dropped(void *context, size_t i)
{
    return *(const uint64_t *)context >> i % 64 & 1;
}

static bool is_state(struct file *file, const struct state *state);

/* A program that opens the frame now must see the written data. */
static void check_visible(struct history *history)
{
    const uint64_t dropped = 0;
    struct image *image = disk_crash(history->disk, disk_nops(history->disk),
                                     false, is_dropped, (void *)&dropped);
    struct file *file;
    struct fault fault;

    ck_assert_int_eq(
        give_file_open(history->context, image_store(image), 0, &file, &fault),
        0);
    ck_assert(is_state(file, &history->now));
    ck_assert_int_eq(file_close(file), 0);
    image_free(image);
}

/*
 * Commit as close() does.  The state becomes durable with the next durable one.
 */
static void commit_file(struct history *history)
{
    struct fault fault;

    begin_state(history);
    ck_assert_int_eq(file_commit(history->file, NULL, &fault), 0);
    check_visible(history);
}

static void reopen(struct history *history)
{
    struct fault fault;

    begin_state(history);
    ck_assert_int_eq(file_close(history->file), 0);
    end_state(history);
    ck_assert_int_eq(give_file_open_writable(history->context,
                                             disk_store(history->disk),
                                             &history->file, &fault),
                     0);
}

/* Setting a metalayer commits everything. */
static void set_layer(struct history *history)
{
    struct fault fault;

    begin_state(history);
    ck_assert_int_eq(file_meta_set(history->file,
                                   &(struct file_meta){
                                       METALAYER_VL, "name", history->now.bytes,
                                       pick(&history->random, 99) },
                                   &fault),
                     0);
    end_state(history);
}

/* Write numbers of 4 bytes, some of which compress well. */
static void write_some(struct history *history)
{
    struct state *now = &history->now;
    uint64_t off = pick(&history->random, SIZE_LIMIT);
    size_t len = 1 + pick(&history->random,
                          pick(&history->random, 2) ? 3 * CHUNKSIZE : 50);
    uint32_t step =
        pick(&history->random, 2) ? 1 : pick(&history->random, 1 << 30);
    struct fault fault;

    if (len > SIZE_LIMIT - off)
        len = SIZE_LIMIT - off;
    for (size_t i = 0; i < len; i++)
        now->bytes[off + i] =
            (uint8_t)(step * ((off + i) / 4) >> (8 * ((off + i) % 4)));
    ck_assert_int_eq(
        file_write(history->file, off, now->bytes + off, len, &fault), 0);
    if (now->size < off + len)
        now->size = off + len;
}

static void truncate_file(struct history *history)
{
    struct state *now = &history->now;
    uint64_t size =
        pick(&history->random, 3) ? pick(&history->random, SIZE_LIMIT) : 0;
    struct fault fault;

    ck_assert_int_eq(file_truncate(history->file, size, &fault), 0);
    if (size < now->size)
        memset(now->bytes + size, 0, now->size - size);
    now->size = size;
}

static void zero_some(struct history *history)
{
    struct state *now = &history->now;
    uint64_t off = pick(&history->random, SIZE_LIMIT);
    uint64_t len = 1 + pick(&history->random, (uint32_t)(SIZE_LIMIT - off));
    struct fault fault;

    ck_assert_int_eq(file_zero(history->file, off, len, &fault), 0);
    if (off < now->size)
        memset(now->bytes + off, 0,
               len < now->size - off ? len : now->size - off);
}

static void step(struct history *history)
{
    switch (pick(&history->random, 13)) {
    case 0:
        truncate_file(history);
        break;
    case 1:
        zero_some(history);
        break;
    case 2:
        set_layer(history);
        break;
    case 3:
        reopen(history);
        break;
    case 4:
    case 5:
        sync_file(history);
        break;
    case 6:
    case 7:
        commit_file(history);
        break;
    default:
        write_some(history);
        break;
    }
}

/* Make a context with one thread, in which only these steps commit. */
static struct file_context *new_context(void)
{
    const struct file_options options = { .cache_size = 1 << 20,
                                          .nthreads = 1 };
    struct file_context *context;

    ck_assert_int_eq(file_context_new(&options, &context), 0);
    return context;
}

/*
 * Use a file from its creation to its last close.  Its typesize is chosen from
 * the content.
 */
static struct history *make_history(bool sparse, uint64_t random)
{
    const struct file_params params = {
        .chunk = { .codec = 1,
                   .clevel = 5,
                   .filters = { 0, 0, 0, 0, 0, 1 },
                   .split_mode = CHUNK_SPLIT_FORWARD },
        .chunksize = CHUNKSIZE
    };
    struct history *history = calloc(1, sizeof(*history));
    struct fault fault;

    ck_assert_ptr_nonnull(history);
    history->random = random;
    history->disk = disk_new(sparse);
    history->context = new_context();
    begin_state(history);
    ck_assert_int_eq(give_file_create(history->context,
                                      disk_store(history->disk), &params,
                                      &history->file, &fault),
                     0);
    ck_assert_int_eq(file_sync(history->file, &fault), 0);
    end_state(history);
    for (int i = 0; i < NSTEPS; i++)
        step(history);
    begin_state(history);
    ck_assert_int_eq(file_close(history->file), 0);
    end_state(history);
    return history;
}

static void free_history(struct history *history)
{
    file_context_free(history->context);
    disk_free(history->disk);
    free(history);
}

static bool is_state(struct file *file, const struct state *state)
{
    struct file_data data;
    struct fault fault;
    bool same = file_size(file) == state->size;

    if (!same || state->size == 0)
        return same;
    if (file_read(file, NULL, &(struct file_range){ 0, state->size }, &data,
                  &fault) < 0)
        return false;
    same = data.len == state->size;
    for (size_t i = 0, at = 0; i < data.niov && same;
         at += data.iov[i++].iov_len)
        same = memcmp(data.iov[i].iov_base, state->bytes + at,
                      data.iov[i].iov_len) == 0;
    file_data_put(file, &data);
    return same;
}

static void note_fault(void *context, int error, const struct fault *fault)
{
    (void)error;
    (void)fault;
    *(bool *)context = true;
}

static void note_progress(void *context, uint64_t done, uint64_t nchunks)
{
    (void)context;
    (void)done;
    (void)nchunks;
}

/* Does the frame pass a check? */
static bool is_sound(struct file *file)
{
    struct frame *frame = file_frame_get(file);
    bool found = false;
    const struct verify_listener listener = { .fault = note_fault,
                                              .progress = note_progress,
                                              .context = &found };
    int r = verify_frame(frame, &(struct verify_options){ .nthreads = 1 },
                         &listener, &(struct verify_counts){ 0 });

    file_frame_put(file, frame);
    return r == 0 && !found;
}

/*
 * Does the file hold the last state that was durable after `nops` operations,
 * or one whose commit began later?  It need not exist before the first.
 */
static bool is_good(const struct history *history, size_t nops,
                    struct file *file)
{
    size_t first = history->nstates;
    bool lasts = false;

    while (first > 0 && !lasts)
        lasts = history->states[--first].done <= nops;
    if (!file)
        return !lasts;
    for (size_t i = first;
         i < history->nstates && history->states[i].begun <= nops; i++)
        if (is_state(file, &history->states[i]))
            return is_sound(file);
    return false;
}

static void check_crash(const struct history *history, size_t nops, bool torn,
                        uint64_t dropped)
{
    struct image *image =
        disk_crash(history->disk, nops, torn, is_dropped, &dropped);
    struct store *store = image_store(image);
    struct file *file = NULL;
    struct fault fault;
    int r =
        store ? give_file_open(history->context, store, 0, &file, &fault) : 0;

    /* The file may be missing, but must not be damaged. */
    ck_assert(r == 0 || r == -ENOENT);
    ck_assert_msg(is_good(history, nops, file),
                  "crash behind operation %zu of %zu, without %llx", nops,
                  disk_nops(history->disk), (unsigned long long)dropped);
    ck_assert_int_eq(file_close(file), 0);
    image_free(image);
}

/* Crash after each operation, with some of the unsynced operations lost. */
static void crash_everywhere(struct history *history)
{
    for (size_t nops = 0; nops <= disk_nops(history->disk); nops++) {
        size_t n = disk_nunsynced(history->disk, nops);

        check_crash(history, nops, false, 0);
        check_crash(history, nops, true, 0);
        for (uint64_t i = 1; n <= 4 && i < UINT64_C(1) << n; i++)
            check_crash(history, nops, i & 1, i);
        for (int i = 0; n > 4 && i < SUBSETS_MAX; i++) {
            uint64_t high = pick(&history->random, 1u << 31);

            check_crash(history, nops, i & 1,
                        high << 33 | pick(&history->random, 1u << 31));
        }
    }
}

static void crash_by_chance(bool sparse)
{
    for (uint64_t i = 0; i < NHISTORIES; i++) {
        struct history *history = make_history(sparse, i);

        crash_everywhere(history);
        free_history(history);
    }
}

START_TEST(contiguous_file_survives_every_crash)
{
    crash_by_chance(false);
}
END_TEST

START_TEST(sparse_file_survives_every_crash)
{
    crash_by_chance(true);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        contiguous_file_survives_every_crash,
        sparse_file_survives_every_crash,
        NULL,
    };

    return suite_run("writeback crash", tests);
}
