/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_HANDLE_H
#define FUSE_HANDLE_H

#include "fuse/open_file.h"
#include "fuse/request.h"

/* A file that a program holds open: one descriptor of its, as the kernel
   counts them. */
struct handle {
    struct fs_held held;
    struct open_file *open;
    bool writes;       /* it was opened to write; `open->nwriters` counts it */
    bool passed;       /* the kernel reads the file itself; see passthrough.h */
    uint32_t typesize; /* of the frame when it was opened; 0: it may change */
    struct file_reader reader;
};

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

/* Make one that is to get its `open` yet; NULL if there is no memory. */
struct handle *handle_new(struct fs *fs);

/* Count a handle that has its `open` among the writers of the file. */
void handle_count_writer(struct handle *handle);

/* Close what it holds open. */
void handle_close(struct fs *fs, struct handle *handle);

/*
 * open()
 *
 *  fi  receives the handle, and what the kernel is to know
 *
 * Returns 0, -EACCES, or as open_file_get().
 */
int handle_open(fuse_req_t req, struct node *node, struct fuse_file_info *fi);

/* The typesize of a frame, or 0 while it holds nothing and may change it. */
uint32_t handle_typesize_of(const struct snapshot *snapshot);

/* Report what went wrong with a file, unless it says nothing of the file. */
void handle_report(struct fs *fs, const struct handle *handle,
                   const struct snapshot *snapshot, int error,
                   const struct fault *fault);

#endif
