/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_GATE_H
#define FILE_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * Who works on a file.
 *
 * Only gate.c touches these fields, except `lock`, which also guards the fields
 * of struct file_states and struct file_writeback that say so, and `failed`,
 * which everybody may read without the lock.
 *
 * `lock` is a leaf: nothing that blocks, and no other lock, is taken while it
 * is held.
 */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* any of those below */

    atomic_int failed; /* why nothing can be committed any more, or 0; see
                          reload.h */
    unsigned nwriters;
    unsigned nexclusive; /* exclusive writers that wait */
    bool extending;
    bool exclusive;
    bool committing;
    bool collecting; /* the committer has not yet put all chunks into the
                        commit */
    unsigned nencoders;

    bool locking;       /* a thread takes or gives up the frame lock */
    bool locked;        /* no other process may change the frame */
    unsigned nlocks;    /* operations that need this */
    unsigned nrefusals; /* how often others did not let us have the lock */
};

#endif
