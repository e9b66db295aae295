/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "change_model.h"
#include "frame_open.h"
#include "give_store.h"
#include "record_store.h"
#include "suite.h"

enum {
    NHISTORIES = 24,
    NPOINTS_MIN = 350,
    STATES_MAX = 64,
    SUBSETS_MAX = 40, /* number of sets of unsynced operations to drop */
};

/*
 * The committed states in order, with the operations at which each commit began
 * and was durable.
 */
struct history {
    struct disk *disk;
    struct model states[STATES_MAX];
    size_t begun[STATES_MAX]; /* number of disk operations */
    size_t done[STATES_MAX];
    size_t nstates;
};

enum how {
    DURABLY,
    NOSYNC,
    REWRITE,
};

static struct frame *commit(struct history *history,
                            struct frame_writer *writer,
                            const struct model *model, enum how how)
{
    static int (*const commits[])(struct frame_writer *, struct frame **,
                                  struct fault *) = {
        [DURABLY] = frame_writer_commit,
        [NOSYNC] = frame_writer_commit_nosync,
        [REWRITE] = frame_writer_compact,
    };
    size_t i = history->nstates++;
    struct frame *frame;
    struct fault fault;

    ck_assert_uint_lt(i, STATES_MAX);
    history->states[i] = *model;
    history->begun[i] = disk_nops(history->disk);
    ck_assert_int_eq(commits[how](writer, &frame, &fault), 0);
    history->done[i] = how == NOSYNC ? SIZE_MAX : disk_nops(history->disk);
    return frame;
}

/* Make the last state durable. */
static void sync_last(struct history *history, struct frame_writer *writer)
{
    struct fault fault;

    ck_assert_int_eq(frame_writer_sync(writer, &fault), 0);
    if (history->done[history->nstates - 1] == SIZE_MAX)
        history->done[history->nstates - 1] = disk_nops(history->disk);
}

/*
 * Create the frame, either with the first commit, or before that.  In the
 * second case it need not be durable.
 */
static struct frame *begin(struct history *history, struct frame_writer *writer,
                           const struct model *model, bool early)
{
    struct frame *frame;
    struct fault fault;

    if (!early)
        return commit(history, writer, model, DURABLY);
    ck_assert_int_eq(frame_writer_begin(writer, &frame, &fault), 0);
    history->states[0] = *model;
    history->done[0] = SIZE_MAX;
    history->nstates = 1;
    return frame;
}

static enum how choose_how(uint64_t *random)
{
    uint32_t chance = model_random(random, 8);

    return chance == 0 ? REWRITE : chance < 4 ? DURABLY : NOSYNC;
}

/*
 * Make a random history.  Old states are closed now and then, so that their
 * space is reused.
 */
static struct history *make_history(bool sparse, uint64_t random)
{
    struct history *history = calloc(1, sizeof(*history));
    struct model *model = calloc(1, sizeof(*model));
    struct frame_writer *writer;
    struct frame *frame;
    struct store *store;
    struct fault fault;

    ck_assert(history && model);
    history->disk = disk_new(sparse);
    store = disk_store(history->disk);
    ck_assert_int_eq(frame_writer_new(store, &model_params, &writer, &fault),
                     0);
    store_close(store);
    frame = begin(history, writer, model, random % 2);
    for (int round = 0; round < 14; round++) {
        struct frame *next;

        for (uint32_t n = 1 + model_random(&random, 4); n > 0; n--)
            ck_assert_int_eq(model_step(model, writer, &random), 0);
        if (model_random(&random, 4) == 0)
            model_empty(model, writer);
        if (model_random(&random, 3) == 0)
            ck_assert_int_ge(frame_writer_compact_tail(writer, 1000, &fault),
                             0);
        next = commit(history, writer, model, choose_how(&random));
        frame_close(frame);
        frame = next;
        if (model_random(&random, 3) == 0)
            sync_last(history, writer);
    }
    frame_writer_close(writer);
    frame_close(frame);
    free(model);
    return history;
}

static void free_history(struct history *history)
{
    disk_free(history->disk);
    free(history);
}

/* A choice of the unsynced operations that are lost. */
struct choice {
    uint64_t mask;
    bool keep_all;
    bool torn;
};

static bool is_dropped(void *context, size_t i)
{
    const struct choice *choice = context;

    return !choice->keep_all && choice->mask >> i % 64 & 1;
}

/*
 * Find the last state that was durable after `nops` operations.  Returns false
 * if there was none.
 */
static bool find_durable(const struct history *history, size_t nops, size_t *i)
{
    for (*i = history->nstates; *i > 0;)
        if (history->done[--*i] <= nops)
            return true;
    return false;
}

/*
 * A crash must leave the last durable state, or one whose commit began later.
 */
static void check_crash(const struct history *history, size_t nops,
                        const struct choice *choice)
{
    struct image *image = disk_crash(history->disk, nops, choice->torn,
                                     is_dropped, (void *)choice);
    struct store *store = image_store(image);
    struct frame *frame = NULL;
    struct fault fault;
    size_t first;
    bool lasts = find_durable(history, nops, &first);
    bool found = false;
    int r = store ? give_frame_open(store, 0, &frame, &fault) : -ENOENT;

    /* If no frame was durable, none need exist, but a damaged one must not. */
    if (r < 0)
        found = !lasts && (!store || r == -ENOENT);
    for (size_t i = first;
         r == 0 && !found && i < history->nstates && history->begun[i] <= nops;
         i++)
        found = model_matches(&history->states[i], frame);
    ck_assert_msg(found, "crash behind operation %zu of %zu, mask %llx", nops,
                  disk_nops(history->disk), (unsigned long long)choice->mask);
    frame_close(frame);
    image_free(image);
}

/* Crash after each operation, with some of the unsynced operations lost. */
static void crash_everywhere(const struct history *history, uint64_t *random)
{
    for (size_t nops = 0; nops <= disk_nops(history->disk); nops++) {
        size_t n = disk_nunsynced(history->disk, nops);
        struct choice choice = { .keep_all = true };

        check_crash(history, nops, &choice);
        choice.torn = true;
        check_crash(history, nops, &choice);
        choice.keep_all = false;
        if (n <= 5) {
            for (choice.mask = 1; choice.mask < 1u << n; choice.mask++)
                check_crash(history, nops, &choice);
            continue;
        }
        for (size_t i = 0; i < SUBSETS_MAX; i++) {
            choice.mask = (uint64_t)model_random(random, 1u << 31) << 33 |
                          (uint64_t)model_random(random, 1u << 31) << 2;
            check_crash(history, nops, &choice);
        }
    }
}

/* Returns the number of operations after which it has crashed. */
static size_t crash_by_chance(bool sparse, uint64_t random)
{
    struct history *history = make_history(sparse, random);
    size_t npoints = disk_nops(history->disk) + 1;

    crash_everywhere(history, &random);
    free_history(history);
    return npoints;
}

static void crash_often(bool sparse)
{
    size_t npoints = 0;

    for (uint64_t i = 0; i < NHISTORIES; i++)
        npoints += crash_by_chance(sparse, i);
    ck_assert_uint_ge(npoints, NPOINTS_MIN);
}

START_TEST(contiguous_frame_survives_every_crash)
{
    crash_often(false);
}
END_TEST

START_TEST(sparse_frame_survives_every_crash)
{
    crash_often(true);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        contiguous_frame_survives_every_crash,
        sparse_frame_survives_every_crash,
        NULL,
    };

    return suite_run("commit crash", tests);
}
