/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITEBACK_FILE_WRITEBACK_H
#define WRITEBACK_FILE_WRITEBACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "base/list.h"
#include "state/gate.h"
#include "state/params.h"
#include "writeback/flusher.h"
#include "writeback/frame_lock.h"
#include "writer/frame_change.h"

/* How far an open file is written back.  Only src/writeback touches it. */
struct file_writeback {
    /* Read and changed without a lock. */
    atomic_bool rests;       /* freed space waits to be given back */
    atomic_bool not_durable; /* the last commit may not be on the disk yet, nor
                                the name of a new frame */
    atomic_bool renamed;     /* see file_note_name() */
    atomic_size_t no_room;   /* bytes of a chunk that there was none for, since
                                the last operation began; 0: none */

    /* Guarded by gate.lock. */
    struct list encoded; /* chunks that are for the next commit */
    uint64_t lost_off;   /* where bytes of chunks were that are lost for good */
    uint64_t lost_end;
    int error;          /* of a commit that nobody has been told of */
    struct fault fault; /* goes with it */

    /* Changed by the committer. */
    struct frame_change *change;
    size_t index_size;     /* bytes of memory that the change takes, as the
                              cache counts them */
    bool sunk;             /* chunks are where they were not in the newest
                              state */
    atomic_bool undecided; /* the frame is empty, and what its header says of
                              chunks is not fixed yet */

    struct flush_entry flush; /* the flusher's */
};

/* The calls from the gate of a file. */
extern const struct gate_ops file_writeback_gate_ops;

/* Begin with both structs zeroed, which stay the caller's. */
void file_writeback_init(struct file *file, struct file_writeback *writeback,
                         struct frame_lock *frame_lock);

/* The file is of a frame that was just made with these parameters.  The change
   that made it becomes the file's. */
void file_writeback_begin_new(struct file *file, struct frame_change *change,
                              const struct file_params *params);

/* Nothing of the file is in the cache any more, and nobody works on it. */
void file_writeback_fini(struct file *file);

#endif
