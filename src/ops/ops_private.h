/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_OPS_PRIVATE_H
#define OPS_OPS_PRIVATE_H

#include "open/handle.h"
#include "ops/request.h"

/* The members of `ops_table` that are not in ops.c. */

/* Open files: ops_file.c, ops_open.c, ops_read.c, ops_seek.c, ops_write.c. */
void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
                mode_t mode, struct fuse_file_info *fi);
void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
              struct fuse_file_info *fi);
void ops_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
               off_t off, struct fuse_file_info *fi);
void ops_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
               struct fuse_file_info *fi);
void ops_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
                   off_t len, struct fuse_file_info *fi);
void ops_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                         struct fuse_file_info *fi_in, fuse_ino_t ino_out,
                         off_t off_out, struct fuse_file_info *fi_out,
                         size_t len, int flags);
/* Set the size of an open file.  Returns 0, or a negative errno. */
int ops_set_size(struct fs *fs, struct handle *handle, off_t size);
void ops_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
               struct fuse_file_info *fi);

/* Look for data or a hole in the newest open state, and reply. */
void ops_seek(fuse_req_t req, struct handle *handle, off_t off, int whence);

/* Chunks of open files: ops_ioctl.c. */
void ops_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
               struct fuse_file_info *fi, unsigned flags, const void *in,
               size_t in_len, size_t out_len);

/* Names: ops_tree.c. */
void ops_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               dev_t rdev);
void ops_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
               mode_t mode);
void ops_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
                 const char *name);
void ops_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
              const char *name);
void ops_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void ops_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
                fuse_ino_t new_parent, const char *new_name, unsigned flags);

#endif
