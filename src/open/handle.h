/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPEN_HANDLE_H
#define OPEN_HANDLE_H

#include "open/chunk_draft.h"
#include "open/open_file.h"

/* One open file description of a program, as the kernel counts them. */
struct handle {
    struct fs_opened opened;
    struct open_file *open;
    atomic_bool writes; /* it was opened for writing, and counts as a writer */
    bool passthrough;  /* the kernel reads the file itself; see passthrough.h */
    uint32_t typesize; /* of the frame when it was opened; 0: it may change */
    struct known_state known; /* see handle_admit() */
    bool admitted;            /* the kernel has it, or is about to get it */
    struct file_reader reader;
    struct chunk_draft *draft; /* of a chunk file that was opened for writing;
                                  else NULL */
    bool direct; /* the kernel caches nothing that this handle reads or
                    writes */
};

/* The handle that handle_new() made, from the `fh` that the kernel sends with
   each request. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

/* Allocate a handle; the caller sets its `open`.  NULL if there is no
   memory. */
struct handle *handle_new(struct fs *fs);

/* Count a handle, whose `open` is set, among the writers of the file. */
void handle_count_writer(struct fs *fs, struct handle *handle);

/*
 * May the kernel have a handle, whose `open` is set?  It may if its cache of
 * the file agrees with the newest state, which this finds out.
 *
 *  truncates  the kernel drops all of its cache of the file
 */
bool handle_admit(struct fs *fs, struct handle *handle, bool truncates);

/* Likewise for a handle of a file that was just created.  Returns false if
   other programs have changed that already. */
bool handle_admit_new(struct fs *fs, struct handle *handle);

/* Make the kernel hand over its dirty pages of every file that is open for
   writing.  The caller must not be a thread that answers requests: see
   kernel_flush(). */
void handle_flush_all(struct fs *fs);

/* Close a handle and drop its reference to the open file. */
void handle_close(struct fs *fs, struct handle *handle);

/*
 * May a program go on writing through a handle?  Returns 0; or -ESTALE if
 * another program has changed the frame since the handle was opened, because
 * this program, and the kernel on its behalf, know an older content and size.
 * In a mount that shares frames by locks, other programs are expected to change
 * them, and this returns 0.
 */
int handle_check_newest(struct fs *fs, const struct handle *handle);

/* The typesize of a frame; 0 if the frame is empty and may still change its
   typesize. */
uint32_t handle_typesize_of(const struct open_version *version);

/* Make the kernel pass on each write() through this handle if the file system
   is short of space, if bytes of the file are lost, or if a shared frame is
   opened with O_APPEND or O_DIRECT. */
void handle_choose_io(struct fs *fs, struct handle *handle,
                      struct fuse_file_info *fi);

/* Report an error of a file, unless the error says nothing about the file. */
void handle_report(struct fs *fs, const struct handle *handle,
                   const struct open_version *version, int error,
                   const struct fault *fault);

#endif
