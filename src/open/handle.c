/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/handle.h"

#include <errno.h>
#include <stdlib.h>

#include "open/free_space.h"
#include "open/kernel.h"
#include "open/kernel_readahead.h"
#include "tree/report.h"

uint32_t handle_typesize_of(const struct open_version *version)
{
    struct frame *frame = file_frame_get(version->file);
    const struct frame_info *info = frame_get_info(frame);
    uint32_t typesize = info->nbytes > 0 ? info->typesize : 0;

    file_frame_put(version->file, frame);
    return typesize;
}

void handle_count_writer(struct fs *fs, struct handle *handle)
{
    handle->writes = true;
    handle->open->nwriters++;
    fs->nwriters++;
}

bool handle_admit(struct fs *fs, struct handle *handle, bool truncates)
{
    struct open_file *open = handle->open;
    bool in_sync;

    handle->known.writes = handle->writes;
    open_file_begin_admission(open);
    do {
        handle->known.nmodified = open_file_count_modified(open);
        in_sync = !open_file_is_outdated(open) &&
                  (truncates || open_file_is_kernel_in_sync(fs, open));
        handle->admitted =
            in_sync && open_file_add_handle(fs, open, &handle->known);
    } while (in_sync && !handle->admitted);
    open_file_end_admission(open);
    return handle->admitted;
}

bool handle_admit_new(struct fs *fs, struct handle *handle)
{
    handle->known.writes = handle->writes;
    handle->admitted = open_file_add_handle(fs, handle->open, &handle->known);
    return handle->admitted;
}

static void uncount_writer(struct fs *fs, struct handle *handle)
{
    if (!handle->writes)
        return;
    handle->open->nwriters--;
    fs->nwriters--;
}

void handle_close(struct fs *fs, struct handle *handle)
{
    fs_remove_opened(fs, &handle->opened);
    if (handle->open)
        kernel_readahead_note(fs->kernel_ahead, handle->open->node,
                              &handle->reader);
    file_reader_end(&handle->reader);
    uncount_writer(fs, handle);
    if (handle->admitted)
        open_file_remove_handle(handle->open, &handle->known);
    chunk_draft_free(handle->draft);
    open_file_put(fs, handle->open);
    free(handle);
}

static void close_opened(struct fs *fs, struct fs_opened *opened)
{
    handle_close(fs, list_entry(opened, struct handle, opened));
}

/* Take references to the nodes that are open for writing, one for each handle,
   up to `max`. */
static size_t collect_written(struct fs *fs, struct node **nodes, size_t max)
{
    size_t n = 0;

    pthread_mutex_lock(&fs->nodes.lock);
    list_for_each(link, &fs->opened) {
        struct fs_opened *opened = list_entry(link, struct fs_opened, link);
        struct handle *handle = list_entry(opened, struct handle, opened);

        if (opened->close == close_opened && handle->writes && n < max) {
            nodes[n] = handle->open->node;
            nodes[n++]->nrefs++;
        }
    }
    pthread_mutex_unlock(&fs->nodes.lock);
    return n;
}

void handle_flush_all(struct fs *fs)
{
    size_t max = fs->nwriters;
    struct node **nodes = calloc(max + 1, sizeof(*nodes));
    size_t n = nodes ? collect_written(fs, nodes, max) : 0;

    for (size_t i = 0; i < n; i++) {
        kernel_flush(fs, nodes[i], 0);
        node_unref(&fs->nodes, nodes[i]);
    }
    free(nodes);
}

int handle_check_newest(struct fs *fs, const struct handle *handle)
{
    if (fs->shared ||
        (handle->known.nmodified == open_file_count_modified(handle->open) &&
         !open_file_is_outdated(handle->open)))
        return 0;
    return -ESTALE;
}

struct handle *handle_new(struct fs *fs)
{
    struct handle *handle = calloc(1, sizeof(*handle));

    if (!handle)
        return NULL;
    handle->opened.close = close_opened;
    fs_add_opened(fs, &handle->opened);
    return handle;
}

void handle_choose_io(struct fs *fs, struct handle *handle,
                      struct fuse_file_info *fi)
{
    /* Where other programs append to a frame, too, the kernel must not cache
       appended bytes at the offset that it takes for the end of the file.  Nor
       may it cut the frame at that offset, as it does after an O_DIRECT write
       has failed. */
    bool appends = fs->shared && (fi->flags & (O_APPEND | O_DIRECT));

    handle->direct = handle->writes &&
                     (appends || free_space_wants_direct(fs, handle->open));
    fi->direct_io = handle->direct;
}

void handle_report(struct fs *fs, const struct handle *handle,
                   const struct open_version *version, int error,
                   const struct fault *fault)
{
    report_fault(&fs->nodes, handle->open->node, &version->st, error, fault);
}
