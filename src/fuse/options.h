/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_OPTIONS_H
#define FUSE_OPTIONS_H

#include <fuse_opt.h>
#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"
#include "fuse/fs_open.h"

/* What the command line of framefs says. */
struct options {
    struct fs_options fs;
    struct file_options file;
    uint32_t max_read; /* bytes of a request; 0: what the kernel likes */
    bool io_uring;     /* by which requests come, if the kernel can */
    bool others;       /* users other than the daemon's may use the mount */
    bool foreground;
    bool debug;
    bool stats; /* print what `fs.mountpoint` has done; and how: */
    bool json;
    bool watch;
    bool unmount;          /* `fs.mountpoint`, and wait */
    bool help;             /* print the usage, and that is all */
    bool version;          /* likewise */
    struct fuse_args args; /* for libfuse */
};

/* How framefs is called. */
extern const char options_usage[];

/*
 * Read a command line.  What is wrong with it is logged.
 *
 * Returns 0, -EINVAL for wrong usage, or -ENOMEM.  The strings are those of
 * `argv`, or live as long as `out`.
 */
int options_parse(int argc, char **argv, struct options *out);

/* Accepts a zeroed struct. */
void options_fini(struct options *options);

#endif
