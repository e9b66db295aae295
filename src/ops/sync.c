/* SPDX-License-Identifier: BSD-3-Clause */
#include "ops/sync.h"

#include <errno.h>

#include "open/open_file.h"
#include "tree/fs.h"

void sync_note(struct fs *fs, struct node *node)
{
    dev_t dev;

    pthread_mutex_lock(&fs->nodes.lock);
    dev = node->id.dev;
    if (node != &fs->nodes.root && dev != fs->dev &&
        !sync_set_has(&fs->written, dev))
        sync_set_add(&fs->written, dev);
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* Sync the stored file.  It is no error if a removed frame has no index file
   left, or if this user may not read the file and so cannot open it to sync. */
static int sync_stored(const struct open_version *version)
{
    int r = backing_anchor_sync(&version->anchor);

    return version->file && (r == -EACCES || r == -ENOENT) ? 0 : r;
}

int sync_open_file(struct fs *fs, struct open_file *open)
{
    struct open_version *version = open_file_version(open);
    bool clean =
        version->anchor.ops &&
        (!version->writable || (version->file && file_is_clean(version->file)));
    int r = open_file_sync(fs, open);

    if (r == 0 && clean && fs->source.writable)
        r = sync_stored(version);
    open_version_put(version);
    return r;
}
