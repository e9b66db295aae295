/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"
#include "tree/node.h"

static struct node_table table;

static void make_table(void)
{
    memset(&table, 0, sizeof(table));
    ck_assert_int_eq(node_table_init(&table, ENTRY_DIRECTORY, "."), 0);
}

static void free_table(void)
{
    ck_assert_uint_eq(table.nnodes, 0);
    node_table_fini(&table);
}

static struct node *get(struct node *parent, const char *name, uint64_t ino,
                        enum entry_kind kind)
{
    const struct node_id id = { .dev = 1, .ino = ino, .kind = kind };
    struct node *node;

    ck_assert_int_eq(node_get(&table, parent, name, &id, &node), 0);
    return node;
}

/* Look up a file that has `nlink` names, under one of them. */
static struct node *get_linked(struct node *parent, const char *name,
                               uint64_t ino, uint64_t nlink)
{
    const struct node_id id = {
        .dev = 1, .ino = ino, .nlink = nlink, .kind = ENTRY_FRAME
    };
    struct node *node;

    ck_assert_int_eq(node_get(&table, parent, name, &id, &node), 0);
    return node;
}

static void check_path(const struct node *node, const char *wanted)
{
    char path[PATH_MAX + NAME_MAX + 2];
    struct node_path where;

    ck_assert_int_eq(node_locate(&table, node, &where), 0);
    ck_assert_str_eq(where.bundle_path, "");
    snprintf(path, sizeof(path), "%s/%s", where.dir, where.name);
    ck_assert_str_eq(path, wanted);
}

static void forget(struct node *node)
{
    node_forget(&table, node, 1);
}

START_TEST(two_names_of_a_file_are_one_node)
{
    make_table();
    struct node *dir = get(&table.root, "dir", 2, ENTRY_DIRECTORY);
    struct node *a = get(&table.root, "a", 3, ENTRY_FRAME);
    struct node *b = get(dir, "b", 3, ENTRY_FRAME);

    ck_assert_ptr_eq(a, b);
    check_path(a, "dir/b");
    ck_assert_ptr_ne(get(&table.root, "c", 3, ENTRY_PLAIN), a);
    node_forget(&table, get(&table.root, "c", 3, ENTRY_PLAIN), 2);
    node_forget(&table, a, 2);
    forget(dir);
    free_table();
}
END_TEST

START_TEST(a_file_is_found_by_each_name_that_is_left)
{
    make_table();
    struct node *dir = get(&table.root, "dir", 2, ENTRY_DIRECTORY);
    struct node *file = get_linked(&table.root, "a", 3, 3);
    struct node_path where;

    get_linked(dir, "b", 3, 3);
    get_linked(dir, "c", 3, 3);
    forget(dir);
    check_path(file, "dir/c");
    node_removed(&table, file, dir, "c", false);
    check_path(file, "dir/b");
    node_removed(&table, file, &table.root, "a", false);
    check_path(file, "dir/b");
    ck_assert_int_eq(node_moved(&table, file, &(struct node_entry){ dir, "b" },
                                &(struct node_entry){ &table.root, "d" }),
                     0);
    check_path(file, "/d");
    node_removed(&table, file, &table.root, "d", true);
    ck_assert_int_eq(node_locate(&table, file, &where), -ESTALE);
    node_forget(&table, file, 3);
    free_table();
}
END_TEST

START_TEST(a_rename_is_of_the_name_that_is_renamed)
{
    make_table();
    struct node *file = get_linked(&table.root, "a", 3, 2);

    get_linked(&table.root, "b", 3, 2);
    ck_assert_int_eq(node_moved(&table, file,
                                &(struct node_entry){ &table.root, "a" },
                                &(struct node_entry){ &table.root, "c" }),
                     0);
    check_path(file, "/c");
    node_removed(&table, file, &table.root, "c", false);
    check_path(file, "/b");
    node_forget(&table, file, 2);
    free_table();
}
END_TEST

START_TEST(no_more_names_are_kept_than_a_file_has)
{
    char name[16];
    struct node_path where;

    make_table();
    struct node *file = get_linked(&table.root, "0", 3, 2);

    /* Another program renames one of the names, again and again. */
    for (unsigned i = 1; i <= 10; i++) {
        snprintf(name, sizeof(name), "%u", i);
        get_linked(&table.root, name, 3, 2);
    }
    node_removed(&table, file, &table.root, "10", false);
    check_path(file, "/9");
    node_removed(&table, file, &table.root, "9", false);
    ck_assert_int_eq(node_locate(&table, file, &where), -ESTALE);
    node_forget(&table, file, 11);
    free_table();
}
END_TEST

/*
 * Is the node of a frame the file with this number, seen at the node's place?
 */
static bool is(struct node *node, uint64_t ino)
{
    const struct stat st = { .st_dev = 1, .st_ino = ino };

    node->id.readers = node_id_of(&st, ENTRY_FRAME).readers;
    return node_is(&table, node, &st);
}

START_TEST(where_a_name_is_left_no_other_file_takes_over)
{
    make_table();
    struct node *file = get_linked(&table.root, "a", 3, 2);

    get_linked(&table.root, "b", 3, 2);
    node_removed(&table, file, &table.root, "b", false);
    ck_assert(!is(file, 4));
    ck_assert(is(file, 3));
    get_linked(&table.root, "a", 3, 1);
    ck_assert(is(file, 4));
    node_forget(&table, file, 3);
    free_table();
}
END_TEST

START_TEST(a_frame_replaced_for_the_same_readers_stays_its_node)
{
    make_table();
    struct node *frame = get(&table.root, "a", 3, ENTRY_FRAME);
    struct node *other = get(&table.root, "b", 4, ENTRY_PLAIN);
    struct node *replaced = get(&table.root, "b", 6, ENTRY_PLAIN);

    ck_assert_ptr_eq(get(&table.root, "a", 5, ENTRY_FRAME), frame);
    ck_assert_uint_eq(frame->id.ino, 5);
    ck_assert_ptr_ne(replaced, other);
    const struct node_id private = {
        .dev = 1, .ino = 7, .readers = 1, .kind = ENTRY_FRAME
    };
    struct node *hidden;

    ck_assert_int_eq(node_get(&table, &table.root, "a", &private, &hidden), 0);
    ck_assert_ptr_ne(hidden, frame);
    forget(hidden);
    node_forget(&table, frame, 2);
    forget(other);
    forget(replaced);
    free_table();
}
END_TEST

START_TEST(a_frame_is_one_node_at_a_time)
{
    struct open_file *open = (struct open_file *)&table;

    make_table();
    struct node *a = get(&table.root, "a", 3, ENTRY_FRAME);
    struct node *b = get(&table.root, "b", 4, ENTRY_FRAME);

    /*
     * Another program moves the file while it is open, which does not change
     * its node.
     */
    b->open = open;
    ck_assert(!is(a, 4));
    ck_assert(is(b, 4));
    b->open = NULL;
    ck_assert(is(a, 4));
    a->open = open;
    ck_assert(!is(b, 4));
    a->open = NULL;
    ck_assert_ptr_eq(get(&table.root, "c", 4, ENTRY_FRAME), a);
    node_forget(&table, a, 2);
    forget(b);
    free_table();
}
END_TEST

START_TEST(a_node_that_is_superseded_is_no_file_any_more)
{
    make_table();
    struct node *old = get(&table.root, "a", 3, ENTRY_FRAME);

    node_unhash_locked(&table, old);
    ck_assert(!is(old, 3));
    struct node *new = get(&table.root, "a", 3, ENTRY_FRAME);

    ck_assert_ptr_ne(new, old);
    ck_assert(!is(old, 3));
    ck_assert(is(new, 3));
    forget(old);
    forget(new);
    free_table();
}
END_TEST

START_TEST(a_frame_that_is_removed_stays_its_node)
{
    make_table();
    struct node *node = get(&table.root, "a", 3, ENTRY_FRAME);

    node_removed(&table, node, &table.root, "a", true);
    ck_assert(is(node, 3));
    forget(node);
    free_table();
}
END_TEST

START_TEST(a_directory_lives_as_long_as_what_is_in_it)
{
    make_table();
    struct node *dir = get(&table.root, "dir", 2, ENTRY_DIRECTORY);
    struct node *sub = get(dir, "sub", 3, ENTRY_DIRECTORY);
    struct node *file = get(sub, "file", 4, ENTRY_PLAIN);

    forget(dir);
    forget(sub);
    check_path(file, "dir/sub/file");
    node_ref(&table, file);
    forget(file);
    check_path(file, "dir/sub/file");
    node_unref(&table, file);
    free_table();
}
END_TEST

static void rename_any(struct node *from, struct node *to)
{
    node_begin_rename(&table, from, to);
    node_end_rename(&table, from, to);
}

/* A call that waits for ever fails the test by its timeout. */
START_TEST(a_path_is_locked_against_renames_of_nodes_on_it_alone)
{
    make_table();
    struct node *x = get(&table.root, "x", 2, ENTRY_DIRECTORY);
    struct node *y = get(&table.root, "y", 3, ENTRY_DIRECTORY);
    struct node *a = get(x, "a", 4, ENTRY_FRAME);
    struct node *b = get(x, "b", 5, ENTRY_FRAME);

    node_lock_path(&table, a);
    node_lock_path(&table, a);
    rename_any(b, y);
    ck_assert_uint_eq(x->npath_users, 2);
    ck_assert_ptr_eq(get(y, "a", 4, ENTRY_FRAME), a);
    ck_assert_uint_eq(y->npath_users, 2);
    rename_any(x, NULL);
    node_unlock_path(&table, a);
    node_unlock_path(&table, a);
    ck_assert_uint_eq(table.root.npath_users, 0);
    rename_any(y, a);
    node_begin_rename(&table, a, NULL);
    node_lock_path(&table, b);
    node_unlock_path(&table, b);
    node_end_rename(&table, a, NULL);
    node_forget(&table, a, 2);
    forget(b);
    forget(x);
    forget(y);
    free_table();
}
END_TEST

static void *rename_one(void *node)
{
    rename_any(node, NULL);
    return NULL;
}

START_TEST(a_rename_waits_for_those_who_use_a_path)
{
    pthread_t thread;

    make_table();
    struct node *dir = get(&table.root, "dir", 2, ENTRY_DIRECTORY);
    struct node *a = get(dir, "a", 3, ENTRY_FRAME);

    node_lock_path(&table, a);
    ck_assert_int_eq(pthread_create(&thread, NULL, rename_one, dir), 0);
    for (unsigned n = 0; n == 0;) {
        pthread_mutex_lock(&table.lock);
        n = table.nwaiting;
        ck_assert(!dir->renamed);
        pthread_mutex_unlock(&table.lock);
    }
    node_unlock_path(&table, a);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    forget(a);
    forget(dir);
    free_table();
}
END_TEST

START_TEST(directories_that_move_make_no_circle)
{
    make_table();
    struct node *a = get(&table.root, "a", 2, ENTRY_DIRECTORY);
    struct node *b = get(a, "b", 3, ENTRY_DIRECTORY);

    ck_assert_ptr_eq(get(b, "a", 2, ENTRY_DIRECTORY), a);
    check_path(b, "a/b");
    ck_assert_ptr_eq(get(&table.root, "b", 3, ENTRY_DIRECTORY), b);
    ck_assert_ptr_eq(get(b, "a", 2, ENTRY_DIRECTORY), a);
    check_path(a, "b/a");
    node_forget(&table, a, 3);
    node_forget(&table, b, 2);
    free_table();
}
END_TEST

START_TEST(the_table_grows_and_shrinks)
{
    enum {
        NFILES = 20000
    };
    static struct node *nodes[NFILES];
    char name[32];

    make_table();
    size_t small = table.nbuckets;

    for (unsigned i = 0; i < NFILES; i++) {
        snprintf(name, sizeof(name), "file%u", i);
        nodes[i] = get(&table.root, name, i, ENTRY_FRAME);
    }
    ck_assert_uint_eq(table.nnodes, NFILES);
    ck_assert_uint_ge(table.nbuckets, NFILES / 2);
    for (unsigned i = 0; i < NFILES; i++) {
        snprintf(name, sizeof(name), "file%u", i);
        ck_assert_ptr_eq(get(&table.root, name, i, ENTRY_FRAME), nodes[i]);
    }
    for (unsigned i = 0; i < NFILES; i++)
        node_forget(&table, nodes[i], 2);
    ck_assert_uint_eq(table.nbuckets, small);
    free_table();
}
END_TEST

START_TEST(paths_longer_than_any_are_refused)
{
    struct node *nodes[20];
    char name[NAME_MAX + 1];
    struct node_path where;

    memset(name, 'x', NAME_MAX);
    name[NAME_MAX] = '\0';
    make_table();
    for (unsigned i = 0; i < 20; i++)
        nodes[i] = get(i == 0 ? &table.root : nodes[i - 1], name, i + 2,
                       ENTRY_DIRECTORY);
    ck_assert_int_eq(node_locate(&table, nodes[14], &where), 0);
    ck_assert_uint_eq(strlen(where.dir), 14 * 256 - 1);
    ck_assert_int_eq(node_locate(&table, nodes[19], &where), -ENAMETOOLONG);
    for (unsigned i = 20; i-- > 0;)
        forget(nodes[i]);
    free_table();
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        two_names_of_a_file_are_one_node,
        a_file_is_found_by_each_name_that_is_left,
        a_rename_is_of_the_name_that_is_renamed,
        no_more_names_are_kept_than_a_file_has,
        where_a_name_is_left_no_other_file_takes_over,
        a_frame_replaced_for_the_same_readers_stays_its_node,
        a_frame_is_one_node_at_a_time,
        a_node_that_is_superseded_is_no_file_any_more,
        a_frame_that_is_removed_stays_its_node,
        a_directory_lives_as_long_as_what_is_in_it,
        a_path_is_locked_against_renames_of_nodes_on_it_alone,
        a_rename_waits_for_those_who_use_a_path,
        directories_that_move_make_no_circle,
        the_table_grows_and_shrinks,
        paths_longer_than_any_are_refused,
        NULL,
    };

    return suite_run("node", tests);
}
