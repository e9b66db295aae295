/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/attr_header.h"

#include <errno.h>

#include "base/clock.h"
#include "store/store_local.h"
#include "store/store_version.h"
#include "tree/report.h"

/* How long a header is taken to be that of an unchanged version: a program that
   writes by mmap() changes the times of the file once for many writes. */
static const int64_t HEADER_NS = 5000000000;

/*
 * Find the size to show for a frame that is damaged or cannot be read: the size
 * that its header claims, or else that of its file.  The frame never looks
 * empty, because people and programs remove empty files, and repair may still
 * save much of this one.
 *
 *  store  NULL if it cannot be opened
 */
static void show_claim(struct fs *fs, struct store *store, bool sparse,
                       const struct stat *st, struct file_peek *out)
{
    struct fault fault = FAULT_NONE;
    struct frame_info *info = &out->info;

    *out = (struct file_peek){ .info = { .sparse = sparse } };
    if (store && frame_read_claim(store, fs->source.base, info, &fault) == 0)
        out->size = info->nbytes;
    if (out->size == 0)
        out->size = st->st_size > 0 ? (uint64_t)st->st_size : 1;
}

/*
 * Note whether a frame may be read.  With writeback caching the kernel keeps
 * the size that it learned first, so its size is stale once the frame can be
 * read.
 */
static void note_unread(struct fs *fs, struct node *node, bool unread)
{
    pthread_mutex_lock(&fs->nodes.lock);
    if (node->unread && !unread && fs->writeback)
        node->kernel_stale = true;
    node->unread = unread;
    pthread_mutex_unlock(&fs->nodes.lock);
}

/* The stamp of a frame that this mount finds by its inode number; 0 of others,
   and of one that changed lately. */
static uint64_t stamp_of(const struct backing_place *place,
                         const struct stat *st)
{
    return place->made_up_ino ? 0 : store_version_stamp(store_version_of(st));
}

/* Recall what an earlier call read from the header of this version. */
static bool recall(struct fs *fs, const struct node *node, uint64_t stamp,
                   struct file_peek *out)
{
    struct node_header header = { 0 };

    pthread_mutex_lock(&fs->nodes.lock);
    if (stamp != 0 && node->header.stamp == stamp && !node->unread &&
        clock_monotonic_ns() - node->header.read_at < HEADER_NS)
        header = node->header;
    pthread_mutex_unlock(&fs->nodes.lock);
    *out = (struct file_peek){
        .info = {
            .sparse = header.sparse,
            .nbytes = header.nbytes,
            .cbytes = header.cbytes,
            .frame_len = header.frame_len,
            .chunksize = header.chunksize,
        },
        .size = header.size,
    };
    return header.stamp != 0;
}

static void note(struct fs *fs, struct node *node, uint64_t stamp,
                 const struct file_peek *peek)
{
    const struct node_header header = {
        .stamp = stamp,
        .read_at = clock_monotonic_ns(),
        .size = peek->size,
        .nbytes = peek->info.nbytes,
        .cbytes = peek->info.cbytes,
        .frame_len = peek->info.frame_len,
        .chunksize = peek->info.chunksize,
        .sparse = peek->info.sparse,
    };

    pthread_mutex_lock(&fs->nodes.lock);
    node->header = header;
    pthread_mutex_unlock(&fs->nodes.lock);
}

int attr_read_header(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st,
                     struct file_peek *out)
{
    const uint64_t stamp = stamp_of(place, st);
    struct fault fault = FAULT_NONE;
    struct store *store = NULL;
    int r;

    if (recall(fs, node, stamp, out))
        return 0;
    r = backing_store(place, node->id.kind, STORE_NOATIME, &store, &fault);
    if (r == 0)
        r = backing_check_store(place, store, st);
    if (r == 0)
        r = file_peek(fs->files, store, fs->source.base, out, &fault);
    if (r == 0 || r == -EACCES)
        note_unread(fs, node, r < 0);
    if (r == 0 && stamp != 0)
        note(fs, node, stamp, out);
    if (r < 0 && report_is_fault(r)) {
        if (r != -EACCES)
            report_fault(&fs->nodes, node, st, r, &fault);
        show_claim(fs, store, node_traits(node)->sparse, st, out);
        r = 0;
    }
    store_close(store);
    return r;
}
