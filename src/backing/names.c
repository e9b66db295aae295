/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/names.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "frame/frame_object.h"
#include "store/store_local.h"
#include "writer/frame_dir.h"
#include "writer/private_dir.h"

/* If several frames want the same name, the one with the first suffix gets
   it. */
static const char *const suffixes[] = {
    ".b2frame", ".b2f", ".b2", ".b2nd", ".b2b", ".b2eframe",
};

enum {
    NSUFFIXES = sizeof(suffixes) / sizeof(suffixes[0]),
    /* These are for frames in one file.  The next suffix is for stores only,
       and the last one was for directories only. */
    NSUFFIXES_FILE = NSUFFIXES - 2,
};

static void copy(char *to, const char *from)
{
    memcpy(to, from, strlen(from) + 1);
}

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);

    return len >= suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

bool names_is_private(const char *name)
{
    return private_dir_is_name(name);
}

bool names_lock_stem(const char *name, char *frame)
{
    size_t len = strlen(name) - strlen(STORE_LOCK_SUFFIX);

    if (!ends_in(name, STORE_LOCK_SUFFIX) || len == 0)
        return false;
    memcpy(frame, name, len);
    frame[len] = '\0';
    return true;
}

/* Index of the suffix that a name has; NSUFFIXES if it has none. */
static size_t suffix_of(const char *name)
{
    size_t rank = 0;

    while (rank < NSUFFIXES && !ends_in(name, suffixes[rank]))
        rank++;
    return rank;
}

const char *names_suffix(size_t number)
{
    return number < NSUFFIXES ? suffixes[number] : NULL;
}

bool names_has_suffix(const char *name)
{
    return suffix_of(name) < NSUFFIXES_FILE;
}

bool names_stem(const char *name, char *stem)
{
    size_t rank = suffix_of(name);
    size_t len;

    if (rank == NSUFFIXES)
        return false;
    len = strlen(name) - strlen(suffixes[rank]);
    memcpy(stem, name, len);
    stem[len] = '\0';
    return len > 0 && strcmp(stem, ".") != 0 && strcmp(stem, "..") != 0 &&
           !names_is_private(stem);
}

void names_note(struct names_dir *dir, const struct names_change *change)
{
    assert(dir->nchanges < NAMES_CHANGES_MAX);
    dir->changes[dir->nchanges++] = *change;
}

/* Find the change that an entry is about to see; NULL if there is none. */
static const struct names_change *find_change(const struct names_dir *dir,
                                              const char *name)
{
    for (unsigned i = dir->nchanges; i-- > 0;) {
        if (strcmp(dir->changes[i].name, name) == 0)
            return &dir->changes[i];
    }
    return NULL;
}

static int kind_of(const struct names_dir *dir, const char *name)
{
    const struct names_change *change = find_change(dir, name);

    if (names_is_private(name))
        return ENTRY_NONE;
    return change ? (int)change->kind : dir->kind(dir->context, name);
}

static int is_array(const struct names_dir *dir, const char *name,
                    enum entry_kind kind)
{
    const struct names_change *change = find_change(dir, name);

    if (!dir->is_array || !entry_traits[kind].frame)
        return 0;
    return change ? change->array : dir->is_array(dir->context, name, kind);
}

/*
 * Find the first frame that is named `stem` with one of the first `nsuffixes`
 * suffixes.  It must be an array if `array` is 1, and must not if it is 0.
 * Returns its kind, or the errors of names_find().
 */
static int find_frame(const struct names_dir *dir, const char *stem,
                      size_t nsuffixes, int array, char *name)
{
    size_t len = strlen(stem);

    for (size_t i = 0; i < nsuffixes; i++) {
        int kind;
        int r;

        if (len + strlen(suffixes[i]) > NAME_MAX)
            continue;
        memcpy(name, stem, len);
        copy(name + len, suffixes[i]);
        kind = kind_of(dir, name);
        if (kind < 0)
            return kind;
        if (!entry_traits[(enum entry_kind)kind].frame)
            continue;
        r = is_array(dir, name, (enum entry_kind)kind);
        if (r < 0 || r == array)
            return r < 0 ? r : kind;
    }
    return ENTRY_NONE;
}

/* Find an array by the name under which it would show. */
static int find_array(const struct names_dir *dir, const char *shown,
                      char *name)
{
    char stem[NAME_MAX + 1];

    if (!dir->is_array || !ends_in(shown, NAMES_NPY))
        return ENTRY_NONE;
    copy(stem, shown);
    stem[strlen(shown) - strlen(NAMES_NPY)] = '\0';
    return find_frame(dir, stem, NSUFFIXES, 1, name);
}

/* Get the name under which a frame shows if that name is free.  Returns false
   if there is no such name. */
static bool short_name(const char *name, int array, char *shown)
{
    size_t len;

    if (!names_stem(name, shown))
        return false;
    len = strlen(shown);
    if (!array)
        return true;
    if (len + strlen(NAMES_NPY) > NAME_MAX)
        return false;
    copy(shown + len, NAMES_NPY);
    return true;
}

/*
 * Does an entry of this kind show under its own name?  Returns 0, 1 or an
 * error.  If it returns 0, `shown`, with room for NAME_MAX + 1 bytes, receives
 * the short name.  The recursion ends at a name without one of our suffixes,
 * because each call removes one.
 */
static int shows_in_full(const struct names_dir *dir, const char *name,
                         enum entry_kind kind, char *shown)
{
    char stem[NAME_MAX + 1];
    char rival[NAME_MAX + 1];
    int array;
    int r;

    if (dir->keep || !entry_traits[kind].frame)
        return 1;
    array = is_array(dir, name, kind);
    if (array < 0)
        return array;
    if (!short_name(name, array, shown))
        return 1;
    r = kind_of(dir, shown);
    if (r > ENTRY_NONE)
        r = shows_in_full(dir, shown, (enum entry_kind)r, rival);
    if (r == 0 && array)
        r = find_frame(dir, shown, NSUFFIXES, 0, rival);
    if (r == 0) {
        names_stem(name, stem);
        r = find_frame(dir, stem, suffix_of(name), array, rival);
    }
    return r > 0 ? 1 : r;
}

int names_shown(const struct names_dir *dir, const char *name,
                enum entry_kind kind, char *shown)
{
    int r = shows_in_full(dir, name, kind, shown);

    if (r < 0)
        return r;
    if (r > 0)
        copy(shown, name);
    return 0;
}

int names_find(const struct names_dir *dir, const char *shown, char *name)
{
    int kind;
    int r;

    if (strlen(shown) > NAME_MAX)
        return -ENAMETOOLONG;
    kind = kind_of(dir, shown);
    if (kind < 0)
        return kind;
    r = kind == ENTRY_NONE
            ? 0
            : shows_in_full(dir, shown, (enum entry_kind)kind, name);
    if (r < 0)
        return r;
    if (r > 0) {
        copy(name, shown);
        return kind;
    }
    if (dir->keep || names_is_private(shown))
        return ENTRY_NONE;
    r = find_frame(dir, shown, NSUFFIXES, 0, name);
    return r == ENTRY_NONE ? find_array(dir, shown, name) : r;
}

int names_chunks(const struct names_dir *dir, const char *frame, char *shown)
{
    char name[NAME_MAX + 1];
    size_t len = strlen(frame);
    int r;

    if (len + strlen(NAMES_CHUNKS) > NAME_MAX)
        return 0;
    memcpy(shown, frame, len);
    copy(shown + len, NAMES_CHUNKS);
    r = names_find(dir, shown, name);
    return r < 0 ? r : r == ENTRY_NONE;
}

int names_find_chunks(const struct names_dir *dir, const char *shown,
                      char *name)
{
    char frame[NAME_MAX + 1];
    int r;

    if (!ends_in(shown, NAMES_CHUNKS))
        return ENTRY_NONE;
    copy(frame, shown);
    frame[strlen(shown) - strlen(NAMES_CHUNKS)] = '\0';
    r = names_find(dir, frame, name);
    if (r < 0)
        return r;
    return entry_traits[(enum entry_kind)r].frame ? ENTRY_CHUNKS : ENTRY_NONE;
}

int names_will_show(const struct names_dir *dir,
                    const struct names_change *coming, const char *shown)
{
    struct names_dir then = *dir;
    char name[NAME_MAX + 1];
    int r;

    names_note(&then, coming);
    r = names_shown(&then, coming->name, coming->kind, name);
    return r < 0 ? r : strcmp(name, shown) == 0;
}

int names_refuse(const struct names_dir *dir, const char *shown)
{
    char name[NAME_MAX + 1];
    int r = names_find(dir, shown, name);

    if (r < 0)
        return r;
    return r == ENTRY_NONE ? -EXDEV : -EEXIST;
}

/* Returns 1 and the stored name; 0 if that name is taken, or would not let the
   frame show; or an error as names_new(). */
static int try_suffix(const struct names_dir *dir, const char *shown,
                      const struct names_frame *frame, size_t rank, char *name)
{
    const struct names_change coming = { name, frame->kind, frame->array };
    size_t len = strlen(shown);
    int r;

    if (frame->array)
        len -= strlen(NAMES_NPY);
    if (len + strlen(suffixes[rank]) > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, shown, len);
    copy(name + len, suffixes[rank]);
    /* An index file would turn the directory into a frame. */
    if (frame_object_is_index(name))
        return 0;
    /* An entry that is about to go still has its name, and one that is about to
       come will have it. */
    r = dir->kind(dir->context, name);
    if (r == ENTRY_NONE)
        r = kind_of(dir, name);
    if (r != ENTRY_NONE)
        return r < 0 ? r : 0;
    return names_will_show(dir, &coming, shown);
}

/* Try the suffixes, the frame's own one first; returns as try_suffix(). */
static int try_suffixes(const struct names_dir *dir, const char *shown,
                        const struct names_frame *frame, char *name)
{
    size_t own = frame->like ? suffix_of(frame->like) : NSUFFIXES;
    int r = 0;

    if (frame->array &&
        (!ends_in(shown, NAMES_NPY) || strlen(shown) == strlen(NAMES_NPY)))
        return 0;
    if (own < NSUFFIXES)
        r = try_suffix(dir, shown, frame, own, name);
    for (size_t i = 0; r == 0 && i < NSUFFIXES_FILE; i++)
        r = try_suffix(dir, shown, frame, i, name);
    return r;
}

int names_new(const struct names_dir *dir, const char *shown,
              const struct names_frame *frame, char *name)
{
    int r;

    if (names_is_private(shown))
        return -EPERM;
    if (dir->keep) {
        if (strlen(shown) > NAME_MAX)
            return -ENAMETOOLONG;
        copy(name, shown);
        return 0;
    }
    r = try_suffixes(dir, shown, frame, name);
    if (r == 0)
        return names_refuse(dir, shown);
    return r < 0 ? r : 0;
}
