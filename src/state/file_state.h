/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_STATE_H
#define STATE_FILE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"
#include "chunk/chunk_params.h"
#include "frame/frame.h"
#include "state/ranges.h"
#include "store/store.h"

/* A frame as flat bytes.  Any number of threads may use it. */
struct file;

/* A committed state of a frame. */
struct file_state {
    struct list node; /* in file_states.in_use */
    unsigned nrefs;   /* guarded by gate.lock */
    struct frame *frame;
    uint64_t epoch; /* goes up when chunks may lie elsewhere than before */
};

/*
 * The committed states of an open frame, and in what the file differs from the
 * newest one, beside the chunks that are dirty in the cache.
 *
 * Everybody may read.  The threads that the gate lets in change the fields: an
 * extender or an exclusive writer `nbytes`, an exclusive writer `zeros`, and
 * the committer all the others.
 */
struct file_states {
    /* Read without the lock. */
    atomic_uint_fast64_t nbytes; /* size of the file; changed under the lock */
    atomic_uint grid;  /* size of all chunks but the last; 0: see the frame */
    atomic_bool begun; /* changes have begun: what follows is constant */

    struct chunk_params params; /* of new chunks; typesize 0: not decided, and
                                   then changed by the committer, under the
                                   lock */

    /* Guarded by gate.lock. */
    struct store_stat touched; /* see file_note_touch() */
    struct file_state *newest;
    struct list in_use;    /* all states that somebody has taken */
    struct ranges zeros;   /* chunks that became zeros */
    struct ranges applied; /* those that the next commit makes so for good */
    bool reshaped;         /* size or zeros have changed */
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
