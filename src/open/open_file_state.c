/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "open/open_file.h"
#include "tree/fs.h"

int open_file_anchor(struct open_file *open, struct backing_anchor *out)
{
    int r = -ESTALE;

    *out = BACKING_ANCHOR_NONE;
    pthread_mutex_lock(&open->lock);
    if (open->current)
        r = backing_anchor_dup(&open->current->anchor, out);
    pthread_mutex_unlock(&open->lock);
    return r;
}

struct open_version *open_file_version(struct open_file *open)
{
    struct open_version *version;

    pthread_mutex_lock(&open->lock);
    version = open->current ? open_version_get(open->current) : NULL;
    pthread_mutex_unlock(&open->lock);
    return version;
}

bool open_file_leave_orphan(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    bool orphaned = version && version->file && file_is_orphaned(version->file);

    open_version_put(version);
    if (orphaned)
        node_detach(&fs->nodes, open->node);
    return orphaned;
}

bool open_file_has_newer(struct open_file *open,
                         const struct open_version *version)
{
    bool newer;

    pthread_mutex_lock(&open->lock);
    newer = open->current != version;
    pthread_mutex_unlock(&open->lock);
    return newer;
}

unsigned open_file_count_modified(struct open_file *open)
{
    unsigned n;

    pthread_mutex_lock(&open->lock);
    n = open->nmodified;
    pthread_mutex_unlock(&open->lock);
    return n;
}

void open_file_written(struct open_file *open, bool direct)
{
    if (!direct)
        return;
    pthread_mutex_lock(&open->lock);
    open->mtime_set = false;
    pthread_mutex_unlock(&open->lock);
}
