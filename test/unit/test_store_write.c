/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "store/store_local.h"
#include "suite.h"

/* A directory with "file", which has mode 0640 and holds "0123456789". */
struct tree {
    char path[SUITE_PATH_MAX];
    int fd;
};

static void make_tree(struct tree *tree)
{
    int fd;

    suite_make_dir(tree->path);
    tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY);
    fd = openat(tree->fd, "file", O_WRONLY | O_CREAT | O_EXCL, 0640);
    ck_assert_int_eq(write(fd, "0123456789", 10), 10);
    close(fd);
}

static void remove_tree(const struct tree *tree)
{
    close(tree->fd);
    suite_remove_dir(tree->path);
}

static struct store *open_file(const struct tree *tree, const char *name,
                               unsigned flags)
{
    struct store *store;

    ck_assert_int_eq(store_file_open(tree->fd, name, flags, &store), 0);
    return store;
}

static struct store_object *draft_of(struct store *store, const char *text)
{
    struct store_object *draft;

    ck_assert_int_eq(store_draft(store, "", &draft), 0);
    ck_assert_int_eq(store_object_write(draft, 0, text, strlen(text)), 0);
    ck_assert_int_eq(store_object_sync(draft), 0);
    return draft;
}

static void check_file(const struct tree *tree, const char *name,
                       const char *text)
{
    char bytes[32];
    int fd = openat(tree->fd, name, O_RDONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(read(fd, bytes, sizeof(bytes)), (ssize_t)strlen(text));
    ck_assert_mem_eq(bytes, text, strlen(text));
    close(fd);
}

static int count_names(void *context, const char *name)
{
    (void)name;
    ++*(int *)context;
    return 0;
}

/* Does the directory have this many names? */
static void check_nnames(const struct tree *tree, int n)
{
    struct store *store;
    int found = 0;

    ck_assert_int_eq(store_dir_open(tree->fd, ".", 0, &store), 0);
    ck_assert_int_eq(store_list(store, count_names, &found), 0);
    ck_assert_int_eq(found, n);
    store_close(store);
}

static int remove_stale(void *context, const char *name)
{
    const struct tree *tree = context;

    return store_remove_stale(tree->fd, name) == 0;
}

/* Remove stale drafts, of which there are `n`. */
static void remove_stale_drafts(const struct tree *tree, int n)
{
    struct store *store;

    ck_assert_int_eq(store_dir_open(tree->fd, ".", 0, &store), 0);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(store_list(store, remove_stale, (void *)tree), 1);
    ck_assert_int_eq(store_list(store, remove_stale, (void *)tree), 0);
    store_close(store);
}

START_TEST(file_is_written_in_place)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;

    make_tree(&tree);
    store = open_file(&tree, "file", STORE_WRITE);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_write(object, 8, "abcd", 4), 0);
    check_file(&tree, "file", "01234567abcd");
    ck_assert_int_eq(store_object_punch(object, 0, 2), 0);
    ck_assert_int_eq(store_object_truncate(object, 3), 0);
    ck_assert_int_eq(store_object_sync(object), 0);
    store_object_close(object);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(file_opened_to_be_read_is_not_written)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;

    make_tree(&tree);
    store = open_file(&tree, "file", 0);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_write(object, 0, "x", 1), -EROFS);
    ck_assert_int_eq(store_object_truncate(object, 0), -EROFS);
    ck_assert_int_eq(store_object_punch(object, 0, 1), -EROFS);
    store_object_close(object);
    ck_assert_int_eq(store_draft(store, "", &object), -EROFS);
    store_close(store);
    check_file(&tree, "file", "0123456789");
    remove_tree(&tree);
}
END_TEST

START_TEST(draft_takes_the_place_of_a_file_with_mode_and_attributes)
{
    struct tree tree;
    struct store *store;
    struct store_object *old;
    struct store_object *draft;
    struct stat st;
    char bytes[10];
    bool attributes;
    int fd;

    make_tree(&tree);
    fd = openat(tree.fd, "file", O_RDONLY);
    attributes = fsetxattr(fd, "user.colour", "red", 3, 0) == 0;
    close(fd);
    store = open_file(&tree, "file", STORE_WRITE);
    ck_assert_int_eq(store_open(store, "", &old), 0);
    draft = draft_of(store, "new");
    check_file(&tree, "file", "0123456789");
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    check_file(&tree, "file", "new");
    check_nnames(&tree, 1);
    ck_assert_int_eq(fstatat(tree.fd, "file", &st, 0), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0640);
    if (attributes) {
        fd = openat(tree.fd, "file", O_RDONLY);
        ck_assert_int_eq(fgetxattr(fd, "user.colour", bytes, 3), 3);
        close(fd);
    }
    /* A reader that has the old file open can still read it. */
    ck_assert_int_eq(store_object_read_at(old, 0, bytes, 10), 0);
    ck_assert_mem_eq(bytes, "0123456789", 10);
    store_object_close(old);
    store_object_close(draft);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(draft_that_is_discarded_leaves_nothing)
{
    struct tree tree;
    struct store *store;

    make_tree(&tree);
    store = open_file(&tree, "file", STORE_WRITE);
    store_discard(store, draft_of(store, "new"));
    store_close(store);
    check_nnames(&tree, 1);
    remove_tree(&tree);
}
END_TEST

START_TEST(file_with_other_names_is_not_replaced)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;

    make_tree(&tree);
    store = open_file(&tree, "file", STORE_WRITE);
    draft = draft_of(store, "new");
    ck_assert_int_eq(store_check_place(store), 0);
    ck_assert_int_eq(linkat(tree.fd, "file", tree.fd, "link", 0), 0);
    ck_assert_int_eq(store_check_place(store), -EMLINK);
    ck_assert_int_eq(store_publish(store, "", draft), -EMLINK);
    store_discard(store, draft);
    store_close(store);
    check_nnames(&tree, 2);
    check_file(&tree, "file", "0123456789");
    check_file(&tree, "link", "0123456789");
    remove_tree(&tree);
}
END_TEST

/*
 * Move the file to this name, and later to "back", while it is replaced.  If
 * `stranger` is set, a symbolic link takes that name.
 */
static void rename_and_replace(const char *to, const char *stranger)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;

    make_tree(&tree);
    ck_assert_int_eq(mkdirat(tree.fd, "dir", 0700), 0);
    ck_assert_int_eq(mkdirat(tree.fd, "dir/far", 0700), 0);
    store = open_file(&tree, "file", STORE_WRITE);
    draft = draft_of(store, "new");
    ck_assert_int_eq(renameat(tree.fd, "file", tree.fd, to), 0);
    if (stranger)
        ck_assert_int_eq(symlinkat("/", tree.fd, stranger), 0);
    ck_assert_int_eq(store_check_place(store), 0);
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    ck_assert_int_eq(store_sync_name(store), 0);
    store_object_close(draft);
    check_file(&tree, to, "new");

    draft = draft_of(store, "newer");
    ck_assert_int_eq(renameat(tree.fd, to, tree.fd, "back"), 0);
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    store_object_close(draft);
    check_file(&tree, "back", "newer");
    store_close(store);
    remove_tree(&tree);
}

START_TEST(file_that_was_renamed_is_replaced_where_it_is)
{
    rename_and_replace("moved", NULL);
    rename_and_replace("dir/moved", "file");
    rename_and_replace("dir/far/moved", NULL);
}
END_TEST

START_TEST(directory_that_was_renamed_is_followed)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;

    make_tree(&tree);
    ck_assert_int_eq(mkdirat(tree.fd, "dir", 0700), 0);
    ck_assert_int_eq(mkdirat(tree.fd, "other", 0700), 0);
    ck_assert_int_eq(renameat(tree.fd, "file", tree.fd, "dir/file"), 0);
    store = open_file(&tree, "dir/file", STORE_WRITE);
    draft = draft_of(store, "new");
    ck_assert_int_eq(renameat(tree.fd, "dir", tree.fd, "other/dir"), 0);
    ck_assert_int_eq(renameat(tree.fd, "other/dir/file", tree.fd, "other/file"),
                     0);
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    check_file(&tree, "other/file", "new");
    store_object_close(draft);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

/* Give a file the name that it would have as a draft. */
static void name_like_draft(const struct tree *tree, const char *name,
                            char *draft, size_t len)
{
    struct stat st;

    ck_assert_int_eq(fstatat(tree->fd, name, &st, 0), 0);
    snprintf(draft, len, STORE_TEMPORARY "%016llx",
             (unsigned long long)st.st_ino);
    ck_assert_int_eq(renameat(tree->fd, name, tree->fd, draft), 0);
}

START_TEST(draft_is_stale_when_nobody_works_on_it)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;
    char name[64];

    make_tree(&tree);
    store = open_file(&tree, "file", STORE_WRITE);
    close(openat(tree.fd, "left", O_WRONLY | O_CREAT | O_EXCL, 0600));
    name_like_draft(&tree, "left", name, sizeof(name));
    draft = draft_of(store, "new");
    remove_stale_drafts(&tree, 1);
    check_nnames(&tree, 2);
    /* A published file is no longer a draft, and not locked like one. */
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    name_like_draft(&tree, "file", name, sizeof(name));
    remove_stale_drafts(&tree, 1);
    check_nnames(&tree, 0);
    ck_assert_int_eq(store_remove_stale(tree.fd, "file"), -EINVAL);
    ck_assert_int_eq(store_remove_stale(tree.fd, name), -ENOENT);
    ck_assert_int_eq(mkdirat(tree.fd, name, 0700), 0);
    ck_assert_int_eq(store_remove_stale(tree.fd, name), -EINVAL);
    store_object_close(draft);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(file_that_only_bears_a_name_like_a_draft_stays)
{
    struct tree tree;

    make_tree(&tree);
    ck_assert_int_eq(
        renameat(tree.fd, "file", tree.fd, STORE_TEMPORARY "0123456789abcdef"),
        0);
    remove_stale_drafts(&tree, 0);
    check_nnames(&tree, 1);
    remove_tree(&tree);
}
END_TEST

START_TEST(file_that_was_removed_stays_so)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;
    struct store_object *object;
    char bytes[3];

    make_tree(&tree);
    store = open_file(&tree, "file", STORE_WRITE);
    draft = draft_of(store, "new");
    ck_assert_int_eq(unlinkat(tree.fd, "file", 0), 0);
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    check_nnames(&tree, 0);
    ck_assert_int_eq(store_open(store, "", &object), 0);
    ck_assert_int_eq(store_object_read_at(object, 0, bytes, 3), 0);
    ck_assert_mem_eq(bytes, "new", 3);
    store_object_close(object);
    store_object_close(draft);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(new_file_comes_up_once_only)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;

    make_tree(&tree);
    store = open_file(&tree, "other", STORE_WRITE | STORE_NEW);
    draft = draft_of(store, "new");
    ck_assert_int_eq(store_open(store, "", &(struct store_object *){ NULL }),
                     -ENOENT);
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    check_file(&tree, "other", "new");
    store_object_close(draft);
    store_close(store);

    store = open_file(&tree, "file", STORE_WRITE | STORE_NEW);
    draft = draft_of(store, "new");
    ck_assert_int_eq(store_publish(store, "", draft), -EEXIST);
    store_discard(store, draft);
    store_close(store);
    check_file(&tree, "file", "0123456789");
    check_nnames(&tree, 2);
    remove_tree(&tree);
}
END_TEST

START_TEST(new_file_is_followed_when_it_is_renamed)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;

    make_tree(&tree);
    ck_assert_int_eq(mkdirat(tree.fd, "dir", 0700), 0);
    store = open_file(&tree, "other", STORE_WRITE | STORE_NEW);
    draft = draft_of(store, "new");
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    store_object_close(draft);
    ck_assert_int_eq(renameat(tree.fd, "other", tree.fd, "dir/moved"), 0);
    ck_assert_int_eq(store_sync_name(store), 0);
    draft = draft_of(store, "newer");
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    store_object_close(draft);
    check_file(&tree, "dir/moved", "newer");
    store_close(store);
    remove_tree(&tree);
}
END_TEST

/* Does the file system support files without names? */
static bool has_nameless_files(const struct tree *tree)
{
    int fd = openat(tree->fd, ".", O_RDWR | O_TMPFILE, 0600);

    return fd >= 0 && close(fd) == 0;
}

START_TEST(nothing_is_left_of_drafts_of_new_files)
{
    struct tree tree;
    struct store *file;
    struct store *dir;
    struct store_object *draft;
    int names;

    make_tree(&tree);
    names = has_nameless_files(&tree) ? 1 : 2;
    file = open_file(&tree, "other", STORE_WRITE | STORE_NEW);
    draft = draft_of(file, "new");
    check_nnames(&tree, names);
    store_discard(file, draft);
    store_close(file);
    ck_assert_int_eq(store_dir_open(tree.fd, ".", STORE_WRITE, &dir), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(store_draft(dir, "object", &draft), 0);
        ck_assert_int_eq(store_object_write(draft, 0, "new", 3), 0);
        check_nnames(&tree, names + i);
        ck_assert_int_eq(store_publish(dir, "object", draft), 0);
        store_object_close(draft);
        check_nnames(&tree, 2);
    }
    store_close(dir);
    remove_tree(&tree);
}
END_TEST

START_TEST(link_that_was_followed_stays_one)
{
    struct tree tree;
    struct store *store;
    struct store_object *draft;
    struct stat st;

    make_tree(&tree);
    ck_assert_int_eq(symlinkat("file", tree.fd, "link"), 0);
    store = open_file(&tree, "link", STORE_FOLLOW | STORE_WRITE);
    draft = draft_of(store, "new");
    ck_assert_int_eq(store_publish(store, "", draft), 0);
    ck_assert_int_eq(fstatat(tree.fd, "link", &st, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert(S_ISLNK(st.st_mode));
    check_file(&tree, "file", "new");
    store_object_close(draft);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(directory_gets_new_objects_like_others)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;
    struct stat st;

    make_tree(&tree);
    ck_assert_int_eq(symlinkat("file", tree.fd, "made"), 0);
    ck_assert_int_eq(store_dir_open(tree.fd, ".", STORE_WRITE, &store), 0);
    ck_assert_int_eq(store_create(store, "made", "file", &object), -EEXIST);
    ck_assert_int_eq(unlinkat(tree.fd, "made", 0), 0);
    ck_assert_int_eq(store_create(store, "made", "file", &object), 0);
    ck_assert_int_eq(store_object_write(object, 0, "made", 4), 0);
    store_object_close(object);
    ck_assert_int_eq(fstatat(tree.fd, "made", &st, AT_SYMLINK_NOFOLLOW), 0);
    ck_assert(S_ISREG(st.st_mode));
    ck_assert_uint_eq(st.st_mode & 07777, 0640);
    check_file(&tree, "file", "0123456789");
    ck_assert_int_eq(store_sync(store), 0);
    ck_assert_int_eq(store_remove(store, "made"), 0);
    ck_assert_int_eq(store_remove(store, "made"), -ENOENT);
    ck_assert_int_eq(store_create(store, "../made", NULL, &object), -EINVAL);
    store_close(store);
    check_nnames(&tree, 1);
    remove_tree(&tree);
}
END_TEST

/* Two stores of one frame stand for two processes. */
START_TEST(lease_is_held_by_one_store_at_a_time)
{
    struct tree tree;
    struct store *one;
    struct store *other;

    make_tree(&tree);
    ck_assert_int_eq(store_file_open(tree.fd, "file", STORE_WRITE, &one), 0);
    ck_assert_int_eq(store_file_open(tree.fd, "file", STORE_WRITE, &other), 0);
    ck_assert_int_eq(store_lease(one, ""), 0);
    ck_assert_int_eq(store_lease(one, ""), 0);
    ck_assert_int_eq(store_lease(other, ""), -EAGAIN);
    ck_assert_int_eq(store_lease_holder(other, ""), getpid());
    store_unlease(one);
    ck_assert_int_eq(store_lease(other, ""), -EAGAIN);
    store_unlease(one);
    ck_assert_int_eq(store_lease(other, ""), 0);
    ck_assert_int_eq(store_lease(one, ""), -EAGAIN);
    store_close(other);
    ck_assert_int_eq(store_lease(one, ""), 0);
    store_close(one);
    remove_tree(&tree);
}
END_TEST

START_TEST(lease_goes_over_to_the_file_that_is_published)
{
    for (int directory = 0; directory < 2; directory++) {
        const char *name = directory ? "file" : "";
        struct store_object *draft;
        struct store *stores[2];
        struct tree tree;

        make_tree(&tree);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(
                directory
                    ? store_dir_open(tree.fd, ".", STORE_WRITE, &stores[i])
                    : store_file_open(tree.fd, "file", STORE_WRITE, &stores[i]),
                0);
        ck_assert_int_eq(store_lease(stores[0], name), 0);
        ck_assert_int_eq(store_draft(stores[0], name, &draft), 0);
        ck_assert_int_eq(store_publish(stores[0], name, draft), 0);
        store_object_close(draft);
        /* A file that has been removed cannot be leased. */
        ck_assert_int_eq(store_lease(stores[1], name),
                         directory ? -EAGAIN : -ESTALE);
        store_unlease(stores[0]);
        ck_assert_int_eq(store_lease(stores[1], name), directory ? 0 : -ESTALE);
        store_close(stores[0]);
        store_close(stores[1]);
        remove_tree(&tree);
    }
}
END_TEST

/* Open the file of a tree, or a frame's directory in it, for changes. */
static struct store *open_either(const struct tree *tree, bool directory)
{
    struct store *store;

    if (!directory)
        return open_file(tree, "file", STORE_WRITE);
    ck_assert_int_eq(store_dir_open(tree->fd, "frame", STORE_WRITE, &store), 0);
    return store;
}

START_TEST(frame_that_is_in_use_is_not_had_alone)
{
    for (int directory = 0; directory < 2; directory++) {
        struct store *stores[2];
        struct tree tree;

        make_tree(&tree);
        ck_assert_int_eq(mkdirat(tree.fd, "frame", 0700), 0);
        for (int i = 0; i < 2; i++)
            stores[i] = open_either(&tree, directory);
        ck_assert_int_eq(store_lock_in_use(stores[0]), 0);
        ck_assert_int_eq(store_lock_in_use(stores[1]), 0);
        ck_assert_int_eq(store_lock_in_use_alone(stores[1]), -EAGAIN);
        store_close(stores[0]);
        ck_assert_int_eq(store_lock_in_use_alone(stores[1]), 0);
        stores[0] = open_either(&tree, directory);
        ck_assert_int_eq(store_lock_in_use(stores[0]), -EAGAIN);
        ck_assert_int_eq(store_lock_in_use(stores[1]), 0);
        ck_assert_int_eq(store_lock_in_use(stores[0]), 0);
        store_close(stores[0]);
        store_close(stores[1]);
        remove_tree(&tree);
    }
}
END_TEST

START_TEST(frame_that_is_removed_before_it_is_locked_is_stale)
{
    for (int directory = 0; directory < 2; directory++) {
        struct store *locked;
        struct store *store;
        struct tree tree;

        make_tree(&tree);
        ck_assert_int_eq(mkdirat(tree.fd, "frame", 0700), 0);
        locked = open_either(&tree, directory);
        ck_assert_int_eq(store_lock_in_use(locked), 0);
        store = open_either(&tree, directory);
        ck_assert_int_eq(unlinkat(tree.fd, directory ? "frame" : "file",
                                  directory ? AT_REMOVEDIR : 0),
                         0);
        ck_assert_int_eq(store_lock_in_use(store), -ESTALE);
        if (!directory)
            ck_assert_int_eq(store_lease(store, ""), -ESTALE);
        /* A store that had the lock before goes on. */
        ck_assert_int_eq(store_lock_in_use(locked), 0);
        if (!directory)
            ck_assert_int_eq(store_lease(locked, ""), 0);
        store_close(store);
        store_close(locked);
        remove_tree(&tree);
    }
}
END_TEST

/* Open a file and have the lease on it for a moment. */
static struct store *open_and_lease(const struct tree *tree)
{
    struct store *store = open_file(tree, "file", STORE_WRITE);

    ck_assert_int_eq(store_lease(store, ""), 0);
    store_unlease(store);
    return store;
}

/* Has the file system extended attributes? */
static bool has_attributes(const struct tree *tree)
{
    int fd = openat(tree->fd, "file", O_RDONLY);
    bool has = fsetxattr(fd, "user.colour", "red", 3, 0) == 0;

    close(fd);
    return has;
}

START_TEST(frame_that_is_replaced_under_another_name_is_stale)
{
    struct store_object *draft;
    struct store *store;
    struct store *other;
    struct tree tree;
    bool marked;

    make_tree(&tree);
    marked = has_attributes(&tree);
    store = open_and_lease(&tree);
    ck_assert_int_eq(renameat(tree.fd, "file", tree.fd, "moved"), 0);
    other = open_file(&tree, "moved", STORE_WRITE);
    draft = draft_of(other, "new");
    ck_assert_int_eq(store_lease(other, ""), 0);
    ck_assert_int_eq(store_publish(other, "", draft), 0);
    store_object_close(draft);
    store_close(other);
    ck_assert_int_eq(store_lease(store, ""), marked ? -ESTALE : 0);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

/* A process is killed after it has exchanged the file with a draft. */
START_TEST(frame_that_bears_the_name_of_a_draft_is_stale)
{
    char draft[STORE_DRAFT_NAME_LEN];
    struct store *store;
    struct tree tree;

    make_tree(&tree);
    store = open_and_lease(&tree);
    name_like_draft(&tree, "file", draft, sizeof(draft));
    ck_assert_int_eq(symlinkat("new", tree.fd, "file"), 0);
    ck_assert_int_eq(store_lease(store, ""), -ESTALE);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

/* Make a directory that holds a file. */
static void make_directory(const struct tree *tree)
{
    int fd;

    ck_assert_int_eq(mkdirat(tree->fd, "frame", 0700), 0);
    fd = openat(tree->fd, "frame/index", O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* A process that replaces a directory is killed, or is about to remove it. */
START_TEST(directory_that_is_replaced_is_stale)
{
    for (int removed = 0; removed < 2; removed++) {
        struct store *stores[2];
        struct tree tree;
        bool marked;
        int fd;

        make_tree(&tree);
        marked = has_attributes(&tree);
        make_directory(&tree);
        for (int i = 0; i < 2; i++)
            stores[i] = open_either(&tree, true);
        ck_assert_int_eq(store_lease(stores[0], "index"), 0);
        store_unlease(stores[0]);
        fd = openat(tree.fd, "frame/index", O_RDONLY);
        store_mark_replaced(fd);
        close(fd);
        ck_assert_int_eq(store_lease(stores[0], "index"), 0);
        store_unlease(stores[0]);
        ck_assert_int_eq(
            renameat(tree.fd, "frame", tree.fd, STORE_TEMPORARY "1.0"), 0);
        if (removed)
            ck_assert_int_eq(unlinkat(tree.fd, STORE_TEMPORARY "1.0/index", 0),
                             0);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(store_lease(stores[i], "index"),
                             marked || removed ? -ESTALE : 0);
            store_close(stores[i]);
        }
        remove_tree(&tree);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        file_is_written_in_place,
        file_opened_to_be_read_is_not_written,
        draft_takes_the_place_of_a_file_with_mode_and_attributes,
        draft_that_is_discarded_leaves_nothing,
        file_with_other_names_is_not_replaced,
        file_that_was_renamed_is_replaced_where_it_is,
        directory_that_was_renamed_is_followed,
        draft_is_stale_when_nobody_works_on_it,
        file_that_only_bears_a_name_like_a_draft_stays,
        file_that_was_removed_stays_so,
        new_file_comes_up_once_only,
        new_file_is_followed_when_it_is_renamed,
        nothing_is_left_of_drafts_of_new_files,
        link_that_was_followed_stays_one,
        directory_gets_new_objects_like_others,
        lease_is_held_by_one_store_at_a_time,
        lease_goes_over_to_the_file_that_is_published,
        frame_that_is_in_use_is_not_had_alone,
        frame_that_is_removed_before_it_is_locked_is_stale,
        frame_that_is_replaced_under_another_name_is_stale,
        frame_that_bears_the_name_of_a_draft_is_stale,
        directory_that_is_replaced_is_stale,
        NULL,
    };

    return suite_run("store write", tests);
}
