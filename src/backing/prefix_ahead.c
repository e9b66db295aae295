/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/prefix_private.h"

enum {
    WINDOW_FIRST = 16,
    WINDOW_MAX = 128, /* more heads at a time are not fetched faster */
    NEAR = 8,         /* programs sort names by other rules than servers */
    MANY = 16,        /* so many heads were missed that all will be wanted */
};

/* Begin to fetch the head of an entry, if it may be a frame. */
static void begin_locked(struct prefix_dir *dir, size_t no, int64_t since)
{
    const struct prefix_entry *entry = &dir->list->entries[no];
    const struct prefix_object object = {
        .dir = dir,
        .name = entry->name,
        .index = entry->prefix,
        .etag = !entry->prefix && dir->list->listed_ns >= since
                    ? prefix_entry_etag(entry)
                    : NULL,
    };

    if (entry->prefix || names_has_suffix(entry->name))
        prefix_head_begin_locked(&object, since);
}

static void widen_locked(struct prefix_dir *dir, int64_t since)
{
    size_t window = 2 * dir->ahead.window;
    size_t end;

    if (window < WINDOW_FIRST)
        window = WINDOW_FIRST;
    if (window > WINDOW_MAX)
        window = WINDOW_MAX;
    if (dir->ahead.cursor >= dir->list->nentries)
        dir->ahead.cursor = 0;
    end = dir->ahead.cursor + window;
    if (end > dir->list->nentries)
        end = dir->list->nentries;
    for (size_t i = dir->ahead.cursor; i < end; i++)
        begin_locked(dir, i, since);
    dir->ahead.cursor = end;
    dir->ahead.window = window;
}

/* Does an entry follow those whose heads were wanted before? */
static bool is_near(const struct prefix_dir *dir, size_t no)
{
    size_t cursor = dir->ahead.cursor;

    return dir->ahead.nmissed > 1 && no <= cursor + NEAR &&
           no + dir->ahead.window + NEAR >= cursor;
}

/* Programs that want the heads of all entries ask for them in some order, one
   after the other, because they ask for the attributes of files. */
void prefix_ahead_locked(struct prefix_dir *dir, const char *name,
                         int64_t since, bool missed)
{
    size_t cursor = dir->ahead.cursor;
    size_t no;

    if (!dir->list || dir->tree->options.revalidate == 0)
        return;
    no = prefix_list_seek(dir->list, name);
    dir->ahead.nmissed += missed;
    if (!is_near(dir, no) && missed && dir->ahead.nmissed < MANY) {
        dir->ahead.cursor = no + 1;
        dir->ahead.window = 0;
    } else if (missed || (is_near(dir, no) && cursor < dir->list->nentries &&
                          no + dir->ahead.window / 2 >= cursor)) {
        widen_locked(dir, since);
    }
}
