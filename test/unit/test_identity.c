/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/identity.h"
#include "base/rights.h"
#include "suite.h"

enum {
    USER = 61000,
    GROUP = 61001
};

/* A temporary directory, and its descriptor. */
struct fixture {
    char top[SUITE_PATH_MAX];
    int dir;
};

/*
 * Let the process act for other users.  Only root can; returns false for other
 * users.  Each test runs in a process of its own.
 */
static bool fixture_init(struct fixture *fixture)
{
    if (geteuid() != 0)
        return false;
    suite_make_dir(fixture->top);
    fixture->dir = open(fixture->top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(fixture->dir, 0);
    ck_assert_int_eq(fchmod(fixture->dir, 0777), 0);
    umask(0);
    ck_assert_int_eq(identity_setup(true), 0);
    return true;
}

static void fixture_fini(struct fixture *fixture)
{
    close(fixture->dir);
    suite_remove_dir(fixture->top);
}

/* Make a file.  Returns its descriptor. */
static int make(const struct fixture *fixture, const char *name, mode_t mode)
{
    int fd =
        openat(fixture->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);

    ck_assert_int_ge(fd, 0);
    return fd;
}

START_TEST(a_program_makes_what_it_would_make_itself)
{
    struct fixture fixture;
    struct stat st;
    int fd;

    if (!fixture_init(&fixture))
        return;
    identity_serve(0, USER, GROUP, 027);
    identity_begin_create();
    fd = make(&fixture, "a", 0666);
    identity_end();
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_uint_eq(st.st_uid, USER);
    ck_assert_uint_eq(st.st_gid, GROUP);
    ck_assert_uint_eq(st.st_mode & 0777, 0640);
    close(fd);
    fd = make(&fixture, "b", 0666);
    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_uint_eq(st.st_uid, identity_owner());
    ck_assert_uint_ne(st.st_uid, 0);
    ck_assert_uint_eq(st.st_mode & 0777, 0666);
    close(fd);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(a_program_has_its_own_rights_and_the_daemon_all)
{
    struct fixture fixture;
    int fd;

    if (!fixture_init(&fixture))
        return;
    fd = make(&fixture, "a", 0600);
    ck_assert_int_eq(fchown(fd, 0, 0), 0);
    identity_serve(0, USER, GROUP, 0);
    ck_assert_int_eq(identity_check(fd, R_OK), -EACCES);
    identity_begin();
    identity_begin();
    ck_assert_int_eq(openat(fixture.dir, "a", O_RDONLY), -1);
    identity_end();
    ck_assert_int_eq(openat(fixture.dir, "a", O_RDONLY), -1);
    ck_assert_int_eq(fchmod(fd, 0666), -1);
    identity_end();
    close(fd);
    fd = openat(fixture.dir, "a", O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fchmod(fd, 0644), 0);
    ck_assert_int_eq(identity_check(fd, R_OK), 0);
    ck_assert_int_eq(identity_check(fd, W_OK), -EACCES);
    close(fd);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(a_program_whose_rights_cannot_be_read_has_none)
{
    struct fixture fixture;
    int fd;

    if (!fixture_init(&fixture))
        return;
    fd = make(&fixture, "a", 0604);
    ck_assert_int_eq(fchown(fd, USER, GROUP), 0);
    /* This process does not exist. */
    identity_serve(0x7fffffff, USER, GROUP, 0);
    ck_assert_int_eq(identity_check(fd, W_OK), -EACCES);
    identity_serve(0x7fffffff, 0, 0, 0);
    ck_assert_int_eq(identity_check(fd, W_OK), -EACCES);
    close(fd);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(sticky_directories_protect_the_files_of_others)
{
    struct fixture fixture;

    if (!fixture_init(&fixture))
        return;
    identity_serve(0, USER, GROUP, 0);
    ck_assert_int_eq(identity_check_delete(fixture.dir, 0), 0);
    ck_assert_int_eq(fchmod(fixture.dir, 01777), 0);
    ck_assert_int_eq(identity_check_delete(fixture.dir, 0), -EPERM);
    ck_assert_int_eq(identity_check_delete(fixture.dir, USER), 0);
    ck_assert_int_eq(fchmod(fixture.dir, 0755), 0);
    ck_assert_int_eq(identity_check_delete(fixture.dir, USER), -EACCES);
    fixture_fini(&fixture);
}
END_TEST

static void *serve_nobody(void *arg)
{
    const struct fixture *fixture = arg;
    int fd = openat(fixture->dir, "a", O_RDONLY | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    identity_begin();
    ck_assert_int_eq(identity_check(fd, R_OK), 0);
    identity_end();
    close(fd);
    return NULL;
}

START_TEST(a_thread_that_serves_no_program_is_the_daemons)
{
    struct fixture fixture;
    pthread_t thread;

    if (!fixture_init(&fixture))
        return;
    close(make(&fixture, "a", 0600));
    identity_serve(0, USER, GROUP, 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, serve_nobody, &fixture), 0);
    pthread_join(thread, NULL);
    fixture_fini(&fixture);
}
END_TEST

START_TEST(groups_and_capabilities_are_those_of_the_process)
{
    gid_t groups[256];
    int n = getgroups(256, groups);
    struct rights rights;

    ck_assert_int_ge(n, 0);
    ck_assert_int_eq(rights_read(getpid(), &rights), 0);
    ck_assert_uint_eq(rights.ngroups, (size_t)n);
    for (size_t i = 0; i < rights.ngroups; i++)
        ck_assert_uint_eq(rights.groups[i], groups[i]);
    ck_assert_int_eq(rights.caps != 0, geteuid() == 0);
    free(rights.groups);
    ck_assert_int_eq(rights_read(0x7fffffff, &rights), -ENOENT);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_program_makes_what_it_would_make_itself,
        a_program_has_its_own_rights_and_the_daemon_all,
        a_program_whose_rights_cannot_be_read_has_none,
        sticky_directories_protect_the_files_of_others,
        a_thread_that_serves_no_program_is_the_daemons,
        groups_and_capabilities_are_those_of_the_process,
        NULL,
    };

    return suite_run("identity", tests);
}
