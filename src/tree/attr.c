/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree/attr.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <string.h>

#include "base/retry.h"
#include "base/size.h"
#include "chunk/chunk_encode.h"
#include "tree/attr_header.h"
#include "tree/dir.h"
#include "tree/report.h"

enum {
    BLKSIZE_MIN = 4096,
    BLKSIZE_MAX = 1 << 20,
    STAT_BLOCK = 512,
};

/*
 * Get the blocks of the chunk files of a sparse frame.  The header's cbytes is
 * not trusted beyond the most that nbytes can take up, with each byte in a
 * chunk of its own.
 */
static uint64_t chunk_blocks(const struct frame_info *info)
{
    uint64_t limit;
    uint64_t cbytes = info->cbytes;

    if (size_mul(info->nbytes, 1 + CHUNK_OVERHEAD_MAX, &limit) &&
        cbytes > limit)
        cbytes = limit;
    return size_pieces(cbytes, STAT_BLOCK);
}

/* Get the blocks that a frame occupies, including `dirty` bytes that are still
   to be written out.  Never 0 if the frame shows any bytes. */
static blkcnt_t frame_blocks(const struct fs *fs, const struct stat *st,
                             const struct frame_info *info, uint64_t size,
                             uint64_t dirty)
{
    uint64_t blocks = (uint64_t)st->st_blocks + size_pieces(dirty, STAT_BLOCK);

    if (info->sparse)
        blocks += chunk_blocks(info);
    else if (fs->source.base > 0)
        blocks = size_pieces(info->frame_len, STAT_BLOCK);
    if (blocks == 0 && size > 0)
        blocks = 1;
    return (blkcnt_t)blocks;
}

static blksize_t frame_blksize(const struct frame_info *info)
{
    if (info->chunksize < BLKSIZE_MIN)
        return BLKSIZE_MIN;
    return info->chunksize < BLKSIZE_MAX ? (blksize_t)info->chunksize
                                         : BLKSIZE_MAX;
}

void attr_show_frame(const struct fs *fs, const struct frame_info *info,
                     uint64_t size, uint64_t dirty, struct stat *st)
{
    st->st_mode = S_IFREG | (st->st_mode & 07777);
    st->st_nlink = info->sparse ? 1 : st->st_nlink;
    st->st_rdev = 0;
    st->st_size = (off_t)size;
    st->st_blocks = frame_blocks(fs, st, info, size, dirty);
    st->st_blksize = frame_blksize(info);
}

void attr_show_chunk(uint64_t size, struct stat *st)
{
    st->st_size = (off_t)size;
    st->st_blocks = (blkcnt_t)size_pieces(size, STAT_BLOCK);
    st->st_blksize = BLKSIZE_MIN;
}

/* Read the header of a frame that was just seen.  Another process that replaces
   a sparse frame removes the index file of the old one. */
static int read_seen(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st,
                     struct file_peek *out)
{
    int r = attr_read_header(fs, node, place, st, out);

    return r == -ENOENT ? -ESTALE : r;
}

/* If another file has taken the place, look at that one. */
static int complete_closed_frame(struct fs *fs, struct node *node,
                                 const struct backing_place *place, bool again,
                                 struct stat *st)
{
    struct retry retry = RETRY_REPLACED;
    struct file_peek peek;
    int r;

    do {
        r = again ? backing_stat(place, node->id.kind, st) : 0;
        if (r == 0)
            r = read_seen(fs, node, place, st, &peek);
        again = true;
    } while (r == -ESTALE && retry_wait(&retry));
    if (r == 0 && !place->made_up_ino && !node_is(&fs->nodes, node, st))
        r = -ESTALE;
    if (r == 0)
        attr_show_frame(fs, &peek.info, peek.size, 0, st);
    return r;
}

/* If a chunk is damaged, report it and show size 0. */
static int complete_chunk(struct fs *fs, struct node *node,
                          const struct backing_place *place, struct stat *st)
{
    struct fault fault = FAULT_NONE;
    uint64_t size = 0;
    int r = backing_view_size(place, node->id.kind, &size, &fault);

    if (r < 0 && !report_is_fault(r))
        return r;
    if (r < 0)
        report_fault(&fs->nodes, node, st, r, &fault);
    attr_show_chunk(r < 0 ? 0 : size, st);
    return 0;
}

int attr_complete_closed(struct fs *fs, struct node *node,
                         const struct backing_place *place, bool again,
                         struct stat *st)
{
    if (node_traits(node)->chunk)
        return complete_chunk(fs, node, place, st);
    return complete_closed_frame(fs, node, place, again, st);
}

void attr_report_raw(struct fs *fs, struct node *node,
                     const struct backing_place *place, const struct stat *st)
{
    struct fault fault = FAULT_NONE;
    int r;

    if (!S_ISREG(st->st_mode) || !names_has_suffix(place->name))
        return;
    r = backing_check_header(place, &fault);
    if (r < 0)
        report_fault(&fs->nodes, node, st, r, &fault);
}

/* Get the attributes of a directory that is open, but no longer at its place.
   A directory in a store is not found once another program has removed it. */
static int stat_unlinked(struct fs *fs, const struct node *node,
                         struct stat *out)
{
    struct backing_anchor anchor;
    int r = -ESTALE;

    if (node_traits(node)->mirrored)
        r = dir_anchor(fs, node, &anchor);
    if (r < 0)
        return r;
    r = backing_anchor_stat(&anchor, out);
    backing_anchor_close(&anchor);
    if (r == 0)
        out->st_ino = fs_ino(fs, out->st_dev, out->st_ino);
    return r;
}

/* Get the attributes of the virtual directory that holds the frame SOURCE. */
static int stat_made_up(struct fs *fs, struct node *node, struct stat *out)
{
    struct backing_place place;
    int r = fs_place(fs, node, &place);

    if (r < 0)
        return r;
    r = backing_stat(&place, node->id.kind, out);
    backing_close(&place);
    /* The frame itself has the inode number of its file. */
    if (r == 0)
        out->st_ino = FUSE_ROOT_ID;
    return r;
}

int attr_get_folder(struct fs *fs, struct node *node, struct stat *out)
{
    struct backing_place place;
    struct stat st;
    int r;

    if (node_traits(node)->made_up)
        return stat_made_up(fs, node, out);
    r = fs_place(fs, node, &place);
    if (r < 0)
        return r == -ESTALE ? stat_unlinked(fs, node, out) : r;

    r = backing_stat(&place, node->id.kind, &st);
    if (r == 0 && node_is(&fs->nodes, node, &st)) {
        st.st_ino = fs_ino(fs, st.st_dev, st.st_ino);
        if (node_is_removed(&fs->nodes, node))
            st.st_nlink = 0;
        *out = st;
    } else if (r == 0 || r == -ENOENT || r == -ESTALE) {
        r = stat_unlinked(fs, node, out);
    }
    backing_close(&place);
    return r;
}
