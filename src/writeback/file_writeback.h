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
#include "writer/frame_writer.h"

/* The writeback state of an open file.  Only src/writeback accesses it. */
struct file_writeback {
    /* Read and changed without a lock. */
    atomic_bool has_freed;   /* a commit has freed space that is not given back
                                yet */
    atomic_bool not_durable; /* the last commit, or the name of a new frame, may
                                not be on the disk yet */
    atomic_bool renamed;     /* see file_note_name() */
    atomic_bool abandoned;   /* see file_abandon() */
    atomic_size_t no_space;  /* size of a chunk for which the disk had no space
                                since the last operation began; 0: none */

    /* Guarded by gate.lock. */
    struct list encoded; /* encoded chunks for the next commit */
    uint64_t lost_off;   /* range of the bytes that are lost for good */
    uint64_t lost_end;
    bool lost;          /* changes are; until the file is closed */
    int error;          /* error of a commit, not yet reported to a caller */
    struct fault fault; /* describes `error` */

    /* Set before changes begin. */
    struct pool *pool;  /* whose threads encode chunks and write them, */
    unsigned nencoders; /* and how many may do so at a time */

    /* Changed by the committer. */
    struct frame_writer *writer;
    size_t index_size;     /* bytes of memory that the writer takes, as counted
                              by the cache */
    bool relocated;        /* chunks lie elsewhere than in the newest state */
    atomic_bool undecided; /* the frame is empty, and the chunk parameters in
                              its header can still change */

    struct flush_entry flush; /* belongs to the flusher */
};

/* The gate's calls to this layer. */
extern const struct gate_ops file_writeback_gate_ops;

/* Attach both structs to a file.  They are zeroed and remain the caller's. */
void file_writeback_init(struct file *file, struct file_writeback *writeback,
                         struct frame_lock *frame_lock);

/* Set up the file of a frame that was just made with these parameters.  The
   file takes over the frame writer that made the frame. */
void file_writeback_begin_new(struct file *file, struct frame_writer *writer,
                              const struct file_params *params);

/* Release the writeback state.  The cache holds nothing of the file any more,
   and no thread works on it. */
void file_writeback_fini(struct file *file);

#endif
