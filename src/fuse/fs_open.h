/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_FS_OPEN_H
#define FUSE_FS_OPEN_H

#include "tree/fs.h"

/* What to mount, and how. */
struct fs_options {
    const char *source;
    const char *mountpoint; /* exists */
    bool keep_names;        /* names are never changed */
    bool npy;               /* arrays are named as .npy files */
    bool chunks; /* frames have directories of their chunks beside them */
    bool read_only;
    bool noatime;              /* reads leave times of access alone */
    bool shared;               /* frames are locked against other programs */
    bool close_later;          /* what is written is committed after close() */
    bool sparse;               /* what new frames are */
    struct file_params params; /* likewise */
    uint64_t offset;           /* byte at which the frame SOURCE starts */
};

/*
 * Open SOURCE.  What is wrong with it is logged, in one line.
 *
 * `files` is to be set before the first request.  Returns 0 or a negative
 * errno.
 */
int fs_open(const struct fs_options *options, struct fs **out);

/* Closes what programs still hold open, too.  Accepts NULL.  Returns 0, or an
   error if something could not be saved, which was logged. */
int fs_close(struct fs *fs);

#endif
