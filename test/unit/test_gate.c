/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>

#include "state/file_private.h"
#include "suite.h"

/*
 * These stand in for functions of higher layers, because the test links nothing
 * above the gate.
 */

static unsigned nwithdrawn;
static unsigned nsettled;

static void withdraw(struct file *file)
{
    (void)file;
    nwithdrawn++;
}

static void release_unused(struct file *file)
{
    (void)file;
    nsettled++;
}

static const struct gate_ops ops = {
    .withdraw_encoders = withdraw,
    .release_unused = release_unused,
};

static struct file file;

static void begin(void)
{
    nwithdrawn = nsettled = 0;
    file = (struct file){ .states.nbytes = 100 };
    gate_init(&file.gate, &ops);
}

static void end(void)
{
    gate_fini(&file.gate);
}

START_TEST(writers_and_an_extender_and_a_committer_work_beside_each_other)
{
    enum gate_writer first;
    enum gate_writer second;
    struct fault fault;

    begin();
    ck_assert_int_eq(gate_enter_writer(&file, 100, &first, &fault), 0);
    ck_assert_int_eq(first, GATE_WRITER);
    ck_assert_int_eq(gate_enter_writer(&file, 101, &second, &fault), 0);
    ck_assert_int_eq(second, GATE_EXTENDER);
    ck_assert(gate_try_committer(&file));
    ck_assert(gate_is_committing(&file));
    ck_assert(!gate_try_committer(&file));
    gate_leave_committer(&file);
    ck_assert_uint_eq(nsettled, 1);
    gate_leave_writer(&file, second);
    gate_leave_writer(&file, first);
    end();
}
END_TEST

START_TEST(a_committer_that_collects_keeps_encoders_out)
{
    begin();
    gate_enter_committer(&file, false);
    ck_assert(gate_enter_encoder(&file, 1));
    ck_assert(!gate_enter_encoder(&file, 1));
    gate_leave_encoder(&file);
    gate_begin_collecting(&file);
    ck_assert_uint_eq(nwithdrawn, 1);
    ck_assert(!gate_may_encode(&file));
    ck_assert(!gate_enter_encoder(&file, 1));
    gate_end_collecting(&file);
    ck_assert(gate_enter_encoder(&file, 1));
    gate_leave_encoder(&file);
    gate_leave_committer(&file);
    end();
}
END_TEST

START_TEST(an_exclusive_writer_commits_by_itself_alone)
{
    begin();
    gate_lock_exclusive(&file);
    ck_assert(!gate_try_committer(&file));
    ck_assert(!gate_enter_encoder(&file, 1));
    gate_enter_committer(&file, true);
    gate_leave_committer(&file);
    gate_unlock_exclusive(&file);
    ck_assert(gate_try_committer(&file));
    gate_leave_committer(&file);
    end();
}
END_TEST

static void *lock_exclusive(void *arg)
{
    gate_lock_exclusive(arg);
    gate_unlock_exclusive(arg);
    return NULL;
}

START_TEST(an_exclusive_writer_that_waits_keeps_encoders_out_but_no_committer)
{
    enum gate_writer as;
    struct fault fault;
    pthread_t thread;
    bool waits = false;

    begin();
    ck_assert_int_eq(gate_enter_writer(&file, 1, &as, &fault), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, lock_exclusive, &file), 0);
    while (!waits) {
        sched_yield();
        pthread_mutex_lock(&file.gate.lock);
        waits = file.gate.nexclusive > 0;
        pthread_mutex_unlock(&file.gate.lock);
    }
    ck_assert(!gate_enter_encoder(&file, 1));
    ck_assert(gate_try_committer(&file));
    gate_leave_committer(&file);
    gate_leave_writer(&file, as);
    pthread_join(thread, NULL);
    end();
}
END_TEST

START_TEST(nobody_writes_to_a_file_that_has_failed)
{
    enum gate_writer as;
    struct fault fault;

    begin();
    file.gate.failed = -ESTALE;
    ck_assert_int_eq(gate_enter_writer(&file, 1, &as, &fault), -ESTALE);
    ck_assert_int_eq(gate_lock_exclusive_or_fail(&file, &fault), -ESTALE);
    ck_assert(gate_try_committer(&file));
    gate_leave_committer(&file);
    end();
}
END_TEST

START_TEST(the_frame_lock_is_unused_when_the_last_operation_has_left)
{
    begin();
    ck_assert(!gate_join_frame_lock(&file));
    ck_assert(gate_begin_locking(&file));
    ck_assert(!gate_is_frame_locked(&file));
    gate_end_locking(&file, true, true);
    ck_assert(gate_is_frame_locked(&file));
    ck_assert(gate_join_frame_lock(&file));
    gate_leave_frame_lock(&file);
    ck_assert(!gate_is_frame_lock_unused(&file));
    gate_leave_frame_lock(&file);
    ck_assert(gate_is_frame_lock_unused(&file));
    ck_assert(gate_is_idle(&file));
    end();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        writers_and_an_extender_and_a_committer_work_beside_each_other,
        a_committer_that_collects_keeps_encoders_out,
        an_exclusive_writer_commits_by_itself_alone,
        an_exclusive_writer_that_waits_keeps_encoders_out_but_no_committer,
        nobody_writes_to_a_file_that_has_failed,
        the_frame_lock_is_unused_when_the_last_operation_has_left,
        NULL,
    };

    return suite_run("gate", tests);
}
