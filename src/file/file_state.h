/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_STATE_H
#define FILE_FILE_STATE_H

#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"
#include "frame/frame.h"

/* A frame as flat bytes.  Any number of threads may use it. */
struct file;

/* A committed state of a frame. */
struct file_state {
    struct list node; /* in file.states */
    unsigned nrefs;   /* guarded by file.lock */
    struct frame *frame;
    uint64_t epoch; /* goes up when chunks may lie elsewhere than before */
};

/* Take or let go of the newest committed state. */
struct file_state *file_state_get(struct file *file);
void file_state_put(struct file *file, struct file_state *state);

/*
 * The newest committed state of the frame, for its geometry and metalayers.
 * It stays open until put back.
 */
struct frame *file_frame_get(struct file *file);
void file_frame_put(struct file *file, struct frame *frame);

/*
 * Find the chunk that holds a byte of a frame, of those below its size, or
 * right behind its end.  The chunk's size is the one that it may grow to.
 * The caller uses view_locate() to find where the bytes of a file are.
 */
int file_locate(struct file *file, uint64_t off, struct frame_span *out,
                struct fault *fault);

#endif
