/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_FS_OPEN_H
#define FUSE_FS_OPEN_H

#include "tree/fs.h"

/* Options that say what to mount, and how. */
struct fs_options {
    const char *source;
    const char *mountpoint; /* exists */
    bool keep_names;        /* entries keep their names, with the suffixes of
                               frames */
    bool npy;               /* arrays are named as .npy files */
    bool chunks; /* each frame has a directory of its chunks beside it */
    bool read_only;
    bool noatime;              /* reading leaves times of access unchanged */
    bool shared;               /* frames are locked against other programs */
    bool close_later;          /* dirty data are committed after close(), not by
                                  it */
    bool sparse;               /* layout of new frames */
    struct file_params params; /* and their parameters */
    struct fs_shown shown;
    struct fs_plain plain;
    uint64_t offset;               /* byte at which the frame SOURCE starts */
    const struct net_options *net; /* if SOURCE is a URL */
};

/*
 * Open SOURCE.  Problems with it are logged, in one line.
 *
 * The caller sets `files` before the first request.  Returns 0 or a negative
 * errno.
 */
int fs_open(const struct fs_options *options, struct fs **out);

/* Close the tree, and with it all files that programs still hold open.  Accepts
   NULL.  Returns 0, or an error if something could not be saved, which was
   logged. */
int fs_close(struct fs *fs);

#endif
