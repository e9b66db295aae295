/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fuse/lock_holder.h"
#include "fuse/mount_lock.h"
#include "suite.h"

enum {
    NFOUND_MAX = 16,
    DEV = 77,
};

/* The directories in `top`, and a file. */
static const char *const names[] = { "src", "src/sub", "src/sub/deep",
                                     "other" };
static char top[] = "/tmp/framefs-test-XXXXXX";

/* Make the directories, and change to `top`. */
static void enter_top(void)
{
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(top));
    ck_assert_int_eq(chdir(top), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        ck_assert_int_eq(mkdir(names[i], 0700), 0);
    fd = open("src/sub/a", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

static void remove_top(void)
{
    unlink("src/sub/a");
    for (size_t i = sizeof(names) / sizeof(*names); i > 0; i--)
        rmdir(names[i - 1]);
    rmdir(top);
}

struct found {
    off_t offs[NFOUND_MAX];
    unsigned n;
};

/* Skip the locks of other processes, which directories above `top` may have. */
static void note(void *arg, off_t off)
{
    struct found *found = arg;
    struct mount_lock_id id = { .pid = 0 };

    if (mount_lock_unpack(off, &id) && id.pid != getpid())
        return;
    ck_assert_uint_lt(found->n, NFOUND_MAX);
    found->offs[found->n++] = off;
}

/* Return the locks that a mount of this SOURCE finds. */
static struct found find(const char *source)
{
    struct found found = { .n = 0 };
    struct mount_lock lock;

    ck_assert_int_eq(mount_lock_open(source, &lock), 0);
    mount_lock_find(&lock, note, &found);
    mount_lock_close(&lock);
    return found;
}

/* Take the locks that a mount of this SOURCE takes. */
static struct mount_lock take(const char *source)
{
    struct mount_lock lock;

    ck_assert_int_eq(mount_lock_open(source, &lock), 0);
    mount_lock_take(&lock, makedev(0, DEV), 0, true);
    return lock;
}

START_TEST(offset_says_who_holds_a_lock)
{
    const struct mount_lock_id ids[] = {
        { MOUNT_LOCK_SESSION, false, 0, 1, makedev(0, 0) },
        { MOUNT_LOCK_HERE, true, 1, 4194304, makedev(0, 1) },
        { MOUNT_LOCK_BELOW, true, UINT16_MAX, (1 << 24) - 1,
          makedev(0, (1 << 20) - 1) },
    };

    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        struct mount_lock_id id;
        off_t off = mount_lock_pack(&ids[i]);

        ck_assert(off > 0);
        ck_assert(mount_lock_unpack(off, &id));
        ck_assert_int_eq(id.kind, ids[i].kind);
        ck_assert_int_eq(id.finishing, ids[i].finishing);
        ck_assert_uint_eq(id.entry, ids[i].entry);
        ck_assert_int_eq(id.pid, ids[i].pid);
        ck_assert(id.dev == ids[i].dev);
    }
}
END_TEST

START_TEST(other_offsets_are_of_no_mount)
{
    struct mount_lock_id id;

    ck_assert(!mount_lock_unpack(-1, &id));
    ck_assert(!mount_lock_unpack(0, &id));
    ck_assert(!mount_lock_unpack(4096, &id));
    /* The process id is 0. */
    ck_assert(!mount_lock_unpack((off_t)1 << 61, &id));
}
END_TEST

START_TEST(mounts_find_those_above_and_below)
{
    struct mount_lock lock;

    enter_top();
    lock = take("src/sub");

    ck_assert_uint_eq(find("src/sub").n, 1);
    ck_assert_uint_eq(find("src/sub/deep").n, 1);
    ck_assert_uint_eq(find("src/sub/a").n, 1);
    ck_assert_uint_eq(find("src").n, 1);
    ck_assert_uint_eq(find(".").n, 1);
    ck_assert_uint_eq(find("other").n, 0);
    mount_lock_close(&lock);
    ck_assert_uint_eq(find("src/sub").n, 0);
    remove_top();
}
END_TEST

START_TEST(mount_of_a_file_is_found_by_those_of_that_file_and_above)
{
    struct mount_lock lock;

    enter_top();
    lock = take("src/sub/a");

    ck_assert_uint_eq(find("src/sub/a").n, 1);
    ck_assert_uint_eq(find("src/sub").n, 1);
    ck_assert_uint_eq(find("src").n, 1);
    ck_assert_uint_eq(find("src/sub/deep").n, 0);
    ck_assert_int_eq(link("src/sub/a", "src/sub/b"), 0);
    ck_assert_uint_eq(find("src/sub/b").n, 0);
    unlink("src/sub/b");
    mount_lock_close(&lock);
    remove_top();
}
END_TEST

START_TEST(all_mounts_of_a_directory_are_found)
{
    static const char *const sources[] = { "src", "src/sub", "src" };
    struct mount_lock locks[3];

    enter_top();
    for (size_t i = 0; i < 3; i++)
        locks[i] = take(sources[i]);
    locks[0].id.dev++;
    locks[2].id.dev--;
    mount_lock_finish(&locks[0]);
    mount_lock_finish(&locks[2]);
    /* Two of the locks have the same offset while they are live. */
    ck_assert_uint_eq(find("src").n, 4);
    for (size_t i = 0; i < 3; i++)
        mount_lock_close(&locks[i]);
    remove_top();
}
END_TEST

START_TEST(lock_that_hides_others_is_found)
{
    struct flock whole = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
    struct found found;
    int fd;

    enter_top();
    fd = open("src", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &whole), 0);
    found = find("src");
    ck_assert_uint_gt(found.n, 0);
    ck_assert(found.offs[0] == MOUNT_LOCK_HIDDEN);
    close(fd);
    remove_top();
}
END_TEST

START_TEST(read_only_mount_locks_no_directory)
{
    struct mount_lock lock;

    enter_top();
    ck_assert_int_eq(mount_lock_open("src", &lock), 0);
    mount_lock_take(&lock, makedev(0, DEV), 0, false);
    ck_assert_uint_eq(find("src").n, 0);
    mount_lock_close(&lock);
    remove_top();
}
END_TEST

START_TEST(only_the_process_that_holds_a_lock_is_trusted)
{
    struct mount_lock lock;
    struct found found;

    enter_top();
    lock = take("src");
    found = find("src");
    ck_assert_uint_eq(found.n, 1);
    ck_assert(lock_holder_is_trusted(getpid(), found.offs[0]));
    ck_assert(!lock_holder_is_trusted(getpid(), found.offs[0] + 1));
    ck_assert(!lock_holder_is_trusted(getppid(), found.offs[0]));
    mount_lock_close(&lock);
    ck_assert(!lock_holder_is_trusted(getpid(), found.offs[0]));
    remove_top();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        offset_says_who_holds_a_lock,
        other_offsets_are_of_no_mount,
        mounts_find_those_above_and_below,
        mount_of_a_file_is_found_by_those_of_that_file_and_above,
        all_mounts_of_a_directory_are_found,
        lock_that_hides_others_is_found,
        read_only_mount_locks_no_directory,
        only_the_process_that_holds_a_lock_is_trusted,
        NULL,
    };

    return suite_run("mount_lock", tests);
}
