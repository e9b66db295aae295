/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/listing.h"

#include "open/lookup.h"

/* How long the kernel may cache a name, in seconds, if the user does not
   say. */
static const double timeout_default = 1;

/* How long it may cache attributes: 0 if frames are shared by locks, because
   other programs may change them at any time. */
static double attr_timeout(const struct fs *fs)
{
    if (fs->shared)
        return 0;
    return fs->shown.attr_timeout < 0 ? timeout_default
                                      : fs->shown.attr_timeout;
}

/* Attributes as the user wants them to appear. */
static struct stat shown_attr(const struct fs *fs, const struct stat *st)
{
    struct stat shown = *st;

    if (fs->shown.uid >= 0)
        shown.st_uid = (uid_t)fs->shown.uid;
    if (fs->shown.gid >= 0)
        shown.st_gid = (gid_t)fs->shown.gid;
    if (fs->shown.umask >= 0)
        shown.st_mode = (st->st_mode & S_IFMT) |
                        (0777 & ~(mode_t)(unsigned)fs->shown.umask);
    return shown;
}

void reply_attr(const struct fs *fs, fuse_req_t req, const struct stat *st)
{
    struct stat shown = shown_attr(fs, st);

    fuse_reply_attr(req, &shown, attr_timeout(fs));
}

/* How long it may cache the name of a node. */
static double entry_timeout(struct fs *fs, const struct node *node)
{
    if (lookup_was_refused(fs, node))
        return 0;
    return fs->shown.entry_timeout < 0 ? timeout_default
                                       : fs->shown.entry_timeout;
}

struct fuse_entry_param entry_param(struct fs *fs, const struct node *node,
                                    const struct stat *st)
{
    return (struct fuse_entry_param){
        .ino = (uintptr_t)node,
        .attr = shown_attr(fs, st),
        .attr_timeout = attr_timeout(fs),
        .entry_timeout = entry_timeout(fs, node),
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
