/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_FILE_STATE_H
#define STATE_FILE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"
#include "base/list.h"
#include "base/ranges.h"
#include "chunk/chunk_params.h"
#include "frame/frame.h"
#include "store/store.h"

/* A frame as flat bytes.  Any number of threads may use one. */
struct file;

struct file_context;

/* A committed state of a frame. */
struct file_state {
    struct list node; /* in file_states.in_use */
    unsigned nrefs;   /* guarded by gate.lock */
    struct frame *frame;
    uint64_t epoch; /* goes up when chunks may have moved */
};

/*
 * The committed states of an open frame, and how the file differs from the
 * newest one, beside the chunks that are dirty in the cache.
 *
 * Any thread may read.  The threads that the gate lets in change the fields: an
 * extender or an exclusive writer changes `nbytes`, an exclusive writer changes
 * `zeros`, and the committer changes all the others.
 */
struct file_states {
    /* Read without gate.lock. */
    atomic_uint_fast64_t nbytes; /* size of the file; changed under gate.lock */
    atomic_uint
        chunksize;     /* size of all chunks but the last; 0: they differ, ask
                          the frame */
    atomic_bool begun; /* changes have begun, and `params` is constant */

    struct chunk_params params; /* parameters of new chunks.  If the typesize is
                                   0, it is not chosen yet, and the committer
                                   sets it under gate.lock */

    /* Guarded by gate.lock. */
    struct store_version touched; /* see file_note_touch() */
    struct file_state *newest;
    struct list in_use;  /* all states that have references */
    struct ranges zeros; /* chunks that were made zeros */
    struct ranges
        applied;   /* the part of them that the frame writer already contains */
    bool orphaned; /* the file shows changes that cannot be committed; see
                      recover_orphan() */
    uint64_t lost_first; /* chunks from here on, */
    uint64_t lost_end; /* below this one, may have had some that are lost since
                          then */
    bool resized; /* the size or `zeros` have changed since the last commit */
};

/* Open the frame of a file that uses this context, with a look at its sums
   unless the user does not want that.  Errors as frame_open(). */
int file_state_open(const struct file_context *context, struct store *store,
                    uint64_t base, struct frame **out, struct fault *fault);

/* Take a reference to the newest committed state, and drop one. */
struct file_state *file_state_get(struct file *file);
void file_state_put(struct file *file, struct file_state *state);

/* Get the newest committed state of the frame, for its geometry and metalayers.
   It stays open until the caller puts it back. */
struct frame *file_frame_get(struct file *file);
void file_frame_put(struct file *file, struct frame *frame);

/*
 * Find the chunk that holds the byte at `off` of a frame, which lies below its
 * size or right at its end.  `out` gives the chunk the size to which it may
 * grow.  This is about the bytes of the chunks; view_locate() finds the bytes
 * of a file.
 *
 * Errors as frame_locate().
 */
int file_locate(struct file *file, uint64_t off, struct frame_span *out,
                struct fault *fault);

#endif
