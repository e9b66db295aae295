/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "backing/names.h"
#include "suite.h"

/* A directory, given as a list of entries that ends in NULL. */
struct entry {
    const char *name;
    int kind;
    bool array;
};

static int kind_of(void *context, const char *name)
{
    for (const struct entry *entry = context; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0)
            return entry->kind;
    }
    return ENTRY_NONE;
}

static int is_array(void *context, const char *name,
                    enum entry_kind kind __attribute__((unused)))
{
    for (const struct entry *entry = context; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0)
            return entry->array;
    }
    return 0;
}

static struct names_dir dir_of(struct entry *entries)
{
    return (struct names_dir){ .kind = kind_of, .context = entries };
}

/* An entry shows under this name, and a lookup of the name finds it. */
static void check_shown(const struct names_dir *dir, const char *name, int kind,
                        const char *wanted)
{
    char shown[NAME_MAX + 1];
    char found[NAME_MAX + 1];

    ck_assert_int_eq(names_shown(dir, name, (enum entry_kind)kind, shown), 0);
    ck_assert_str_eq(shown, wanted);
    ck_assert_int_eq(names_find(dir, wanted, found), kind);
    ck_assert_str_eq(found, name);
}

START_TEST(each_entry_is_found_by_the_name_that_it_shows_under)
{
    struct entry entries[] = {
        { "a.b2frame", ENTRY_FRAME, false },
        { "a.b2f", ENTRY_FRAME, false },
        { "a.b2.b2frame", ENTRY_SPARSE, false },
        { "b", ENTRY_DIRECTORY, false },
        { "b.b2nd", ENTRY_FRAME, false },
        { "b.b2nd.b2", ENTRY_FRAME, false },
        { "c.b2frame", ENTRY_PLAIN, false },
        { "c.b2", ENTRY_FRAME, false },
        { NULL, 0, false },
    };
    static const char *const shown[] = {
        "a", "a.b2f", "a.b2", "b", "b.b2nd", "b.b2nd.b2", "c.b2frame", "c",
    };
    struct names_dir dir = dir_of(entries);

    for (size_t i = 0; entries[i].name; i++)
        check_shown(&dir, entries[i].name, entries[i].kind, shown[i]);
}
END_TEST

START_TEST(no_two_entries_show_under_one_name)
{
    static const char *const names[] = {
        "x",      "x.b2",         "x.b2frame", "x.b2.b2",
        "x.b2nd", "x.b2.b2frame", "x.b2f",     "x.b2frame.b2",
    };
    enum {
        NNAMES = sizeof(names) / sizeof(names[0])
    };

    /* Each name is absent, a frame, or something else. */
    for (unsigned state = 0; state < 6561; state++) {
        struct entry entries[NNAMES + 1] = { { NULL, 0, false } };
        struct names_dir dir = dir_of(entries);
        size_t n = 0;

        for (unsigned i = 0, digits = state; i < NNAMES; i++, digits /= 3) {
            if (digits % 3 != 0)
                entries[n++] = (struct entry){
                    names[i],
                    digits % 3 == 1 ? ENTRY_FRAME : ENTRY_PLAIN,
                    false,
                };
        }
        for (size_t i = 0; i < n; i++) {
            char shown[NAME_MAX + 1];

            ck_assert_int_eq(names_shown(&dir, entries[i].name,
                                         (enum entry_kind)entries[i].kind,
                                         shown),
                             0);
            check_shown(&dir, entries[i].name, entries[i].kind, shown);
        }
    }
}
END_TEST

START_TEST(arrays_show_as_npy_if_wanted)
{
    struct entry entries[] = {
        { "a.b2nd", ENTRY_FRAME, true },     { "b.b2nd", ENTRY_FRAME, false },
        { "c.b2frame", ENTRY_SPARSE, true }, { "c.npy", ENTRY_PLAIN, false },
        { "d.npy.b2nd", ENTRY_FRAME, true }, { "e.b2nd", ENTRY_FRAME, true },
        { "e.npy.b2", ENTRY_FRAME, false },  { NULL, 0, false },
    };
    static const char *const shown[] = {
        "a.npy", "b", "c.b2frame", "c.npy", "d.npy.npy", "e.b2nd", "e.npy",
    };
    struct names_dir dir = dir_of(entries);
    char found[NAME_MAX + 1];

    dir.is_array = is_array;
    for (size_t i = 0; entries[i].name; i++)
        check_shown(&dir, entries[i].name, entries[i].kind, shown[i]);
    ck_assert_int_eq(names_find(&dir, "a", found), ENTRY_NONE);
    ck_assert_int_eq(names_find(&dir, "b.npy", found), ENTRY_NONE);
}
END_TEST

START_TEST(no_two_entries_show_under_one_name_with_npy)
{
    static const char *const names[] = {
        "x", "x.npy", "x.b2", "x.b2nd", "x.npy.b2", "x.b2.b2nd", "x.npy.b2nd",
    };
    enum {
        NNAMES = sizeof(names) / sizeof(names[0])
    };

    /* Each name is absent, something else, a frame or an array. */
    for (unsigned state = 0; state < 1U << (2 * NNAMES); state++) {
        struct entry entries[NNAMES + 1] = { { NULL, 0, false } };
        struct names_dir dir = dir_of(entries);
        size_t n = 0;

        dir.is_array = is_array;
        for (unsigned i = 0, digits = state; i < NNAMES; i++, digits /= 4) {
            if (digits % 4 != 0)
                entries[n++] = (struct entry){
                    names[i],
                    digits % 4 == 1 ? ENTRY_PLAIN : ENTRY_FRAME,
                    digits % 4 == 3,
                };
        }
        for (size_t i = 0; i < n; i++) {
            char shown[NAME_MAX + 1];
            char found[NAME_MAX + 1];

            names_shown(&dir, entries[i].name, (enum entry_kind)entries[i].kind,
                        shown);
            if (names_find(&dir, shown, found) != entries[i].kind ||
                strcmp(found, entries[i].name) != 0)
                ck_abort_msg("%s in state %u", shown, state);
        }
    }
}
END_TEST

START_TEST(names_are_never_changed_if_they_are_kept)
{
    struct entry entries[] = { { "a.b2frame", ENTRY_FRAME, false },
                               { NULL, 0, false } };
    struct names_dir dir = dir_of(entries);
    char found[NAME_MAX + 1];

    dir.keep = true;
    check_shown(&dir, "a.b2frame", ENTRY_FRAME, "a.b2frame");
    ck_assert_int_eq(names_find(&dir, "a", found), ENTRY_NONE);
}
END_TEST

START_TEST(hidden_entries_are_never_found)
{
    struct entry entries[] = {
        { ".framefs-tmp.12.0", ENTRY_PLAIN, false },
        { ".framefs-tmp.0123456789abcdef", ENTRY_PLAIN, false },
        { ".framefs-tmp.1.b2frame", ENTRY_FRAME, false },
        { ".framefs-tmp.mine", ENTRY_PLAIN, false },
        { NULL, 0, false },
    };
    struct names_dir dir = dir_of(entries);
    char found[NAME_MAX + 1];

    ck_assert_int_eq(names_find(&dir, ".framefs-tmp.12.0", found), ENTRY_NONE);
    ck_assert_int_eq(names_find(&dir, ".framefs-tmp.0123456789abcdef", found),
                     ENTRY_NONE);
    check_shown(&dir, ".framefs-tmp.1.b2frame", ENTRY_FRAME,
                ".framefs-tmp.1.b2frame");
    check_shown(&dir, ".framefs-tmp.mine", ENTRY_PLAIN, ".framefs-tmp.mine");
}
END_TEST

START_TEST(errors_are_passed_up)
{
    struct entry entries[] = {
        { "a", -EIO, false },
        { "a.b2frame", ENTRY_FRAME, false },
        { "b.b2frame", -EIO, false },
        { NULL, 0, false },
    };
    struct names_dir dir = dir_of(entries);
    char name[NAME_MAX + 1];

    ck_assert_int_eq(names_shown(&dir, "a.b2frame", ENTRY_FRAME, name), -EIO);
    ck_assert_int_eq(names_find(&dir, "a", name), -EIO);
    ck_assert_int_eq(names_find(&dir, "b", name), -EIO);
}
END_TEST

START_TEST(names_longer_than_any_are_refused)
{
    struct entry entries[] = { { NULL, 0, false } };
    struct names_dir dir = dir_of(entries);
    char name[NAME_MAX + 1];
    char longer[NAME_MAX + 2];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[NAME_MAX + 1] = '\0';
    ck_assert_int_eq(names_find(&dir, longer, name), -ENAMETOOLONG);
    ck_assert_int_eq(names_find(&dir, longer + 1, name), ENTRY_NONE);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        each_entry_is_found_by_the_name_that_it_shows_under,
        no_two_entries_show_under_one_name,
        arrays_show_as_npy_if_wanted,
        no_two_entries_show_under_one_name_with_npy,
        names_are_never_changed_if_they_are_kept,
        hidden_entries_are_never_found,
        errors_are_passed_up,
        names_longer_than_any_are_refused,
        NULL,
    };

    return suite_run("names", tests);
}
