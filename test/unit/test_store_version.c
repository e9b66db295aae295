/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "store/store_settling.h"
#include "store/store_version.h"
#include "suite.h"

/* A file, and its version when the test began. */
struct fixture {
    char dir[32];
    int dirfd;
    int fd;
    struct store_version then;
};

static struct store_version version_of(int fd)
{
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    return store_version_of(&st);
}

/* The file has old times, so that every change gets other ones. */
static void begin(struct fixture *fixture)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    strcpy(fixture->dir, "/tmp/test_version.XXXXXX");
    ck_assert(mkdtemp(fixture->dir));
    fixture->dirfd = open(fixture->dir, O_PATH | O_DIRECTORY);
    fixture->fd = openat(fixture->dirfd, "file", O_RDWR | O_CREAT, 0666);
    ck_assert_int_eq(write(fixture->fd, "0123456789", 10), 10);
    ck_assert_int_eq(futimens(fixture->fd, old), 0);
    fixture->then = version_of(fixture->fd);
    fixture->then.ctime.tv_sec--;
}

static void end(struct fixture *fixture)
{
    close(fixture->fd);
    ck_assert_int_eq(unlinkat(fixture->dirfd, "file", 0), 0);
    close(fixture->dirfd);
    ck_assert_int_eq(rmdir(fixture->dir), 0);
}

/* Check the relation of the file to what it was, and whether the hashes agree
   with that. */
static void check_relation(const struct fixture *fixture,
                           enum store_relation relation)
{
    struct store_version now = version_of(fixture->fd);

    ck_assert_int_eq(store_version_compare(fixture->then, now), relation);
    ck_assert_int_eq(store_version_compare(now, fixture->then), relation);
    for (enum store_relation r = VERSION_SAME_OBJECT; r <= VERSION_SAME; r++) {
        bool same =
            store_version_hash(fixture->then, r) == store_version_hash(now, r);

        ck_assert_int_eq(same, r <= relation);
    }
}

START_TEST(writing_truncating_and_punching_change_the_content)
{
    for (int i = 0; i < 4; i++) {
        struct fixture fixture;

        begin(&fixture);
        if (i == 0)
            ck_assert_int_eq(pwrite(fixture.fd, "0", 1, 0), 1);
        else if (i == 1)
            ck_assert_int_eq(ftruncate(fixture.fd, 9), 0);
        else if (i == 2)
            ck_assert_int_eq(ftruncate(fixture.fd, 11), 0);
        else if (fallocate(fixture.fd,
                           FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                           5) < 0)
            ck_assert_int_eq(pwrite(fixture.fd, "\0", 1, 0), 1);
        check_relation(&fixture, VERSION_SAME_OBJECT);
        end(&fixture);
    }
}
END_TEST

START_TEST(setting_the_mtime_passes_for_a_change)
{
    const struct timespec old[2] = { { .tv_nsec = UTIME_OMIT },
                                     { .tv_sec = 1000, .tv_nsec = 1 } };
    struct fixture fixture;

    begin(&fixture);
    ck_assert_int_eq(futimens(fixture.fd, old), 0);
    check_relation(&fixture, VERSION_SAME_OBJECT);
    end(&fixture);
}
END_TEST

START_TEST(setting_the_old_mtime_shows_in_the_ctime)
{
    const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct fixture fixture;

    begin(&fixture);
    ck_assert_int_eq(pwrite(fixture.fd, "9876543210", 10, 0), 10);
    ck_assert_int_eq(futimens(fixture.fd, old), 0);
    check_relation(&fixture, VERSION_SAME_CONTENT);
    end(&fixture);
}
END_TEST

START_TEST(modes_and_names_leave_the_content)
{
    for (int i = 0; i < 3; i++) {
        struct fixture fixture;

        begin(&fixture);
        if (i == 0) {
            ck_assert_int_eq(fchmod(fixture.fd, 0600), 0);
        } else if (i == 1) {
            ck_assert_int_eq(
                renameat(fixture.dirfd, "file", fixture.dirfd, "other"), 0);
            ck_assert_int_eq(
                renameat(fixture.dirfd, "other", fixture.dirfd, "file"), 0);
        } else {
            ck_assert_int_eq(
                linkat(fixture.dirfd, "file", fixture.dirfd, "link", 0), 0);
            ck_assert_int_eq(unlinkat(fixture.dirfd, "link", 0), 0);
        }
        check_relation(&fixture, VERSION_SAME_CONTENT);
        end(&fixture);
    }
}
END_TEST

START_TEST(successor_with_equal_size_and_times_is_another_object)
{
    struct fixture fixture;
    struct stat ours;
    struct stat theirs;

    begin(&fixture);
    int other = openat(fixture.dirfd, "other", O_RDWR | O_CREAT, 0666);
    ck_assert_int_eq(fstat(fixture.fd, &ours), 0);
    ck_assert(store_version_same_object(&ours, &ours));
    ck_assert_int_eq(fstat(other, &theirs), 0);
    ck_assert(!store_version_same_object(&ours, &theirs));
    theirs = ours;
    theirs.st_dev++;
    ck_assert(!store_version_same_object(&ours, &theirs));
    fixture.then.ino++;
    check_relation(&fixture, VERSION_OTHER_OBJECT);
    fixture.then.ino--;
    fixture.then.dev++;
    check_relation(&fixture, VERSION_OTHER_OBJECT);
    close(other);
    ck_assert_int_eq(unlinkat(fixture.dirfd, "other", 0), 0);
    end(&fixture);
}
END_TEST

START_TEST(unchanged_object_has_the_same_version)
{
    struct fixture fixture;

    begin(&fixture);
    fixture.then.ctime.tv_sec++;
    check_relation(&fixture, VERSION_SAME);
    fixture.then.settled = !fixture.then.settled;
    check_relation(&fixture, VERSION_SAME);
    fixture.then.ctime.tv_nsec ^= 1;
    check_relation(&fixture, VERSION_SAME_CONTENT);
    end(&fixture);
}
END_TEST

/* Is a file settled whose times are so many milliseconds old? */
static bool is_settled(int64_t mtime_age, int64_t ctime_age)
{
    struct timespec now;
    struct stat st = { .st_ino = 1 };
    struct store_version version;

    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < 2; i++) {
        struct timespec *time = i ? &st.st_ctim : &st.st_mtim;
        int64_t ms = now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000 -
                     (i ? ctime_age : mtime_age);

        time->tv_sec = ms / 1000;
        time->tv_nsec = ms % 1000 * 1000000 + 1;
    }
    version = store_version_of(&st);
    ck_assert_int_eq(store_version_stamp(version) != 0, version.settled);
    return version.settled;
}

/* Is a file settled whose times are so many seconds old, and end in
   nanoseconds that a coarse file system leaves at 0? */
static bool is_coarse_settled(int64_t age, long mtime_ns, long ctime_ns)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return store_version_of(
               &(struct stat){ .st_mtim = { now.tv_sec - age, mtime_ns },
                               .st_ctim = { now.tv_sec - age, ctime_ns } })
        .settled;
}

START_TEST(times_without_fractions_settle_after_seconds)
{
    for (int age = 0; age < 2; age++) {
        ck_assert(!is_coarse_settled(age, 0, 0));
        ck_assert(!is_coarse_settled(age, 0, 1));
        ck_assert(!is_coarse_settled(age, 1, 0));
    }
    ck_assert(is_coarse_settled(2, 1, 1));
    ck_assert(is_coarse_settled(4, 0, 0));
    /* A program may set any time. */
    ck_assert(is_coarse_settled(INT64_C(1) << 55, 0, 0));
    ck_assert(is_coarse_settled(-(INT64_C(1) << 55), 0, 0));
}
END_TEST

START_TEST(version_is_settled_once_both_times_are_old)
{
    const int64_t year = INT64_C(365) * 24 * 3600 * 1000;

    ck_assert(!is_settled(0, 0));
    ck_assert(!is_settled(50, 50));
    ck_assert(is_settled(500, 500));
    ck_assert(!is_settled(year, 0));
    ck_assert(!is_settled(0, year));
    ck_assert(is_settled(year, 500));
    /* A program may set any time of modification. */
    ck_assert(is_settled(-year, year));
    ck_assert(!is_settled(-20, year));
}
END_TEST

/* Count the tries of a reader whose object has this mtime; each try but the
   first finds that it has grown by `growth` bytes. */
static unsigned count_tries(time_t mtime, uint64_t growth)
{
    struct store_version version = { .size = 10, .mtime.tv_sec = mtime };
    struct store_settling settling = store_settling_begin(version);
    unsigned n = 0;

    do {
        version.size += growth;
        n++;
    } while (store_settling_wait(&settling, version));
    return n;
}

START_TEST(reader_tries_again_while_an_object_changes_or_is_recent)
{
    time_t now = time(NULL);

    ck_assert_uint_eq(count_tries(now, 0), 20);
    ck_assert_uint_eq(count_tries(now - 10, 0), 1);
    ck_assert_uint_eq(count_tries(now + 10, 0), 1);
    ck_assert_uint_eq(count_tries(now - 10, 1), 20);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        writing_truncating_and_punching_change_the_content,
        setting_the_mtime_passes_for_a_change,
        setting_the_old_mtime_shows_in_the_ctime,
        modes_and_names_leave_the_content,
        successor_with_equal_size_and_times_is_another_object,
        unchanged_object_has_the_same_version,
        version_is_settled_once_both_times_are_old,
        times_without_fractions_settle_after_seconds,
        reader_tries_again_while_an_object_changes_or_is_recent,
        NULL,
    };

    return suite_run("store_version", tests);
}
