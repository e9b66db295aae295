/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/attr.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <string.h>

#include "base/size.h"
#include "fuse/open_file.h"
#include "fuse/report.h"

enum {
    BLKSIZE_MIN = 4096,
    BLKSIZE_MAX = 1 << 20,
    STAT_BLOCK = 512,
    CHUNK_OVERHEAD = 32, /* of a chunk that does not shrink: its header */
};

/*
 * Blocks of the chunk files of a sparse frame.  What the header says of them
 * is not trusted beyond what a byte can take at most, in a chunk of its own.
 */
static uint64_t chunk_blocks(const struct frame_info *info)
{
    uint64_t limit;
    uint64_t cbytes = info->cbytes;

    if (size_mul(info->nbytes, 1 + CHUNK_OVERHEAD, &limit) && cbytes > limit)
        cbytes = limit;
    return size_pieces(cbytes, STAT_BLOCK);
}

/* What a frame takes up; never 0 if it has a byte. */
static blkcnt_t frame_blocks(const struct fs *fs, const struct stat *st,
                             const struct frame_info *info)
{
    uint64_t blocks = (uint64_t)st->st_blocks;

    if (info->sparse)
        blocks += chunk_blocks(info);
    else if (fs->base > 0)
        blocks = size_pieces(info->frame_len, STAT_BLOCK);
    if (blocks == 0 && info->nbytes > 0)
        blocks = 1;
    return (blkcnt_t)blocks;
}

static blksize_t frame_blksize(const struct frame_info *info)
{
    if (info->chunksize < BLKSIZE_MIN)
        return BLKSIZE_MIN;
    return info->chunksize < BLKSIZE_MAX ? info->chunksize : BLKSIZE_MAX;
}

/* Make the attributes of a frame's file those of the file that it shows. */
static void show_frame(const struct fs *fs, const struct frame_info *info,
                       struct stat *st)
{
    st->st_mode = S_IFREG | (st->st_mode & 07777);
    st->st_nlink = info->sparse ? 1 : st->st_nlink;
    st->st_rdev = 0;
    st->st_size = (off_t)info->nbytes;
    st->st_blocks = frame_blocks(fs, st, info);
    st->st_blksize = frame_blksize(info);
}

/* The header of a frame that is not open; empty if it is damaged. */
static int read_info(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st,
                     struct frame_info *info)
{
    struct fault fault = FAULT_NONE;
    struct store_stat unused;
    struct store *store;
    int r = backing_store(place, node->id.kind, &store);

    if (r == 0) {
        r = frame_read_info(store, fs->base, info, &unused, &fault);
        store_close(store);
    }
    if (r == 0)
        return 0;
    if (!report_is_fault(r))
        return r;
    report_fault(&fs->nodes, node, backing_stamp(st), r, &fault);
    *info = (struct frame_info){ .sparse = node->id.kind == ENTRY_SPARSE };
    return 0;
}

static struct frame_info info_of(const struct snapshot *snapshot)
{
    struct frame *frame = file_frame_get(snapshot->file);
    struct frame_info info = *frame_get_info(frame);

    file_frame_put(snapshot->file, frame);
    return info;
}

static int complete_frame(struct fs *fs, struct node *node,
                          const struct backing_place *place, struct stat *st)
{
    struct open_file *open = open_file_find(fs, node);
    struct snapshot *snapshot = NULL;
    struct frame_info info;
    int r = 0;

    if (open) {
        r = open_file_refresh(fs, open, place, st);
        if (r == 0)
            snapshot = open_file_snapshot(open);
    }
    if (snapshot)
        info = info_of(snapshot);
    else
        r = read_info(fs, node, place, st, &info);
    if (r == 0)
        show_frame(fs, &info, st);
    snapshot_put(snapshot);
    open_file_put(fs, open);
    return r;
}

int attr_complete(struct fs *fs, struct node *node,
                  const struct backing_place *place, struct stat *st)
{
    int r = 0;

    if (entry_is_frame(node->id.kind))
        r = complete_frame(fs, node, place, st);
    st->st_ino = fs_ino(fs, st->st_dev, st->st_ino);
    return r;
}

/* Attributes of a file that is not at its place any more, but still open. */
static int stat_gone(struct fs *fs, struct node *node, struct stat *out)
{
    struct open_file *open = open_file_find(fs, node);
    struct snapshot *snapshot = open ? open_file_snapshot(open) : NULL;
    struct frame_info info;
    int r = -ESTALE;

    if (snapshot && snapshot->file) {
        *out = snapshot->st;
        info = info_of(snapshot);
        show_frame(fs, &info, out);
        out->st_nlink = 0;
        r = 0;
    } else if (snapshot) {
        r = fstat(snapshot->fd, out) < 0 ? -errno : 0;
    }
    if (r == 0)
        out->st_ino = fs_ino(fs, out->st_dev, out->st_ino);
    snapshot_put(snapshot);
    open_file_put(fs, open);
    return r;
}

/* The directory made up to hold a frame: as accessible as that is. */
static int stat_made_up(struct fs *fs, struct stat *out)
{
    const struct backing_dir dir = { .fd = fs->root_fd };
    struct backing_place place;
    struct stat st;
    int r;

    fs_entry_place(fs, &dir, fs->only, fs->only_kind, &place);
    r = backing_stat(&place, fs->only_kind, &st);
    if (r < 0)
        return r;
    st.st_mode = S_IFDIR | 0555;
    st.st_nlink = 2;
    st.st_size = 0;
    st.st_blocks = 0;
    /* The frame has the number that is its own. */
    st.st_ino = FUSE_ROOT_ID;
    *out = st;
    return 0;
}

int attr_get(struct fs *fs, struct node *node, struct stat *out)
{
    struct backing_place place;
    struct stat st;
    int r;

    if (fs_is_made_up(fs, node))
        return stat_made_up(fs, out);
    r = fs_place(fs, node, &place);
    if (r < 0)
        return r == -ESTALE ? stat_gone(fs, node, out) : r;

    r = backing_stat(&place, node->id.kind, &st);
    if (r == 0 && node_is(&fs->nodes, node, &st)) {
        r = attr_complete(fs, node, &place, &st);
        *out = st;
    } else if (r == 0 || r == -ENOENT || r == -ESTALE) {
        r = stat_gone(fs, node, out);
    }
    backing_close(&place);
    return r;
}
