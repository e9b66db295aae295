/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "base/fault.h"
#include "base/list.h"
#include "base/pool.h"
#include "base/retry.h"
#include "base/size.h"
#include "base/text.h"
#include "suite.h"

START_TEST(bytes_are_read_in_the_order_asked_for)
{
    const uint8_t bytes[] = { 0xff, 1, 2, 3, 4, 5, 6, 7, 8 };

    ck_assert_uint_eq(load_le16(bytes + 1), 0x0201);
    ck_assert_uint_eq(load_be16(bytes + 1), 0x0102);
    ck_assert_uint_eq(load_le32(bytes + 1), 0x04030201);
    ck_assert_uint_eq(load_be32(bytes + 1), 0x01020304);
    ck_assert_uint_eq(load_le64(bytes + 1), 0x0807060504030201);
    ck_assert_uint_eq(load_be64(bytes + 1), 0x0102030405060708);
}
END_TEST

START_TEST(sizes_that_overflow_are_refused)
{
    uint64_t out = 7;

    ck_assert(!size_add(UINT64_MAX, 1, &out));
    ck_assert(!size_mul(UINT64_MAX / 2, 3, &out));
    ck_assert_uint_eq(out, 7);
    ck_assert(size_add(UINT64_MAX - 1, 1, &out));
    ck_assert_uint_eq(out, UINT64_MAX);
    ck_assert(size_mul(UINT32_MAX, UINT32_MAX, &out));
    ck_assert_uint_eq(out, (uint64_t)UINT32_MAX * UINT32_MAX);
}
END_TEST

START_TEST(a_range_that_wraps_round_is_not_within)
{
    ck_assert(size_within(10, 0, 10));
    ck_assert(size_within(0, 10, 10));
    ck_assert(!size_within(1, 10, 10));
    ck_assert(!size_within(11, 0, 10));
    ck_assert(!size_within(2, UINT64_MAX, 10));
}
END_TEST

START_TEST(a_typed_size_has_at_most_one_suffix)
{
    const char *const bad[] = {
        "",    "K",    "-1",   " 1",        "1KBB",
        "1 K", "0x10", "1.5M", "16777216T", "18446744073709551616"
    };
    uint64_t out = 7;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_msg(!size_parse(bad[i], &out), "%s", bad[i]);
    ck_assert_uint_eq(out, 7);
    ck_assert(size_parse("18446744073709551615", &out));
    ck_assert_uint_eq(out, UINT64_MAX);
    ck_assert(size_parse("3k", &out));
    ck_assert_uint_eq(out, 3072);
    ck_assert(size_parse("3KiB", &out));
    ck_assert_uint_eq(out, 3 << 10);
    ck_assert(size_parse("3kb", &out));
    ck_assert_uint_eq(out, 3000);
    ck_assert(size_parse("2MB", &out));
    ck_assert_uint_eq(out, 2000000);
    ck_assert(size_parse("2T", &out));
    ck_assert_uint_eq(out, UINT64_C(2) << 40);
}
END_TEST

START_TEST(pieces_count_the_last_short_one)
{
    ck_assert_uint_eq(size_pieces(0, 4), 0);
    ck_assert_uint_eq(size_pieces(8, 4), 2);
    ck_assert_uint_eq(size_pieces(9, 4), 3);
    ck_assert_uint_eq(size_pieces(UINT64_MAX, 2), UINT64_MAX / 2 + 1);
}
END_TEST

START_TEST(list_keeps_order_and_lets_nodes_go)
{
    struct item {
        int value;
        struct list node;
    } items[4];
    struct list head;
    int sum = 0;

    list_init(&head);
    for (int i = 0; i < 4; i++) {
        items[i].value = i;
        list_append(&head, &items[i].node);
    }
    list_for_each_safe(node, &head) {
        struct item *item = list_entry(node, struct item, node);

        if (item->value % 2)
            list_remove(node);
    }
    list_for_each(node, &head)
        sum = 10 * sum + list_entry(node, struct item, node)->value;
    ck_assert_int_eq(sum, 2);
    ck_assert_ptr_eq(head.prev, &items[2].node);
}
END_TEST

START_TEST(a_fault_says_chunk_place_and_reason)
{
    struct fault fault;
    char text[128];

    ck_assert_int_eq(fault_set(&fault, -EBADMSG, 12, "typesize is zero"),
                     -EBADMSG);
    fault_format(&fault, -EBADMSG, text, sizeof(text));
    ck_assert_str_eq(text, "offset 12: typesize is zero");

    fault.chunk_no = 3;
    strcpy(fault.object, "0000000A.chunk");
    fault_format(&fault, -EBADMSG, text, sizeof(text));
    ck_assert_str_eq(text,
                     "0000000A.chunk: chunk 3, offset 12: typesize is zero");

    ck_assert_int_eq(fault_set_id(&fault, 1, "codec is not in this build", 33),
                     -ENOTSUP);
    fault_format(&fault, -ENOTSUP, text, sizeof(text));
    ck_assert_str_eq(text, "offset 1: codec is not in this build (33)");

    ck_assert_int_eq(
        fault_set_limit(&fault, "box is too large", 70, "a crate", 64),
        -ENOTSUP);
    fault_format(&fault, -ENOTSUP, text, sizeof(text));
    ck_assert_str_eq(
        text, "offset 0: box is too large (70 bytes with a crate of 64)");
}
END_TEST

START_TEST(a_fault_without_a_reason_gives_that_of_the_system)
{
    struct fault fault = FAULT_NONE;
    char text[64];
    char cut[8];

    fault_format(&fault, -ENOENT, text, sizeof(text));
    ck_assert_str_eq(text, "No such file or directory");
    fault_format(&fault, -ENOENT, cut, sizeof(cut));
    ck_assert_str_eq(cut, "No such");
}
END_TEST

START_TEST(cpu_features_can_only_be_narrowed)
{
    unsigned all;

    unsetenv("FRAMEFS_CPU");
    all = cpu_features();
    setenv("FRAMEFS_CPU", "portable", 1);
    ck_assert_uint_eq(cpu_features(), 0);
    setenv("FRAMEFS_CPU", "sse2,avx2,avx512,neon,vx", 1);
    ck_assert_uint_eq(cpu_features(), all);
    setenv("FRAMEFS_CPU", "sse2", 1);
    ck_assert_uint_eq(cpu_features(), all & CPU_SSE2);
    unsetenv("FRAMEFS_CPU");
}
END_TEST

struct counted_task {
    struct pool_task task;
    atomic_int *count;
};

static void count_and_free(struct pool_task *task)
{
    struct counted_task *counted = (struct counted_task *)task;

    atomic_fetch_add(counted->count, 1);
    free(counted);
}

START_TEST(a_pool_runs_every_task_before_it_is_freed)
{
    struct pool *pool;
    atomic_int count = 0;

    ck_assert_int_eq(pool_new(3, &pool), 0);
    for (int i = 0; i < 1000; i++) {
        struct counted_task *counted = malloc(sizeof(*counted));

        ck_assert_ptr_nonnull(counted);
        counted->task.run = count_and_free;
        counted->count = &count;
        pool_submit(pool, &counted->task);
    }
    pool_free(pool);
    ck_assert_int_eq(count, 1000);
}
END_TEST

/* Counts to 1,000 with several threads. */
struct count_job {
    struct pool_job job;
    unsigned n;
    unsigned nos; /* a bit for each thread that has counted */
};

static void count_together(struct pool_job *job, unsigned no)
{
    struct count_job *count = (struct count_job *)(void *)job;
    bool more = true;

    while (more) {
        pthread_mutex_lock(&job->lock);
        more = count->n < 1000;
        count->n += more;
        count->nos |= 1U << no;
        pthread_mutex_unlock(&job->lock);
    }
}

START_TEST(a_job_is_done_when_it_has_run)
{
    struct count_job count = { .job = { .run = count_together } };
    struct pool *pool;

    ck_assert_int_eq(pool_new(3, &pool), 0);
    for (unsigned ntasks = 0; ntasks < 8; ntasks++) {
        count.n = count.nos = 0;
        ck_assert_int_eq(pool_run(pool, &count.job, ntasks), 0);
        ck_assert_uint_eq(count.n, 1000);
        ck_assert_uint_eq(count.job.ntasks, 0);
        ck_assert(count.nos & 1);
        ck_assert_uint_eq(count.nos >> (ntasks + 1), 0);
    }
    pool_free(pool);
}
END_TEST

/* Keeps a worker until the test has seen that nobody waits for it. */
struct hanging {
    struct pool_task task;
    atomic_bool begun;
    atomic_bool over;
};

static void hang(struct pool_task *task)
{
    struct hanging *hanging = (struct hanging *)(void *)task;

    hanging->begun = true;
    while (!hanging->over)
        sched_yield();
}

START_TEST(a_job_does_not_wait_for_workers_that_hang)
{
    struct count_job count = { .job = { .run = count_together } };
    struct hanging hanging = { .task = { .run = hang } };
    struct pool *pool;

    ck_assert_int_eq(pool_new(1, &pool), 0);
    pool_submit(pool, &hanging.task);
    while (!hanging.begun)
        sched_yield();
    ck_assert_int_eq(pool_run(pool, &count.job, 4), 0);
    ck_assert_uint_eq(count.n, 1000);
    ck_assert_uint_eq(count.nos, 1);
    hanging.over = true;
    pool_free(pool);
}
END_TEST

START_TEST(an_escaped_text_is_one_line_and_is_cut_between_bytes)
{
    char text[TEXT_ESCAPED_SIZE(3)];

    text_escape("\n\\\xff", TEXT_PLAIN_ASCII, text, sizeof(text));
    ck_assert_str_eq(text, "\\x0a\\x5c\\xff");
    text_escape("a\n\xff", TEXT_PLAIN_PRINTABLE, text, sizeof(text));
    ck_assert_str_eq(text, "a\\x0a\xff");
    text_escape("ab\n", TEXT_PLAIN_PRINTABLE, text, 6);
    ck_assert_str_eq(text, "ab");
}
END_TEST

START_TEST(only_the_shortest_form_of_a_character_is_utf8)
{
    ck_assert(text_is_utf8("a\xc3\xa9\xf0\x9f\x98\x80"));
    ck_assert(!text_is_utf8("\xc0\xaf"));
    ck_assert(!text_is_utf8("\xe0\x80\xaf"));
    ck_assert(!text_is_utf8("\xed\xa0\x80"));
    ck_assert(!text_is_utf8("\xf4\x90\x80\x80"));
    ck_assert(!text_is_utf8("\xc3"));
}
END_TEST

START_TEST(tries_end_with_their_number_or_with_patience)
{
    struct retry few = { .tries_left = 3,
                         .patience_ns = RETRY_FOREVER,
                         .pause_ns = 1,
                         .pause_max_ns = 3 };
    struct retry impatient = { .tries_left = RETRY_ANY_NUMBER };
    struct retry patient = { .tries_left = RETRY_ANY_NUMBER,
                             .patience_ns = 1000 * 1000,
                             .pause_ns = 600 * 1000,
                             .pause_max_ns = 600 * 1000 };

    ck_assert(retry_wait(&few));
    ck_assert_int_eq(few.pause_ns, 2);
    ck_assert(retry_wait(&few));
    ck_assert_int_eq(few.pause_ns, 3);
    ck_assert(retry_wait(&few));
    ck_assert(!retry_wait(&few));
    ck_assert(!retry_wait(&impatient));
    ck_assert(retry_wait(&patient));
    while (retry_wait(&patient))
        continue;
}
END_TEST

START_TEST(tries_after_a_replacement_make_no_pause)
{
    struct retry retry = RETRY_REPLACED;
    unsigned n = 1;

    while (retry_wait(&retry))
        n++;
    ck_assert_uint_eq(n, 100);
    ck_assert_int_eq(retry.pause_ns, 0);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        bytes_are_read_in_the_order_asked_for,
        sizes_that_overflow_are_refused,
        a_range_that_wraps_round_is_not_within,
        a_typed_size_has_at_most_one_suffix,
        pieces_count_the_last_short_one,
        list_keeps_order_and_lets_nodes_go,
        a_fault_says_chunk_place_and_reason,
        a_fault_without_a_reason_gives_that_of_the_system,
        cpu_features_can_only_be_narrowed,
        a_pool_runs_every_task_before_it_is_freed,
        a_job_is_done_when_it_has_run,
        a_job_does_not_wait_for_workers_that_hang,
        an_escaped_text_is_one_line_and_is_cut_between_bytes,
        only_the_shortest_form_of_a_character_is_utf8,
        tries_end_with_their_number_or_with_patience,
        tries_after_a_replacement_make_no_pause,
        NULL,
    };

    return suite_run("base", tests);
}
