/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_HANDLE_H
#define OPEN_HANDLE_H

#include "open/open_file.h"

/* A file that a program holds open: one descriptor of its, as the kernel
   counts them. */
struct handle {
    struct fs_held held;
    struct open_file *open;
    atomic_bool writes; /* it was opened to write, and counts as a writer */
    bool passed;       /* the kernel reads the file itself; see passthrough.h */
    uint32_t typesize; /* of the frame when it was opened; 0: it may change */
    unsigned nmodified; /* of `open` when it was opened */
    atomic_bool stale;  /* others have changed the frame since, and something
                           that was written was refused for that */
    struct file_reader reader;
    bool direct; /* the kernel caches nothing that it writes or reads */
};

/* The handle that handle_new() made, from the `fh` that the kernel hands back
   with each request. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

/* Make one that is to get its `open` yet; NULL if there is no memory. */
struct handle *handle_new(struct fs *fs);

/* Count a handle that has its `open` among the writers of the file. */
void handle_count_writer(struct fs *fs, struct handle *handle);

/* Have the kernel hand over what was written to each file that is open for
   writing.  The caller is none that answers requests: see kernel_flush(). */
void handle_flush_all(struct fs *fs);

/* Close what it holds open. */
void handle_close(struct fs *fs, struct handle *handle);

/*
 * May a program go on to write through a handle?  Returns 0; or -ESTALE if others
 * have changed the frame since it was opened, for the program, and the kernel
 * for it, have an older content and size in mind.  Frames that are shared by
 * locks are meant to be changed by others.
 */
int handle_check_newest(struct fs *fs, const struct handle *handle);

/* The typesize of a frame, or 0 while it holds nothing and may change it. */
uint32_t handle_typesize_of(const struct snapshot *snapshot);

/* Have the kernel hand over each write() to what was opened, if space is short
   where it is stored. */
void handle_choose_io(struct fs *fs, struct handle *handle,
                      struct fuse_file_info *fi);

/* Report what went wrong with a file, unless it says nothing of the file. */
void handle_report(struct fs *fs, const struct handle *handle,
                   const struct snapshot *snapshot, int error,
                   const struct fault *fault);

#endif
