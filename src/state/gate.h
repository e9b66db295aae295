/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_GATE_H
#define STATE_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fault.h"

struct file;

/*
 * The gate of a file: who may work on it at a time.
 *
 *  writer      changes bytes below the end of the file
 *  extender    a writer that goes beyond the end
 *  exclusive   drops or moves whole chunks, or opens the frame again; it does
 *              not wait for room in the cache while it is in
 *  committer   makes a new state of the frame
 *  encoder     encodes chunks ahead of the committer
 *
 * A thread that wants to enter waits until nobody is in that excludes it:
 *
 *               writer  extender  exclusive  committer  encoder
 *  writer          -        -         X          -         -
 *  extender        -        X         X          -         -
 *  exclusive       X        X         X          X         X
 *  committer       -        -         X          X         c
 *  encoder         -        -         X          c         -
 *
 *  X  they exclude each other
 *  c  they exclude each other while the committer collects chunks
 *
 * An exclusive writer that waits keeps new writers, extenders and encoders
 * out, but no committer, because the writers that it waits for may wait for
 * room in the cache, and so for a committer.  A committer waits for no writer.
 * An exclusive writer may commit by itself, and is then both.
 *
 * Locking of the frame is separate: one thread at a time takes or gives up the
 * frame lock, which keeps other processes from changing the frame, and that
 * thread waits for them before it enters here.  See frame_lock.h.
 *
 * Only gate.c touches the fields, except `lock`, which also guards the fields
 * of struct file_states and struct file_writeback that say so, and `failed`,
 * which everybody may read without the lock, and the committer or an exclusive
 * writer sets.
 *
 * `lock` is a leaf: nothing that blocks, and no other lock, is taken while it
 * is held.
 */
struct gate {
    const struct gate_ops *ops; /* constant */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* any of those below */

    atomic_int failed; /* why nothing can be committed any more, or 0; see
                          reload.h */
    unsigned nwriters;
    bool extending;
    unsigned nexclusive; /* exclusive writers that wait */
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

/* Calls from the gate to the layer above, without the lock. */
struct gate_ops {
    /* Drop the encoders that have not begun, because someone waits for all
       encoders: call gate_leave_encoder() for each. */
    void (*withdraw_encoders)(struct file *file);

    /* A commit has ended, or a state of the frame is closed, so the frame lock
       may not be needed any more. */
    void (*settle)(struct file *file);
};

/* Nobody is inside a new gate; none may be when it ends. */
void gate_init(struct gate *gate, const struct gate_ops *ops);
void gate_fini(struct gate *gate);

/* Return the error that keeps the file from being changed, which has failed,
   and explain it. */
int gate_failure(const struct file *file, struct fault *fault);

/* How a writer has entered. */
enum gate_writer {
    GATE_WRITER,
    GATE_EXTENDER,
};

/*
 * Enter to write up to `end`, as an extender if that is behind the end of the
 * file.
 *
 * Returns 0; or gate_failure(), because what was written now would be forgotten
 * when the frame is opened again.
 */
int gate_enter_writer(struct file *file, uint64_t end, enum gate_writer *as,
                      struct fault *fault);
void gate_leave_writer(struct file *file, enum gate_writer as);

/* Wait until nobody else works on the file, then lock it for exclusive
   changes; and unlock it. */
void gate_lock_exclusive(struct file *file);
void gate_unlock_exclusive(struct file *file);

/* The same for an exclusive writer that does not commit.  Returns 0; or
   gate_failure(), and the file is not locked then. */
int gate_lock_exclusive_or_fail(struct file *file, struct fault *fault);

/*
 * Become the committer, and stop being it.
 *
 *  exclusive  the caller has locked the file for exclusive changes
 */
void gate_enter_committer(struct file *file, bool exclusive);
void gate_leave_committer(struct file *file);

/* Become the committer if nobody has to be waited for.  Returns false if not. */
bool gate_try_committer(struct file *file);

/* Is there a committer now? */
bool gate_is_committing(struct file *file);

/* The committer keeps encoders out, and waits until those that are in have
   left; and lets them in again, which leaving does, too. */
void gate_begin_collecting(struct file *file);
void gate_end_collecting(struct file *file);

/* Enter as an encoder, if nobody waits for encoders to leave, and there are
   fewer than `max`.  Returns false if not. */
bool gate_enter_encoder(struct file *file, unsigned max);
void gate_leave_encoder(struct file *file);

/* May an encoder that is in go on, because nobody waits for it? */
bool gate_may_encode(struct file *file);

/* Wait until no encoder is in. */
void gate_await_encoders(struct file *file);

/*
 * Begin to take or give up the frame lock, which one thread does at a time.
 *
 * Returns false if the thread before was refused the lock by others: a thread
 * that has waited with it has waited long enough.
 */
bool gate_begin_locking(struct file *file);

/*
 * End that.
 *
 *  locked  the frame is locked
 *  joins   this thread needs the lock until gate_leave_frame_lock()
 */
void gate_end_locking(struct file *file, bool locked, bool joins);

/* The same when others have refused the lock; whether the frame is locked has
   not changed. */
void gate_end_locking_refused(struct file *file);

/* Is the frame locked, in the thread that has begun locking? */
bool gate_has_frame_lock(const struct file *file);

/* Is the frame locked, and does nobody give that up now? */
bool gate_is_frame_locked(struct file *file);

/* If the frame is locked, need that until gate_leave_frame_lock().  Returns
   whether it is. */
bool gate_join_frame_lock(struct file *file);
void gate_leave_frame_lock(struct file *file);

/* Is the frame locked, and does nobody need that, or give it up now? */
bool gate_is_frame_lock_unused(struct file *file);

/* Does nobody need the frame lock, and is there no committer, and no size or
   hole to commit? */
bool gate_is_idle(struct file *file);

#endif
