/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"
#include "store/store_local_private.h"
#include "suite.h"

/*
 * A directory with
 *   file         "0123456789"
 *   empty
 *   fifo
 *   link         to file
 *   dir/inner    "inner"
 *   dirlink      to dir
 *   dir/up       to ../file
 */
struct tree {
    char path[SUITE_PATH_MAX];
    int fd;
};

static void put_file(const struct tree *tree, const char *name,
                     const char *content)
{
    int fd = openat(tree->fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    ssize_t len = (ssize_t)strlen(content);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, content, (size_t)len), len);
    close(fd);
}

static void make_tree(struct tree *tree)
{
    suite_make_dir(tree->path);
    tree->fd = open(tree->path, O_RDONLY | O_DIRECTORY);
    ck_assert_int_ge(tree->fd, 0);
    put_file(tree, "file", "0123456789");
    put_file(tree, "empty", "");
    ck_assert_int_eq(mkfifoat(tree->fd, "fifo", 0600), 0);
    ck_assert_int_eq(symlinkat("file", tree->fd, "link"), 0);
    ck_assert_int_eq(mkdirat(tree->fd, "dir", 0700), 0);
    put_file(tree, "dir/inner", "inner");
    ck_assert_int_eq(symlinkat("dir", tree->fd, "dirlink"), 0);
    ck_assert_int_eq(symlinkat("../file", tree->fd, "dir/up"), 0);
}

static void remove_tree(struct tree *tree)
{
    static const char *const names[] = {
        "dir/up", "dir/inner", "dirlink", "link", "fifo", "empty", "file",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlinkat(tree->fd, names[i], 0);
    unlinkat(tree->fd, "dir", AT_REMOVEDIR);
    close(tree->fd);
    ck_assert_int_eq(rmdir(tree->path), 0);
}

static struct store_object *open_object(struct store *store, const char *name)
{
    struct store_object *object;

    ck_assert_int_eq(store_open(store, name, &object), 0);
    return object;
}

/* Check the size of an object, and reads around its end. */
static void check_object(struct store *store, const char *name,
                         const char *content)
{
    struct store_object *object = open_object(store, name);
    size_t len = strlen(content);
    struct store_stat stat;
    char bytes[32] = "";

    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, len);
    ck_assert_int_eq(store_object_read_at(object, 0, bytes, len), 0);
    ck_assert_str_eq(bytes, content);
    ck_assert_int_eq(store_object_read_at(object, len, bytes, 0), 0);
    ck_assert_int_eq(store_object_read_at(object, len, bytes, 1), -ENODATA);
    ck_assert_int_eq(store_object_read_at(object, 0, bytes, len + 1), -ENODATA);
    ck_assert_int_eq(store_object_read_at(object, UINT64_MAX, bytes, 1),
                     -ENODATA);
    ck_assert_int_eq(store_object_read_at(object, INT64_MAX, bytes, 1),
                     -ENODATA);
    store_object_close(object);
}

START_TEST(a_file_is_the_one_object_of_its_store)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;

    make_tree(&tree);
    ck_assert_int_eq(store_file_open(tree.fd, "file", 0, &store), 0);
    ck_assert(!store_is_directory(store));
    check_object(store, "", "0123456789");
    ck_assert_int_eq(store_open(store, "file", &object), -ENOENT);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(several_ranges_are_read_at_once_in_any_order)
{
    struct tree tree;
    struct store *store;
    uint8_t bytes[6] = { 0 };
    const struct store_range ranges[] = {
        { .off = 8, .len = 2, .buf = bytes },
        { .off = 0, .len = 3, .buf = bytes + 2 },
        { .off = 99, .len = 0, .buf = bytes + 5 },
    };
    const struct store_range bad[] = { ranges[0],
                                       { .off = 9, .len = 2, .buf = bytes } };

    make_tree(&tree);
    ck_assert_int_eq(store_file_open(tree.fd, "file", 0, &store), 0);
    struct store_object *object = open_object(store, "");
    ck_assert_int_eq(store_object_read(object, ranges, 3), 0);
    ck_assert_mem_eq(bytes, "89012", 6);
    ck_assert_int_eq(store_object_read(object, bad, 2), -ENODATA);
    ck_assert_int_eq(store_object_read(object, NULL, 0), 0);
    store_object_close(object);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(stat_tells_identity_and_space_on_disk)
{
    struct tree tree;
    struct store *store;
    struct store_stat stat;
    struct stat st;

    make_tree(&tree);
    ck_assert_int_eq(fstatat(tree.fd, "file", &st, 0), 0);
    ck_assert_int_eq(store_file_open(tree.fd, "file", 0, &store), 0);
    struct store_object *object = open_object(store, "");
    ck_assert_int_eq(store_object_stat(object, &stat), 0);
    ck_assert_uint_eq(stat.allocated, (uint64_t)st.st_blocks * 512);
    ck_assert_uint_eq(stat.version.ino, st.st_ino);
    ck_assert_uint_eq(stat.version.dev, st.st_dev);
    ck_assert_int_eq(stat.version.mtime.tv_nsec, st.st_mtim.tv_nsec);
    store_object_close(object);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

/*
 * Check the result of opening a path as a file, both with openat2() and
 * without.
 */
static void check_file_open(const struct tree *tree, const char *path, int want)
{
    struct store *store = NULL;
    int r = store_file_open(tree->fd, path, 0, &store);
    int fd = store_local_walk(tree->fd, path, 0, S_IFREG);

    ck_assert_msg(r == want, "%s: %d", path, r);
    ck_assert_msg((fd < 0 ? fd : 0) == want, "walk to %s: %d", path, fd);
    store_close(r == 0 ? store : NULL);
    if (fd >= 0)
        close(fd);
}

static void append_byte(const struct tree *tree)
{
    int fd = openat(tree->fd, "file", O_WRONLY | O_APPEND);

    ck_assert_int_eq(write(fd, "x", 1), 1);
    close(fd);
}

/* Check the attributes that come with opening an object: they are those that
   the file has then, whenever the store was opened. */
static void check_open_stat(const struct tree *tree, struct store *store,
                            const char *name, uint64_t size)
{
    struct store_object *object;
    struct store_stat stat;
    struct store_stat now;

    ck_assert_int_eq(store_open_stat(store, name, &object, &stat), 0);
    ck_assert_uint_eq(stat.version.size, size);
    append_byte(tree);
    ck_assert_int_eq(store_object_stat(object, &now), 0);
    ck_assert_uint_eq(now.version.size, size + 1);
    ck_assert(store_version_compare(stat.version, now.version) ==
              VERSION_SAME_OBJECT);
    store_object_close(object);
}

START_TEST(attributes_from_opening_are_older_than_every_read)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;
    struct store_stat stat;

    make_tree(&tree);
    ck_assert_int_eq(store_file_open(tree.fd, "file", 0, &store), 0);
    append_byte(&tree);
    for (uint64_t i = 1; i < 4; i++)
        check_open_stat(&tree, store, "", 10 + i);
    store_close(store);
    ck_assert_int_eq(store_dir_open(tree.fd, ".", 0, &store), 0);
    append_byte(&tree);
    for (uint64_t i = 5; i < 8; i++)
        check_open_stat(&tree, store, "file", 10 + i);
    ck_assert_int_eq(store_open_stat(store, "missing", &object, &stat),
                     -ENOENT);
    ck_assert_int_eq(store_open_stat(store, "dir", &object, &stat), -EINVAL);
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(no_path_leaves_the_directory_or_passes_a_link)
{
    struct tree tree;

    make_tree(&tree);
    check_file_open(&tree, "file", 0);
    check_file_open(&tree, "dir/inner", 0);
    check_file_open(&tree, "dir//inner", 0);
    check_file_open(&tree, "./file", 0);
    check_file_open(&tree, "link", -EINVAL);
    check_file_open(&tree, "dir/up", -EINVAL);
    check_file_open(&tree, "dirlink/inner", -EINVAL);
    check_file_open(&tree, "..", -EXDEV);
    check_file_open(&tree, "../x", -EXDEV);
    check_file_open(&tree, "/etc/passwd", -EXDEV);
    check_file_open(&tree, "missing", -ENOENT);
    check_file_open(&tree, "missing/inner", -ENOENT);
    check_file_open(&tree, "", -ENOENT);
    remove_tree(&tree);
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_without_waiting)
{
    struct tree tree;

    make_tree(&tree);
    check_file_open(&tree, "fifo", -EINVAL);
    check_file_open(&tree, "dir", -EINVAL);
    check_file_open(&tree, "file/inner", -EINVAL);
    remove_tree(&tree);
}
END_TEST

START_TEST(links_are_followed_where_a_user_typed_the_path)
{
    struct tree tree;
    struct store *store;

    make_tree(&tree);
    ck_assert_int_eq(store_file_open(tree.fd, "link", STORE_FOLLOW, &store), 0);
    check_object(store, "", "0123456789");
    store_close(store);
    ck_assert_int_eq(
        store_file_open(tree.fd, "dirlink/up", STORE_FOLLOW, &store), 0);
    store_close(store);
    ck_assert_int_eq(store_file_open(tree.fd, "fifo", STORE_FOLLOW, &store),
                     -EINVAL);
    ck_assert_int_eq(store_dir_open(tree.fd, "dirlink", STORE_FOLLOW, &store),
                     0);
    check_object(store, "inner", "inner");
    store_close(store);
    remove_tree(&tree);
}
END_TEST

START_TEST(a_directory_holds_its_regular_files)
{
    struct tree tree;
    struct store *store;
    struct store_object *object;

    make_tree(&tree);
    ck_assert_int_eq(store_dir_open(tree.fd, ".", 0, &store), 0);
    ck_assert(store_is_directory(store));
    check_object(store, "file", "0123456789");
    check_object(store, "empty", "");
    ck_assert_int_eq(store_open(store, "missing", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "link", &object), -EINVAL);
    ck_assert_int_eq(store_open(store, "fifo", &object), -EINVAL);
    ck_assert_int_eq(store_open(store, "dir", &object), -EINVAL);
    ck_assert_int_eq(store_open(store, "", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "dir/inner", &object), -ENOENT);
    ck_assert_int_eq(store_open(store, "..", &object), -EXDEV);
    store_close(store);

    ck_assert_int_eq(store_dir_open(tree.fd, "file", 0, &store), -EINVAL);
    ck_assert_int_eq(store_dir_open(tree.fd, "fifo", 0, &store), -EINVAL);
    ck_assert_int_eq(store_dir_open(tree.fd, "dirlink", 0, &store), -EINVAL);
    ck_assert_int_eq(store_dir_open(tree.fd, "missing", 0, &store), -ENOENT);
    remove_tree(&tree);
}
END_TEST

START_TEST(a_directory_needs_no_permission_to_list_it)
{
    struct tree tree;
    struct store *store;

    make_tree(&tree);
    ck_assert_int_eq(fchmodat(tree.fd, "dir", 0100, 0), 0);
    ck_assert_int_eq(store_dir_open(tree.fd, "dir", 0, &store), 0);
    check_object(store, "inner", "inner");
    store_close(store);
    ck_assert_int_eq(fchmodat(tree.fd, "dir", 0700, 0), 0);
    remove_tree(&tree);
}
END_TEST

START_TEST(objects_in_memory_are_as_those_in_files)
{
    const struct store_mem_file files[] = {
        { .name = "a", .bytes = (const uint8_t *)"first", .len = 5 },
        { .name = "b", .bytes = NULL, .len = 0 },
    };
    struct store *store;
    struct store_object *object;

    ck_assert_int_eq(store_mem_open((const uint8_t *)"bytes", 5, &store), 0);
    ck_assert(!store_is_directory(store));
    check_object(store, "", "bytes");
    ck_assert_int_eq(store_open(store, "a", &object), -ENOENT);
    store_close(store);

    ck_assert_int_eq(store_mem_open_dir(files, 2, &store), 0);
    ck_assert(store_is_directory(store));
    check_object(store, "a", "first");
    check_object(store, "b", "");
    ck_assert_int_eq(store_open(store, "", &object), -ENOENT);
    store_close(store);
}
END_TEST

START_TEST(part_of_an_object_is_one_of_its_own)
{
    struct store_object *object;
    struct store *whole;
    struct store *part;
    struct store_stat st;

    ck_assert_int_eq(store_mem_open((const uint8_t *)"some bytes", 10, &whole),
                     0);
    ck_assert_int_eq(store_open(whole, "", &object), 0);
    ck_assert_int_eq(store_part_open(object, 5, 4, &part), 0);
    ck_assert_int_eq(store_part_open(object, 5, UINT64_MAX, &part), -EINVAL);
    store_object_close(object);
    store_close(whole);

    ck_assert(!store_is_directory(part));
    check_object(part, "", "byte");
    ck_assert_int_eq(store_open(part, "a", &object), -ENOENT);
    ck_assert_int_eq(store_open(part, "", &object), 0);
    store_close(part);
    ck_assert_int_eq(store_object_stat(object, &st), 0);
    ck_assert_uint_eq(st.version.size, 4);
    ck_assert_int_eq(store_object_write(object, 0, "x", 1), -EROFS);
    store_object_close(object);
}
END_TEST

static int no_name(void *context __attribute__((unused)),
                   const char *name __attribute__((unused)))
{
    return 1;
}

START_TEST(a_store_of_one_object_has_no_list)
{
    struct store *store;

    ck_assert_int_eq(store_mem_open((const uint8_t *)"bytes", 5, &store), 0);
    ck_assert_int_eq(store_list(store, no_name, NULL), -ENOTSUP);
    store_close(store);
}
END_TEST

START_TEST(closing_nothing_is_harmless)
{
    store_close(NULL);
    store_object_close(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_file_is_the_one_object_of_its_store,
        several_ranges_are_read_at_once_in_any_order,
        stat_tells_identity_and_space_on_disk,
        attributes_from_opening_are_older_than_every_read,
        no_path_leaves_the_directory_or_passes_a_link,
        what_is_no_regular_file_is_refused_without_waiting,
        links_are_followed_where_a_user_typed_the_path,
        a_directory_holds_its_regular_files,
        a_directory_needs_no_permission_to_list_it,
        objects_in_memory_are_as_those_in_files,
        part_of_an_object_is_one_of_its_own,
        a_store_of_one_object_has_no_list,
        closing_nothing_is_harmless,
        NULL,
    };

    return suite_run("store", tests);
}
