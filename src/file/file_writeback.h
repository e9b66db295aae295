/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_WRITEBACK_H
#define FILE_FILE_WRITEBACK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/fault.h"
#include "base/list.h"
#include "file/flusher.h"
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

#endif
