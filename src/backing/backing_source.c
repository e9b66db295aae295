/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/backing_source.h"

#include <stdlib.h>
#include <unistd.h>

#include "backing/backing_ops.h"
#include "backing/prefix.h"
#include "backing/remote_frame.h"
#include "store/store_version.h"

void backing_source_init(struct backing_source *source)
{
    source->fd = -1;
    incoming_frames_init(&source->incoming);
    known_frames_init(&source->known);
    bundle_cache_init(&source->bundle_cache);
    trash_init(&source->trash);
}

void backing_source_fini(struct backing_source *source)
{
    trash_remove(&source->trash, source->fd);
    trash_fini(&source->trash);
    bundle_cache_fini(&source->bundle_cache);
    known_frames_fini(&source->known);
    incoming_frames_fini(&source->incoming);
    if (source->fd >= 0)
        close(source->fd);
    remote_frame_free(source->remote);
    prefix_free(source->prefix);
    free(source->only);
    free(source->mounted);
}

void backing_note_frame(struct backing_source *source, const struct stat *st)
{
    known_frames_add(&source->known,
                     store_version_hash(store_version_of(st), VERSION_SAME));
}

void backing_rest(const struct backing_source *source)
{
    if (source->remote)
        remote_frame_rest(source->remote);
    if (source->prefix)
        prefix_rest(source->prefix);
}

void backing_start(const struct backing_source *source,
                   struct file_context *files)
{
    if (source->remote)
        remote_frame_start(source->remote, files);
    if (source->prefix)
        prefix_start(source->prefix, files);
}

void backing_tidy_up(const struct backing_source *source)
{
    if (source->ops->tidy_up)
        source->ops->tidy_up(source);
}

int backing_statfs(const struct backing_source *source, struct statvfs *out)
{
    return source->ops->statfs(source, out);
}

int backing_sync(const struct backing_source *source)
{
    return source->ops->sync(source);
}

void backing_path(const struct backing_source *source, char out[PATH_MAX])
{
    out[0] = '\0';
    if (source->ops->path)
        source->ops->path(source, out);
}

bool backing_may_pass_through(const struct backing_source *source)
{
    return source->ops->may_pass_through &&
           source->ops->may_pass_through(source);
}

int backing_find(struct backing_source *source, const char *dir,
                 const char *name, enum entry_kind kind,
                 struct backing_place *out)
{
    return source->ops->find(source, dir, name, kind, out);
}
