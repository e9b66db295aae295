/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/known_frames.h"
#include "store/store_version.h"
#include "suite.h"

START_TEST(file_is_known_until_it_changes)
{
    struct store_version version = { .ino = 5, .size = 400, .settled = true };
    struct known_frames known = { 0 };

    known_frames_init(&known);
    ck_assert(!known_frames_has(&known, store_version_stamp(version)));
    known_frames_add(&known, store_version_stamp(version));
    ck_assert(known_frames_has(&known, store_version_stamp(version)));
    /* as after a program has set the old time of modification */
    version.ctime.tv_nsec++;
    ck_assert(!known_frames_has(&known, store_version_stamp(version)));
    known_frames_fini(&known);
}
END_TEST

START_TEST(file_that_was_young_before_it_was_read_is_not_known)
{
    const struct store_version version = { .ino = 5, .size = 400 };
    struct known_frames known = { 0 };

    known_frames_init(&known);
    known_frames_add(&known, store_version_stamp(version));
    ck_assert(!known_frames_has(&known, store_version_stamp(version)));
    known_frames_fini(&known);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        file_is_known_until_it_changes,
        file_that_was_young_before_it_was_read_is_not_known,
        NULL,
    };

    return suite_run("known_frames", tests);
}
