/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/open_attr.h"

#include <errno.h>

#include "open/open_file.h"
#include "tree/attr.h"

/* Turn attributes of a file into those that programs see.  The open state
   counts, because it may be newer than the stored file. */
static void show_open(const struct fs *fs, const struct node *node,
                      const struct open_version *version, struct stat *st)
{
    struct frame *frame;
    struct frame_info info;

    if (node_traits(node)->chunk) {
        attr_show_chunk(file_size(version->file), st);
        return;
    }
    frame = file_frame_get(version->file);
    info = *frame_get_info(frame);
    file_frame_put(version->file, frame);
    attr_show_frame(fs, &info, file_size(version->file),
                    file_dirty(version->file), st);
}

/*
 * Open the newest state of a frame.  If another frame has replaced the one that
 * is open, a node that is looked up does not stand for both.  But a program
 * that has read a frame to its end, and asks for its attributes, may wait for
 * more, as `tail -f` does.  So the node follows to the new frame then, unless a
 * program reads the old one meanwhile.
 */
static int refresh(struct fs *fs, struct open_file *open,
                   const struct backing_place *place, bool looked_up,
                   const struct stat *st)
{
    unsigned nreads;
    int r = open_file_refresh(fs, open, place, st,
                              looked_up ? REFRESH_TO_READ : REFRESH_TO_LOOK);

    if (r != -ESTALE || looked_up || !open_file_is_at_rest(fs, open, &nreads))
        return r;
    return open_file_follow(fs, open, place, st, nreads);
}

/*
 * How the caller found a file.
 *
 *  looked_up  it looks up the file; else programs know the node
 *  nwritten   `nwritten` of `fs` before it got the attributes
 */
struct look {
    const struct backing_place *place;
    bool looked_up;
    unsigned nwritten;
};

/* If the file is closed now, another thread may have written it out and closed
   it since the caller got the attributes, which restores its time of
   modification only then. */
static int complete_frame(struct fs *fs, struct node *node,
                          const struct look *look, struct stat *st)
{
    struct open_file *open = open_file_find(fs, node);
    struct open_version *version;
    int r;

    if (!open)
        return attr_complete_closed(fs, node, look->place,
                                    fs->nwritten != look->nwritten, st);
    r = refresh(fs, open, look->place, look->looked_up, st);
    /* While another program changes the file, it looks as it did before. */
    if (r == -EBUSY)
        r = 0;
    version = r < 0 ? NULL : open_file_version(open);
    if (version) {
        show_open(fs, node, version, st);
        open_file_show_mtime(open, st);
    }
    open_version_put(version);
    open_file_put(fs, open);
    return r < 0 ? r : 0;
}

static int watch_other(struct fs *fs, struct node *node)
{
    struct open_file *open = open_file_find(fs, node);
    int r = open ? open_file_watch(fs, open) : 0;

    open_file_put(fs, open);
    return r;
}

/* Complete attributes as open_attr_complete() does. */
static int complete(struct fs *fs, struct node *node, const struct look *look,
                    struct stat *st)
{
    int r = 0;

    if (node_traits(node)->decoded)
        r = complete_frame(fs, node, look, st);
    else if (fs->writeback && S_ISREG(st->st_mode))
        r = watch_other(fs, node);
    if (node_traits(node)->plain)
        attr_report_raw(fs, node, look->place, st);
    st->st_ino = fs_ino(fs, st->st_dev, st->st_ino);
    return r;
}

int open_attr_complete(struct fs *fs, struct node *node,
                       const struct backing_place *place, unsigned nwritten,
                       struct stat *st)
{
    return complete(fs, node, &(struct look){ place, true, nwritten }, st);
}

/* Get attributes of an open file that is no longer at its place. */
static int stat_unlinked(struct fs *fs, struct node *node, struct stat *out)
{
    struct open_file *open = open_file_find(fs, node);
    struct open_version *version = open ? open_file_version(open) : NULL;
    int r = -ESTALE;

    if (version && version->file) {
        *out = version->st;
        show_open(fs, node, version, out);
        open_file_show_mtime(open, out);
        out->st_nlink = 0;
        r = 0;
    } else if (version) {
        r = backing_anchor_stat(&version->anchor, out);
    }
    if (r == 0)
        out->st_ino = fs_ino(fs, out->st_dev, out->st_ino);
    open_version_put(version);
    open_file_put(fs, open);
    return r;
}

int open_attr_get(struct fs *fs, struct node *node, struct stat *out)
{
    const unsigned nwritten = fs->nwritten;
    struct backing_place place;
    struct stat st;
    int r;

    if (node_traits(node)->folder)
        return attr_get_folder(fs, node, out);
    r = fs_place(fs, node, &place);
    /* The frame of an open chunk may be gone. */
    if (r == -ESTALE || r == -ENOENT)
        return stat_unlinked(fs, node, out) == 0 ? 0 : r;
    if (r < 0)
        return r;

    r = backing_stat(&place, node->id.kind, &st);
    if (r == 0 && node_is(&fs->nodes, node, &st)) {
        r = complete(fs, node, &(struct look){ &place, false, nwritten }, &st);
        if (node_is_removed(&fs->nodes, node))
            st.st_nlink = 0;
        *out = st;
    } else if (r == 0 || r == -ENOENT) {
        r = -ESTALE;
    }
    if (r == -ESTALE)
        r = stat_unlinked(fs, node, out);
    backing_close(&place);
    return r;
}
