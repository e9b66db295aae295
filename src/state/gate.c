/* SPDX-License-Identifier: BSD-3-Clause */
#include "state/gate.h"

#include <errno.h>

#include "state/file_private.h"

void gate_init(struct gate *gate, const struct gate_ops *ops)
{
    gate->ops = ops;
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

void gate_fini(struct gate *gate)
{
    pthread_cond_destroy(&gate->changed);
    pthread_mutex_destroy(&gate->lock);
}

int gate_failure(const struct file *file, struct fault *fault)
{
    int failed = file->gate.failed;

    return fault_set(fault, failed, 0,
                     failed == -ESTALE
                         ? "another program has changed the frame"
                         : "a change of chunks could not be committed");
}

int gate_enter_writer(struct file *file, uint64_t end, enum gate_writer *as,
                      struct fault *fault)
{
    struct gate *gate = &file->gate;
    int r = 0;

    pthread_mutex_lock(&gate->lock);
    while (gate->exclusive || gate->nexclusive > 0 ||
           (end > file->states.nbytes && gate->extending))
        pthread_cond_wait(&gate->changed, &gate->lock);
    *as = end > file->states.nbytes ? GATE_EXTENDER : GATE_WRITER;
    if (gate->failed < 0)
        r = gate_failure(file, fault);
    else if (*as == GATE_EXTENDER)
        gate->extending = true;
    else
        gate->nwriters++;
    pthread_mutex_unlock(&gate->lock);
    return r;
}

void gate_leave_writer(struct file *file, enum gate_writer as)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    if (as == GATE_EXTENDER)
        gate->extending = false;
    else
        gate->nwriters--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* Are threads in that exclude an exclusive writer?  Those that have yielded
   exclude only one that does not merge. */
static bool is_excluded_locked(const struct gate *gate, bool merges)
{
    unsigned nwriters = gate->nwriters + gate->extending;

    return gate->exclusive || gate->committing || gate->nencoders > 0 ||
           nwriters > (merges ? gate->nyielded : 0);
}

static void lock_exclusive(struct file *file, bool merges)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->nexclusive++;
    gate->nmerges += merges;
    pthread_mutex_unlock(&gate->lock);
    gate->ops->withdraw_encoders(file);
    pthread_mutex_lock(&gate->lock);
    while (is_excluded_locked(gate, merges))
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->nexclusive--;
    gate->exclusive = true;
    pthread_mutex_unlock(&gate->lock);
}

void gate_lock_exclusive(struct file *file)
{
    lock_exclusive(file, false);
}

void gate_lock_merge(struct file *file)
{
    lock_exclusive(file, true);
}

void gate_unlock_merge(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->exclusive = false;
    gate->nmerges--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_yield(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->nyielded++;
    pthread_cond_broadcast(&gate->changed);
    while (gate->nmerges > 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->nyielded--;
    pthread_mutex_unlock(&gate->lock);
}

void gate_unlock_exclusive(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->exclusive = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

int gate_lock_exclusive_or_fail(struct file *file, struct fault *fault)
{
    int r = 0;

    gate_lock_exclusive(file);
    if (file->gate.failed < 0) {
        r = gate_failure(file, fault);
        gate_unlock_exclusive(file);
    }
    return r;
}

void gate_enter_committer(struct file *file, bool exclusive)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    while (gate->committing || (gate->exclusive && !exclusive))
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->committing = true;
    pthread_mutex_unlock(&gate->lock);
}

bool gate_try_committer(struct file *file)
{
    struct gate *gate = &file->gate;
    bool entered;

    pthread_mutex_lock(&gate->lock);
    entered = !gate->committing && !gate->exclusive;
    if (entered)
        gate->committing = true;
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

void gate_leave_committer(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->committing = gate->collecting = false;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
    gate->ops->release_unused(file);
}

bool gate_is_committing(struct file *file)
{
    bool committing;

    pthread_mutex_lock(&file->gate.lock);
    committing = file->gate.committing;
    pthread_mutex_unlock(&file->gate.lock);
    return committing;
}

void gate_begin_collecting(struct file *file)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.collecting = true;
    pthread_mutex_unlock(&file->gate.lock);
    file->gate.ops->withdraw_encoders(file);
    gate_await_encoders(file);
}

void gate_end_collecting(struct file *file)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.collecting = false;
    pthread_mutex_unlock(&file->gate.lock);
}

/* May encoders work, because no thread waits for them to leave? */
static bool may_encode_locked(const struct gate *gate)
{
    return !gate->exclusive && gate->nexclusive == 0 && !gate->collecting;
}

bool gate_enter_encoder(struct file *file, unsigned max)
{
    struct gate *gate = &file->gate;
    bool entered;

    pthread_mutex_lock(&gate->lock);
    entered = may_encode_locked(gate) && gate->nencoders < max;
    gate->nencoders += entered;
    pthread_mutex_unlock(&gate->lock);
    return entered;
}

void gate_leave_encoder(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->nencoders--;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

bool gate_may_encode(struct file *file)
{
    bool may;

    pthread_mutex_lock(&file->gate.lock);
    may = may_encode_locked(&file->gate);
    pthread_mutex_unlock(&file->gate.lock);
    return may;
}

void gate_await_encoders(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    while (gate->nencoders > 0)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

bool gate_begin_locking(struct file *file)
{
    struct gate *gate = &file->gate;
    unsigned nrefusals;
    bool ours;

    pthread_mutex_lock(&gate->lock);
    nrefusals = gate->nrefusals;
    while (gate->locking && gate->nrefusals == nrefusals)
        pthread_cond_wait(&gate->changed, &gate->lock);
    ours = gate->nrefusals == nrefusals;
    if (ours)
        gate->locking = true;
    pthread_mutex_unlock(&gate->lock);
    return ours;
}

void gate_end_locking(struct file *file, bool locked, bool joins)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->locking = false;
    gate->locked = locked;
    gate->nlocks += joins;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_end_locking_refused(struct file *file)
{
    struct gate *gate = &file->gate;

    pthread_mutex_lock(&gate->lock);
    gate->locking = false;
    gate->nrefusals++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

/* No lock is needed, because only the thread that has begun locking changes
   this. */
bool gate_has_frame_lock(const struct file *file)
{
    return file->gate.locked;
}

bool gate_is_frame_locked(struct file *file)
{
    bool locked;

    pthread_mutex_lock(&file->gate.lock);
    locked = file->gate.locked && !file->gate.locking;
    pthread_mutex_unlock(&file->gate.lock);
    return locked;
}

bool gate_join_frame_lock(struct file *file)
{
    struct gate *gate = &file->gate;
    bool joined;

    pthread_mutex_lock(&gate->lock);
    joined = gate->locked && !gate->locking;
    gate->nlocks += joined;
    pthread_mutex_unlock(&gate->lock);
    return joined;
}

void gate_leave_frame_lock(struct file *file)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.nlocks--;
    pthread_mutex_unlock(&file->gate.lock);
}

bool gate_is_frame_lock_unused(struct file *file)
{
    const struct gate *gate = &file->gate;
    bool unused;

    pthread_mutex_lock(&file->gate.lock);
    unused = gate->locked && !gate->locking && gate->nlocks == 0;
    pthread_mutex_unlock(&file->gate.lock);
    return unused;
}

bool gate_is_idle(struct file *file)
{
    const struct gate *gate = &file->gate;
    bool idle;

    pthread_mutex_lock(&file->gate.lock);
    idle = gate->nlocks == 0 && !gate->committing && !file->states.resized;
    pthread_mutex_unlock(&file->gate.lock);
    return idle;
}
