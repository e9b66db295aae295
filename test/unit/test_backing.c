/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_change.h"
#include "backing/backing_ops.h"
#include "backing/backing_source.h"
#include "backing/local.h"
#include "suite.h"

/*
 * A backing with the least that it must have: directories of NENTRIES frames
 * that are named by a digit, and have no bytes.
 */
enum {
    NENTRIES = 3
};

static unsigned nreferences;

static int digits_own(struct backing_place *place __attribute__((unused)))
{
    nreferences++;
    return 0;
}

static void digits_release(struct backing_place *place __attribute__((unused)))
{
    nreferences--;
}

static int digits_stat(const struct backing_place *place, enum entry_kind kind,
                       struct stat *out)
{
    if (kind != ENTRY_FRAME)
        return -ESTALE;
    *out = (struct stat){
        .st_mode = S_IFREG | 0640,
        .st_ino = (ino_t)place->name[0],
        .st_nlink = 1,
        .st_size = 7,
    };
    return 0;
}

static int digits_frame_kind(const struct backing_place *place
                             __attribute__((unused)))
{
    return ENTRY_FRAME;
}

static int digits_store(const struct backing_place *place
                        __attribute__((unused)),
                        enum entry_kind kind __attribute__((unused)),
                        unsigned flags __attribute__((unused)),
                        struct store **out __attribute__((unused)),
                        struct fault *fault)
{
    return fault_set(fault, -EIO, 0, NULL);
}

static void digits_dir_close(struct backing_dir *dir __attribute__((unused)))
{
}

static int digits_kind(const struct backing_dir *dir __attribute__((unused)),
                       const char *name,
                       unsigned char type __attribute__((unused)))
{
    bool there = name[0] >= '0' && name[0] < '0' + NENTRIES && name[1] == '\0';

    return there ? ENTRY_FRAME : ENTRY_NONE;
}

static const struct backing_ops digits_ops;

static void digits_place_in(const struct backing_dir *dir
                            __attribute__((unused)),
                            const char *name,
                            enum entry_kind kind __attribute__((unused)),
                            struct backing_place *out)
{
    *out = (struct backing_place){ .ops = &digits_ops, .made_up_ino = true };
    strcpy(out->name, name);
}

static void digits_name(const struct backing_dir *dir __attribute__((unused)),
                        uint64_t no, struct backing_listed *out)
{
    out->name[0] = (char)('0' + no);
    out->name[1] = '\0';
}

static int digits_list_next(struct backing_dir *dir, off_t off,
                            struct backing_listed *out)
{
    return backing_list_numbered(dir, off, NENTRIES, digits_name, out);
}

static const struct backing_ops digits_ops = {
    .own = digits_own,
    .release = digits_release,
    .stat = digits_stat,
    .frame_kind = digits_frame_kind,
    .store = digits_store,
    .dir_close = digits_dir_close,
    .kind = digits_kind,
    .place_in = digits_place_in,
    .list_next = digits_list_next,
};

/* Like `digits_ops`, but with changes, which fail. */
static int refuse_to_rename(const struct backing_move *move
                            __attribute__((unused)),
                            const struct backing_entry **left
                            __attribute__((unused)))
{
    return -EIO;
}

static const struct backing_change_ops one_change_ops = {
    .rename = refuse_to_rename,
};
static const struct backing_change_ops other_change_ops = {
    .rename = refuse_to_rename,
};

static struct backing_entry entry_of(const struct backing_ops *ops)
{
    return (struct backing_entry){
        .dir = { .ops = ops, .fd = -1 },
        .kind = ENTRY_FRAME,
        .name = "0",
    };
}

START_TEST(a_backing_without_changes_is_read_only)
{
    const struct backing_removal removal = { .open = false };
    const struct backing_new what = { .mode = S_IFREG | 0600 };
    const struct backing_entry entry = entry_of(&digits_ops);
    const struct backing_object object = { .kind = ENTRY_FRAME };
    const struct backing_move move = { .from = &entry, .to = &entry };
    const struct backing_entry *left;
    struct backing_object pinned;
    struct backing_draft draft;
    struct backing_place place;

    ck_assert_int_eq(backing_create(&entry, &what, &draft), -EROFS);
    ck_assert_int_eq(backing_link(&object, &entry), -EROFS);
    ck_assert_int_eq(backing_remove(&entry.dir, "0", ENTRY_FRAME, &removal),
                     -EROFS);
    ck_assert_int_eq(backing_rename(&move, &left), -EROFS);
    ck_assert_int_eq(backing_exchange(&move), -EROFS);
    backing_place_in(&entry.dir, "0", ENTRY_FRAME, &place);
    ck_assert_int_eq(backing_pin(&place, ENTRY_FRAME, &pinned), -EROFS);
}
END_TEST

START_TEST(entries_move_only_within_one_backing)
{
    struct backing_ops one = digits_ops;
    struct backing_ops other = digits_ops;
    struct backing_entry from = entry_of(&one);
    struct backing_entry to = entry_of(&other);
    const struct backing_move move = { .from = &from, .to = &to };
    const struct backing_entry *left;

    one.change = &one_change_ops;
    ck_assert_int_eq(backing_rename(&move, &left), -EROFS);
    other.change = &other_change_ops;
    ck_assert_int_eq(backing_rename(&move, &left), -EXDEV);
    ck_assert_int_eq(backing_exchange(&move), -EXDEV);
    other.change = &one_change_ops;
    ck_assert_int_eq(backing_rename(&move, &left), -EIO);
}
END_TEST

START_TEST(a_backing_may_lack_what_its_entries_never_need)
{
    const struct backing_opening how = { .kind = ENTRY_DIRECTORY,
                                         .bundle_path = "" };
    const struct stat st = { .st_ino = 1 };
    struct backing_entry entry = entry_of(&digits_ops);
    struct fault fault = FAULT_NONE;
    struct backing_anchor anchor;
    struct backing_place place;
    struct backing_dir dir;
    struct store *store;
    struct stat found;
    char target[8];

    backing_place_in(&entry.dir, "0", ENTRY_FRAME, &place);
    ck_assert_int_eq(backing_open(&place, O_RDONLY, &anchor), -ENOTSUP);
    ck_assert_int_eq(backing_anchor(&place, ENTRY_FRAME, &anchor), -ENOTSUP);
    ck_assert_int_eq(backing_anchor_stat(&anchor, &found), -ESTALE);
    backing_anchor_close(&anchor);
    ck_assert_int_eq(backing_readlink(&place, target, sizeof(target)), -EINVAL);
    ck_assert_int_eq(backing_check_header(&place, &fault), 0);
    ck_assert_int_eq(backing_check_store(&place, NULL, &st), 0);
    ck_assert_int_eq(backing_dir_open(&place, &how, &dir, &fault), -ENOTDIR);
    ck_assert_int_eq(backing_layers(&entry.dir, &store, &fault), -ENOENT);
    ck_assert_int_eq(backing_dir_stat(&entry.dir, &found), -ENOTSUP);
    ck_assert_int_eq(backing_dir_anchor(&entry.dir, &anchor), -ESTALE);
    ck_assert_int_eq(backing_dir_sync(&entry.dir), 0);
    ck_assert(backing_dir_is_current(&entry.dir));
    ck_assert_int_eq(backing_list_begin(&entry.dir), 0);
}
END_TEST

START_TEST(a_list_of_numbered_names_begins_with_dots)
{
    static const char *const wanted[] = { ".", "..", "0", "1", "2" };
    struct backing_entry entry = entry_of(&digits_ops);
    struct backing_listed listed;
    off_t off = 0;

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        ck_assert_int_eq(backing_list_next(&entry.dir, off, &listed), 1);
        ck_assert_str_eq(listed.name, wanted[i]);
        off = listed.next;
    }
    ck_assert_int_eq(backing_list_next(&entry.dir, off, &listed), 0);
    ck_assert_int_eq(backing_list_next(&entry.dir, -1, &listed), 0);
}
END_TEST

START_TEST(names_are_found_by_the_kinds_that_a_backing_gives)
{
    struct backing_source source = { .fd = -1 };
    struct backing_entry entry = entry_of(&digits_ops);
    struct names_dir names;
    char name[NAME_MAX + 1];

    entry.dir.source = &source;
    names = backing_names(&entry.dir);
    ck_assert_int_eq(names_find(&names, "2", name), ENTRY_FRAME);
    ck_assert_int_eq(names_find(&names, "3", name), ENTRY_NONE);
    ck_assert_int_eq(names_find_chunks(&names, "2.chunks", name), ENTRY_CHUNKS);
    ck_assert_str_eq(name, "2");
}
END_TEST

START_TEST(chunks_of_a_frame_lie_over_any_backing)
{
    struct backing_entry entry = entry_of(&digits_ops);
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    struct store *store;
    struct stat st;

    backing_place_in(&entry.dir, "1", ENTRY_CHUNKS, &place);
    ck_assert_int_eq(backing_stat(&place, ENTRY_CHUNKS, &st), 0);
    ck_assert_uint_eq(st.st_mode, S_IFDIR | 0640 | 0110);
    ck_assert_uint_ne(st.st_ino, '1');
    ck_assert_int_eq(backing_store(&place, ENTRY_CHUNKS, 0, &store, &fault),
                     -EIO);
    ck_assert_int_eq(backing_place_own(&place), 0);
    ck_assert_uint_eq(nreferences, 1);
    backing_close(&place);
    ck_assert_uint_eq(nreferences, 0);
}
END_TEST

/* Open an archive without members as a directory.  Its file is in a temporary
   directory, which becomes SOURCE. */
static void open_empty_store(char *path, struct backing_source *source,
                             struct backing_dir *out)
{
    static const char archive[22] = "PK\5\6";
    const struct backing_opening how = {
        .source = source,
        .kind = ENTRY_STORE,
        .bundle_path = "",
    };
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(path));
    source->fd = open(path, O_PATH | O_DIRECTORY);
    fd = openat(source->fd, "s.b2z", O_WRONLY | O_CREAT, 0600);
    ck_assert_int_eq(write(fd, archive, sizeof(archive)), sizeof(archive));
    close(fd);
    ck_assert_int_eq(backing_find(source, "", "s.b2z", ENTRY_STORE, &place), 0);
    ck_assert_int_eq(backing_dir_open(&place, &how, out, &fault), 0);
    backing_close(&place);
}

START_TEST(a_frame_that_has_left_its_store_is_stale)
{
    struct backing_source source = { .ops = &local_source_ops };
    char path[] = "/tmp/framefs_backing.XXXXXX";
    struct fault fault = FAULT_NONE;
    struct backing_place place;
    struct backing_dir dir;
    struct store *store;
    struct stat st;

    backing_source_init(&source);
    open_empty_store(path, &source, &dir);
    ck_assert_int_eq(backing_kind(&dir, "gone.b2nd", DT_UNKNOWN), ENTRY_NONE);
    backing_place_in(&dir, "gone.b2nd", ENTRY_BUNDLE_FRAME, &place);
    ck_assert_int_eq(backing_stat(&place, ENTRY_BUNDLE_FRAME, &st), -ESTALE);
    ck_assert_int_eq(
        backing_store(&place, ENTRY_BUNDLE_FRAME, 0, &store, &fault), -ESTALE);
    backing_dir_close(&dir);
    ck_assert_int_eq(unlinkat(source.fd, "s.b2z", 0), 0);
    ck_assert_int_eq(rmdir(path), 0);
    backing_source_fini(&source);
}
END_TEST

START_TEST(the_properties_of_each_kind_agree)
{
    for (int kind = 0; kind < ENTRY_NKINDS; kind++) {
        const struct entry_traits *traits = &entry_traits[kind];

        ck_assert(!traits->chunk || (traits->view && !traits->folder));
        ck_assert(!traits->view || traits->virtual);
        ck_assert(!traits->frame || (traits->layers && !traits->folder));
        ck_assert_int_eq(traits->decoded, traits->frame || traits->chunk);
        ck_assert(!traits->readonly_dir || traits->folder);
        ck_assert(!traits->folder || traits->one_name);
        ck_assert(!traits->sparse || traits->frame);
        ck_assert(!traits->in_store || (traits->virtual && !traits->view));
        ck_assert_int_eq(traits->folder, traits->mirrored + traits->made_up +
                                             traits->readonly_dir);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        a_backing_without_changes_is_read_only,
        entries_move_only_within_one_backing,
        a_backing_may_lack_what_its_entries_never_need,
        a_list_of_numbered_names_begins_with_dots,
        names_are_found_by_the_kinds_that_a_backing_gives,
        chunks_of_a_frame_lie_over_any_backing,
        a_frame_that_has_left_its_store_is_stale,
        the_properties_of_each_kind_agree,
        NULL,
    };

    return suite_run("backing", tests);
}
