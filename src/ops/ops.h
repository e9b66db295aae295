/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include "tree/fs.h"

/* The user data of a session. */
struct ops_data {
    struct fs *fs;
    uint32_t max_read;       /* bytes of a request, as mounted; 0: any */
    unsigned background;     /* requests in the background, such as reads of
                                pages, that the kernel may send at a time; 0: as
                                many as it sends by itself */
    atomic_bool initialised; /* the reply to INIT was sent */
    void (*ready)(void);     /* called when the kernel sends INIT */
    int ready_fd; /* receives one byte when the kernel sends INIT; -1: none */
};

/* The functions that answer the kernel's requests. */
extern const struct fuse_lowlevel_ops ops_table;

#endif
