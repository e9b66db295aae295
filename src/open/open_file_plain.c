/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "open/kernel.h"
#include "open/open_file.h"
#include "store/store_version.h"

void open_file_begin_resize(struct open_file *open)
{
    pthread_mutex_lock(&open->lock);
    open->nresizing++;
    pthread_mutex_unlock(&open->lock);
}

void open_file_end_resize(struct open_file *open, bool done, uint64_t size)
{
    pthread_mutex_lock(&open->lock);
    open->nresizing--;
    open->nresized++;
    if (done)
        open->plain_size = size;
    pthread_mutex_unlock(&open->lock);
}

void open_file_note_end(struct open_file *open, uint64_t end)
{
    pthread_mutex_lock(&open->lock);
    if (open->plain_size < end) {
        open->nresized++;
        open->plain_size = end;
    }
    pthread_mutex_unlock(&open->lock);
}

/*
 * Look at the size of a file.  Returns whether it is cut off.
 *
 *  before  `nresized` from before the caller got the size; if it is another one
 *          now, programs here have changed the size meanwhile
 */
static bool note_size_locked(struct open_file *open, uint64_t size,
                             unsigned before)
{
    if (open->nresizing == 0 && open->nresized == before) {
        open->cut_off = open->cut_off || size < open->plain_size;
        if (!open->cut_off)
            open->plain_size = size;
    }
    return open->cut_off;
}

/* Get the attributes of a file, and find out whether it is cut off. */
static int look(struct open_file *open, const struct open_version *version,
                struct stat *st, bool *cut_off)
{
    unsigned before;
    int r;

    pthread_mutex_lock(&open->lock);
    before = open->nresized;
    pthread_mutex_unlock(&open->lock);
    r = backing_anchor_stat(&version->anchor, st);
    if (r < 0)
        return r;
    pthread_mutex_lock(&open->lock);
    *cut_off = note_size_locked(open, (uint64_t)st->st_size, before);
    pthread_mutex_unlock(&open->lock);
    return 0;
}

static bool is_plain(const struct fs *fs, const struct open_version *version)
{
    return fs->writeback && !version->file && !version->anchor.object;
}

bool open_file_is_cut_off(struct fs *fs, struct open_file *open,
                          const struct open_version *version)
{
    struct stat st;
    bool cut_off = false;

    if (!is_plain(fs, version) || look(open, version, &st, &cut_off) < 0)
        return false;
    if (cut_off)
        node_detach(&fs->nodes, open->node);
    return cut_off;
}

/* If a file that is open only for reading has changed, then another program has
   changed it.  Records the new state. */
static bool is_changed(struct fs *fs, struct node *node,
                       const struct open_version *version,
                       const struct stat *st)
{
    uint64_t content =
        store_version_hash(store_version_of(st), VERSION_SAME_CONTENT);
    bool changed;

    pthread_mutex_lock(&fs->nodes.lock);
    changed = !version->writable && node->content != content;
    if (changed)
        node->content = content;
    pthread_mutex_unlock(&fs->nodes.lock);
    return changed;
}

int open_file_watch(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    struct stat st;
    bool cut_off = false;
    int r = 0;

    if (version && is_plain(fs, version) &&
        look(open, version, &st, &cut_off) == 0) {
        if (cut_off) {
            node_detach(&fs->nodes, open->node);
            r = -ESTALE;
        } else if (is_changed(fs, open->node, version, &st)) {
            kernel_notify(fs, open->node, version);
        }
    }
    open_version_put(version);
    return r;
}
