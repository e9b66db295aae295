/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/listing.h"

#include "open/lookup.h"

double attr_timeout(const struct fs *fs)
{
    return fs->shared ? 0 : ENTRY_TIMEOUT;
}

struct fuse_entry_param entry_param(const struct fs *fs,
                                    const struct node *node,
                                    const struct stat *st)
{
    return (struct fuse_entry_param){
        .ino = (uintptr_t)node,
        .attr = *st,
        .attr_timeout = attr_timeout(fs),
        .entry_timeout = ENTRY_TIMEOUT,
    };
}

/* Add an entry to a listing.  Returns false if there is no memory for it. */
static bool list_plain(struct listing *list, const struct dir_entry *entry)
{
    size_t left = list->size - list->len;
    size_t need = fuse_add_direntry(list->req, list->buf + list->len, left,
                                    entry->shown, &entry->st, entry->next);

    if (need > left)
        return false;
    list->len += need;
    return true;
}

/* Add an entry together with the reply to its lookup.  Returns as
   list_plain(). */
static bool list_plus(struct listing *list, const struct dir_entry *entry)
{
    struct fuse_entry_param param = { .attr = entry->st };
    const struct found_entry found = { list->parent, dir_backing(list->dir),
                                       entry->name, entry->kind };
    size_t left = list->size - list->len;
    struct node *node;
    struct stat st;

    if (fuse_add_direntry_plus(list->req, NULL, 0, entry->shown, NULL, 0) >
        left)
        return false;
    /* An entry that was removed meanwhile is listed without attributes. */
    if (entry->kind != ENTRY_NONE &&
        lookup_entry(list->fs, &found, &node, &st) == 0)
        param = entry_param(list->fs, node, &st);
    list->len += fuse_add_direntry_plus(list->req, list->buf + list->len, left,
                                        entry->shown, &param, entry->next);
    return true;
}

int listing_fill(struct listing *list, off_t off)
{
    struct dir_entry entry;
    int r;

    while ((r = dir_read(list->dir, off, &entry)) > 0) {
        if (!(list->plus ? list_plus : list_plain)(list, &entry))
            return 0;
        off = entry.next;
    }
    /* Deliver the entries that were read before an error; the next call returns
       the error. */
    return list->len > 0 ? 0 : r;
}
