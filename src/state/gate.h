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
 * The gate of a file: which threads may work on it at the same time.
 *
 *  writer     changes bytes below the end of the file
 *  extender   a writer that writes beyond the end
 *  exclusive  drops or moves whole chunks, or opens the frame again; it must
 *             not wait for memory in the cache while it is in
 *  committer  makes a new state of the frame
 *  encoder    encodes chunks ahead of the committer
 *
 * A thread that wants to enter waits until no thread is in that excludes it; an
 * encoder is turned away instead:
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
 * An exclusive writer that waits keeps new writers, extenders and encoders out.
 * It does not keep a committer out, because the writers that it waits for may
 * wait for memory in the cache, and so for a committer.  A committer never
 * waits for a writer.  An exclusive writer may commit by itself, and is then
 * both.
 *
 * Locking of the frame is separate: one thread at a time takes or gives up the
 * frame lock, which keeps other processes from changing the frame.  That thread
 * waits for the other processes before it enters here.  See frame_lock.h.
 *
 * Only gate.c touches the fields, with two exceptions.  `lock` also guards the
 * fields of struct file_states and struct file_writeback that say so.  Any
 * thread may read `failed` without the lock; the committer or an exclusive
 * writer sets it.
 *
 * `lock` is a leaf: nothing that blocks, and no other lock, is taken while it
 * is held.
 */
struct gate {
    const struct gate_ops *ops; /* constant */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* signalled when a field below has changed */

    atomic_int failed; /* the error after which nothing can be committed, or 0;
                          see recover.h */
    unsigned nwriters;
    bool extending;
    unsigned nyielded;   /* writers and extenders that give way to a merge */
    unsigned nmerges;    /* exclusive writers that merge, or wait for that */
    unsigned nexclusive; /* exclusive writers that wait */
    bool exclusive;
    bool committing;
    bool collecting; /* the committer has not yet put all chunks into the
                        commit */
    unsigned nencoders;

    bool locking;       /* a thread is taking or giving up the frame lock */
    bool locked;        /* no other process may change the frame */
    unsigned nlocks;    /* number of operations that need `locked` */
    unsigned nrefusals; /* how often another process has refused the frame
                           lock */
};

/* Calls from the gate to the layer above.  The gate makes them without its
   lock. */
struct gate_ops {
    /* Drop the encoders that have not started, because a thread waits for all
       encoders: call gate_leave_encoder() for each. */
    void (*withdraw_encoders)(struct file *file);

    /* A commit has ended, or a state of the frame is closed, so the frame lock
       may no longer be needed. */
    void (*release_unused)(struct file *file);
};

/* Set up and destroy a gate.  No thread is inside when it is destroyed. */
void gate_init(struct gate *gate, const struct gate_ops *ops);
void gate_fini(struct gate *gate);

/* Return the error that keeps the file from being changed, and describe it in
   `fault`.  `failed` must be set. */
int gate_failure(const struct file *file, struct fault *fault);

/* How a writer has entered. */
enum gate_writer {
    GATE_WRITER,
    GATE_EXTENDER,
};

/*
 * Wait until this thread may write up to `end`, and enter: as an extender if
 * `end` is beyond the end of the file, else as a writer.
 *
 *  as  receives the kind of writer, for gate_leave_writer()
 *
 * Returns 0; or gate_failure(), because bytes that are written now would be
 * lost when the frame is opened again.
 */
int gate_enter_writer(struct file *file, uint64_t end, enum gate_writer *as,
                      struct fault *fault);
void gate_leave_writer(struct file *file, enum gate_writer as);

/* Wait until no other thread works on the file, and lock it for exclusive
   changes; and unlock it. */
void gate_lock_exclusive(struct file *file);
void gate_unlock_exclusive(struct file *file);

/* The same for an exclusive writer that does not commit.  Returns 0; or
   gate_failure(), and then the file is not locked. */
int gate_lock_exclusive_or_fail(struct file *file, struct fault *fault);

/*
 * Do the same as gate_lock_exclusive() for a thread that changes no size, and
 * to whom writers give way that wait for memory, because they wait for a commit
 * that has to be merged first.
 */
void gate_lock_merge(struct file *file);
void gate_unlock_merge(struct file *file);

/* Give way to merges, in the middle of writing. */
void gate_yield(struct file *file);

/*
 * Wait until this thread can be the committer, and leave again.
 *
 *  exclusive  the caller has locked the file for exclusive changes
 */
void gate_enter_committer(struct file *file, bool exclusive);
void gate_leave_committer(struct file *file);

/* Become the committer if that takes no waiting.  Returns false if it does. */
bool gate_try_committer(struct file *file);

/* Does a committer work on the file now? */
bool gate_is_committing(struct file *file);

/* The committer keeps new encoders out and waits until the encoders that are in
   have left; and lets encoders in again.  gate_leave_committer() also lets them
   in. */
void gate_begin_collecting(struct file *file);
void gate_end_collecting(struct file *file);

/* Enter as an encoder, unless a thread waits for encoders to leave, or `max`
   encoders are in.  Returns false if not.  Does not wait. */
bool gate_enter_encoder(struct file *file, unsigned max);
void gate_leave_encoder(struct file *file);

/* May an encoder that is in go on, because no thread waits for it? */
bool gate_may_encode(struct file *file);

/* Wait until no encoder is in. */
void gate_await_encoders(struct file *file);

/*
 * Begin to take or give up the frame lock.  Only one thread does so at a time;
 * the others wait.
 *
 * Returns false if another process has refused the frame lock to the other
 * thread meanwhile.  This thread has then waited long enough, too.
 */
bool gate_begin_locking(struct file *file);

/*
 * End the work of gate_begin_locking().
 *
 *  locked  the frame is locked now
 *  joins   this thread needs the frame lock until gate_leave_frame_lock()
 */
void gate_end_locking(struct file *file, bool locked, bool joins);

/* The same after another process has refused the frame lock.  Whether the frame
   is locked has not changed. */
void gate_end_locking_refused(struct file *file);

/* Is the frame locked?  For the thread that has begun locking. */
bool gate_has_frame_lock(const struct file *file);

/* Is the frame locked, and no thread about to give that up? */
bool gate_is_frame_locked(struct file *file);

/* If the frame is locked, keep it locked until gate_leave_frame_lock().
   Returns whether it is locked. */
bool gate_join_frame_lock(struct file *file);
void gate_leave_frame_lock(struct file *file);

/* Is the frame locked, and does no thread need the lock or give it up now? */
bool gate_is_frame_lock_unused(struct file *file);

/* Does no operation need the frame lock, is there no committer, and is there no
   change of size or zeros to commit? */
bool gate_is_idle(struct file *file);

#endif
