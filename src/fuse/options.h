/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_OPTIONS_H
#define FUSE_OPTIONS_H

#include <fuse_opt.h>
#include <stdbool.h>
#include <stdint.h>

#include "file/file.h"
#include "fuse/fs_open.h"

/* The parsed command line of framefs. */
struct options {
    struct fs_options fs;
    struct file_options file;
    uint32_t max_read; /* bytes of a request; 0: the kernel's choice */
    bool raw;          /* arrays show their chunks */
    bool io_uring;     /* requests arrive by io_uring, if the kernel can */
    int64_t kernel_readahead; /* in KiB, or KERNEL_READAHEAD_AUTO */
    unsigned idle; /* seconds without use until it unmounts; 0: never */
    bool others;   /* users other than the daemon's may use the mount */
    bool foreground;
    bool debug;
    bool stats; /* print the statistics of `fs.mountpoint`; and how: */
    bool json;
    bool watch;
    bool prometheus;
    bool remount;          /* only set `flags` of `fs.mountpoint` */
    char flags[256];       /* flags for mount(8), each after a comma */
    bool unmount;          /* unmount `fs.mountpoint`, and wait */
    bool help;             /* only print the usage */
    bool version;          /* only print the version */
    struct fuse_args args; /* for libfuse */
};

/* The text that --help prints. */
extern const char options_usage[];

/*
 * Read a command line.  Errors in it are logged.
 *
 * Returns 0, -EINVAL for wrong usage, or -ENOMEM.  The strings are those of
 * `argv`, or live as long as `out`.
 */
int options_parse(int argc, char **argv, struct options *out);

/* Make the paths in options absolute, because the daemon works in another
   directory than the user.  Returns 0, or -EINVAL after a line in the log. */
int options_resolve_paths(struct options *options);

/* Accepts a zeroed struct. */
void options_fini(struct options *options);

#endif
