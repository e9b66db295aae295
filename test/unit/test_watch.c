/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/watch.h"
#include "store/store_local.h"
#include "suite.h"
#include "writer/quarantine.h"

enum {
    STAMP_OFF = 200
};

/* A watched file. */
struct fixture {
    char path[32];
    int fd;
    struct store *store;
    struct store_object *object;
    struct watch *watch;
};

static void put(const struct fixture *fixture, char header, char stamp)
{
    char bytes[STAMP_OFF + FRAME_STAMP_LEN];

    memset(bytes, header, sizeof(bytes));
    memset(bytes + STAMP_OFF, stamp, FRAME_STAMP_LEN);
    ck_assert_int_eq(pwrite(fixture->fd, bytes, sizeof(bytes), 0),
                     sizeof(bytes));
}

/* The watch knows that the file begins with 'h', and has a stamp of 's'. */
static void begin(struct fixture *fixture)
{
    char header[FRAME_E_METALAYERS_OFF];
    char stamp[FRAME_STAMP_LEN];
    const struct watch_state state = { .header = (uint8_t *)header,
                                       .len = sizeof(header),
                                       .stamp_off = STAMP_OFF,
                                       .stamp = (uint8_t *)stamp };
    struct store_stat stat;

    memset(header, 'h', sizeof(header));
    memset(stamp, 's', sizeof(stamp));
    strcpy(fixture->path, "/tmp/test_watch.XXXXXX");
    fixture->fd = mkstemp(fixture->path);
    put(fixture, 'h', 's');
    ck_assert_int_eq(
        store_file_open(AT_FDCWD, fixture->path, STORE_FOLLOW, &fixture->store),
        0);
    ck_assert_int_eq(store_open(fixture->store, "", &fixture->object), 0);
    ck_assert_int_eq(store_object_stat(fixture->object, &stat), 0);
    ck_assert_int_eq(
        watch_new(fixture->store, fixture->object, "", 0, &fixture->watch), 0);
    ck_assert_int_eq(watch_check(fixture->watch), 0);
    watch_set(fixture->watch, &state, &stat);
}

static void end(struct fixture *fixture)
{
    watch_free(fixture->watch);
    store_object_close(fixture->object);
    store_close(fixture->store);
    close(fixture->fd);
    unlink(fixture->path);
}

START_TEST(state_that_is_stored_is_current)
{
    struct fixture fixture;

    begin(&fixture);
    ck_assert_int_eq(watch_check(fixture.watch), 0);
    put(&fixture, 'h', 's');
    ck_assert_int_eq(watch_check(fixture.watch), 0);
    ck_assert_int_eq(watch_verify(fixture.watch), 0);
    end(&fixture);
}
END_TEST

START_TEST(another_header_or_stamp_is_another_state)
{
    for (int i = 0; i < 2; i++) {
        struct fixture fixture;

        begin(&fixture);
        put(&fixture, i ? 'h' : 'x', i ? 'x' : 's');
        ck_assert_int_eq(watch_check(fixture.watch), -ESTALE);
        /* The known state was gone in between. */
        put(&fixture, 'h', 's');
        ck_assert_int_eq(watch_verify(fixture.watch), -ESTALE);
        end(&fixture);
    }
}
END_TEST

/* Write to the file, which keeps its old time of modification, as if the file
   had been written twice in one tick of the clock. */
static void put_unseen(const struct fixture *fixture, char header, char stamp)
{
    struct stat st;

    ck_assert_int_eq(fstat(fixture->fd, &st), 0);
    put(fixture, header, stamp);
    ck_assert_int_eq(
        futimens(fixture->fd, (struct timespec[]){ st.st_atim, st.st_mtim }),
        0);
}

/* Between stat() and the end of reading a state, the times may become old
   enough to trust them, although the file was written meanwhile. */
START_TEST(times_are_trusted_if_they_were_old_before_the_state_was_read)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    for (int i = 0; i < 2; i++) {
        char bytes[STAMP_OFF + FRAME_STAMP_LEN];
        const struct watch_state state = { .header = (uint8_t *)bytes,
                                           .len = FRAME_E_METALAYERS_OFF };
        struct store_stat stat;
        struct fixture fixture;

        memset(bytes, 'h', sizeof(bytes));
        begin(&fixture);
        ck_assert_int_eq(futimens(fixture.fd, old), 0);
        ck_assert_int_eq(store_object_stat(fixture.object, &stat), 0);
        stat.version.settled = i == 1;
        watch_set(fixture.watch, &state, &stat);
        put_unseen(&fixture, 'x', 's');
        ck_assert_int_eq(watch_check(fixture.watch), i == 0 ? -ESTALE : 0);
        end(&fixture);
    }
}
END_TEST

START_TEST(file_that_ends_early_is_another_state)
{
    struct fixture fixture;

    begin(&fixture);
    ck_assert_int_eq(ftruncate(fixture.fd, STAMP_OFF + 1), 0);
    ck_assert_int_eq(watch_check(fixture.watch), -ESTALE);
    end(&fixture);
}
END_TEST

START_TEST(state_that_is_expected_is_current_too)
{
    char header[FRAME_E_METALAYERS_OFF];
    const struct watch_state next = { .header = (uint8_t *)header,
                                      .len = sizeof(header) };
    struct store_stat stat;
    struct fixture fixture;

    memset(header, 'n', sizeof(header));
    begin(&fixture);
    ck_assert_int_eq(store_object_stat(fixture.object, &stat), 0);
    watch_expect(fixture.watch, &next, &stat);
    ck_assert_int_eq(watch_verify(fixture.watch), 0);
    put(&fixture, 'n', 's');
    ck_assert_int_eq(watch_verify(fixture.watch), 0);
    put(&fixture, 'x', 's');
    ck_assert_int_eq(watch_verify(fixture.watch), -ESTALE);
    end(&fixture);
}
END_TEST

START_TEST(only_a_stamp_of_framefs_tells_all_states_apart)
{
    uint8_t header[FRAME_E_METALAYERS_OFF] = { 'h' };
    uint8_t stamp[FRAME_STAMP_LEN] = FRAME_STAMP_MAGIC;
    struct watch_state state = { .header = header,
                                 .len = sizeof(header),
                                 .stamp_off = STAMP_OFF,
                                 .stamp = stamp };
    const struct store_stat stat = { .uid = 0 };
    struct fixture fixture;

    begin(&fixture);
    ck_assert_uint_eq(watch_mark(fixture.watch) % 2, 0);
    watch_set(fixture.watch, &state, &stat);
    ck_assert_uint_eq(watch_mark(fixture.watch) % 2, 1);
    state.stamp_off = 0;
    watch_set(fixture.watch, &state, &stat);
    ck_assert_uint_eq(watch_mark(fixture.watch) % 2, 0);
    end(&fixture);
}
END_TEST

START_TEST(quarantine_ends_first_in_first_out)
{
    struct quarantine quarantine = { 0 };
    struct extent extent;

    for (uint64_t i = 0; i < 40; i++)
        ck_assert_int_eq(
            quarantine_add(&quarantine, &(struct extent){ i, 10 }, (int64_t)i),
            0);
    ck_assert(!quarantine_take(&quarantine, -1, 400, &extent));
    ck_assert(quarantine_take(&quarantine, 0, 400, &extent));
    ck_assert_uint_eq(extent.off, 0);
    ck_assert(!quarantine_take(&quarantine, 0, 400, &extent));
    /* More than the limit is pending. */
    ck_assert(quarantine_take(&quarantine, 0, 385, &extent));
    ck_assert_uint_eq(extent.off, 1);
    ck_assert(!quarantine_take(&quarantine, 0, 385, &extent));
    ck_assert_uint_eq(quarantine.len, 380);
    for (uint64_t i = 2; i < 40; i++) {
        ck_assert(quarantine_take(&quarantine, 100, 400, &extent));
        ck_assert_uint_eq(extent.off, i);
    }
    ck_assert(!quarantine_take(&quarantine, 100, 0, &extent));
    quarantine_fini(&quarantine);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        state_that_is_stored_is_current,
        another_header_or_stamp_is_another_state,
        times_are_trusted_if_they_were_old_before_the_state_was_read,
        file_that_ends_early_is_another_state,
        state_that_is_expected_is_current_too,
        only_a_stamp_of_framefs_tells_all_states_apart,
        quarantine_ends_first_in_first_out,
        NULL,
    };

    return suite_run("watch", tests);
}
