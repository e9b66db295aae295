/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "fuse/names.h"
#include "suite.h"

/* A directory that is a list of its entries, ended by NULL. */
struct entry {
    const char *name;
    int kind;
};

static int kind_of(void *context, const char *name)
{
    for (const struct entry *entry = context; entry->name; entry++) {
        if (strcmp(entry->name, name) == 0)
            return entry->kind;
    }
    return ENTRY_NONE;
}

static struct names_dir dir_of(struct entry *entries)
{
    return (struct names_dir){ .kind = kind_of, .context = entries };
}

/* An entry shows under a name, and is found by it. */
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
        { "a.b2frame", ENTRY_FRAME },
        { "a.b2f", ENTRY_FRAME },
        { "a.b2.b2frame", ENTRY_SPARSE },
        { "b", ENTRY_DIRECTORY },
        { "b.b2nd", ENTRY_FRAME },
        { "b.b2nd.b2", ENTRY_FRAME },
        { "c.b2frame", ENTRY_OTHER },
        { "c.b2", ENTRY_FRAME },
        { NULL, 0 },
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

    /* Each name may be missing, a frame, or something else. */
    for (unsigned state = 0; state < 6561; state++) {
        struct entry entries[NNAMES + 1] = { { NULL, 0 } };
        struct names_dir dir = dir_of(entries);
        size_t n = 0;

        for (unsigned i = 0, digits = state; i < NNAMES; i++, digits /= 3) {
            if (digits % 3 != 0)
                entries[n++] = (struct entry){
                    names[i],
                    digits % 3 == 1 ? ENTRY_FRAME : ENTRY_OTHER,
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

START_TEST(names_are_never_changed_if_they_are_kept)
{
    struct entry entries[] = { { "a.b2frame", ENTRY_FRAME }, { NULL, 0 } };
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
        { "a.b2lock", ENTRY_OTHER },
        { "a.b2lock.b2frame", ENTRY_FRAME },
        { NAMES_TEMPORARY "x", ENTRY_OTHER },
        { NULL, 0 },
    };
    struct names_dir dir = dir_of(entries);
    char found[NAME_MAX + 1];

    ck_assert_int_eq(names_find(&dir, "a.b2lock", found), ENTRY_NONE);
    ck_assert_int_eq(names_find(&dir, NAMES_TEMPORARY "x", found), ENTRY_NONE);
    check_shown(&dir, "a.b2lock.b2frame", ENTRY_FRAME, "a.b2lock.b2frame");
}
END_TEST

START_TEST(errors_are_passed_up)
{
    struct entry entries[] = {
        { "a", -EIO },
        { "a.b2frame", ENTRY_FRAME },
        { "b.b2frame", -EIO },
        { NULL, 0 },
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
    struct entry entries[] = { { NULL, 0 } };
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
        names_are_never_changed_if_they_are_kept,
        hidden_entries_are_never_found,
        errors_are_passed_up,
        names_longer_than_any_are_refused,
        NULL,
    };

    return suite_run("names", tests);
}
