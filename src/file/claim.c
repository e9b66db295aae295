/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/claim.h"

#include <errno.h>

#include "file/frame_lock.h"
#include "file/lease.h"
#include "file/reload.h"
#include "file/sidecar.h"
#include "file/writeback.h"

/*
 * One thread at a time gets the claim or gives it up, without the lock.
 * Returns false if one that went before was refused it: those who have waited
 * with it have waited long enough.
 */
static bool begin_turn(struct file *file)
{
    unsigned nrefusals;
    bool ours;

    pthread_mutex_lock(&file->gate.lock);
    nrefusals = file->gate.nrefusals;
    while (file->gate.locking && file->gate.nrefusals == nrefusals)
        pthread_cond_wait(&file->gate.changed, &file->gate.lock);
    ours = file->gate.nrefusals == nrefusals;
    if (ours)
        file->gate.locking = true;
    pthread_mutex_unlock(&file->gate.lock);
    return ours;
}

static void end_turn(struct file *file, bool claimed, unsigned more)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.locking = false;
    file->gate.locked = claimed;
    file->gate.nlocks += more;
    pthread_cond_broadcast(&file->gate.changed);
    pthread_mutex_unlock(&file->gate.lock);
}

static void end_turn_refused(struct file *file)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.locking = false;
    file->gate.nrefusals++;
    pthread_cond_broadcast(&file->gate.changed);
    pthread_mutex_unlock(&file->gate.lock);
}

/* Open the frame as others have left it, unless they have put another file in
   its place.  Nothing is written to the file. */
static int renew(struct file *file, bool to_change, struct fault *fault)
{
    int r;

    file_enter_alone(file);
    r = reload_frame(file, to_change, fault);
    if (r == 0 && frame_get_stat(file->states.newest->frame)->removed)
        r = fault_set(fault, -ESTALE, 0,
                      "another program has replaced the frame");
    if (r == 0)
        file->frame_lock->renewed = true;
    file_leave_alone(file);
    return r;
}

void claim_note_count(struct file *file, uint64_t count)
{
    file->frame_lock->seen = count;
    file->frame_lock->next = count;
}

/* Have others changed the frame since its newest state was opened?  Returns 0,
   1 or an error. */
static int is_changed(struct file *file, struct fault *fault)
{
    int r;

    if (file->frame_lock->sidecar &&
        sidecar_count(file->frame_lock->sidecar) != file->frame_lock->seen)
        return 1;
    r = frame_verify(file->states.newest->frame, fault);
    return r == -ESTALE ? 1 : r;
}

/* Let others see that the frame is about to be changed. */
static int count_up(struct file *file, struct fault *fault)
{
    uint64_t count;
    int r;

    if (!file->frame_lock->sidecar)
        return 0;
    count = sidecar_count(file->frame_lock->sidecar) + 1;
    file->frame_lock->next = count;
    r = sidecar_set_count(file->frame_lock->sidecar, count, fault);
    claim_note_count(file, r == 0 ? count : file->frame_lock->seen);
    return r;
}

/*
 * Nobody else may change the frame: see to it that we know it as it is.  The
 * kernel takes its own word for what it has cached of a frame without sidecar,
 * so there what others have changed is not opened anew for a program that opened
 * the file before.
 */
static int take_over(struct file *file, struct fault *fault)
{
    int r = is_changed(file, fault);

    if (r > 0)
        r = file->frame_lock->sidecar
                ? renew(file, true, fault)
                : fault_set(fault, -ESTALE, 0,
                            "another program has changed the frame");
    return r < 0 ? r : count_up(file, fault);
}

/* Of a file without a name nobody else can get the lease. */
static int take_lease(struct file *file, struct fault *fault)
{
    int r = lease_take(file->constant.store, file->constant.context->patience,
                       NULL, fault);

    return r == -ESTALE && file->frame_lock->unlinked ? 0 : r;
}

static void give_back(struct file *file)
{
    if (file->frame_lock->sidecar)
        sidecar_unclaim(file->frame_lock->sidecar);
    store_unlease(file->constant.store);
}

static int acquire(struct file *file, struct fault *fault)
{
    int r = take_lease(file, fault);

    if (r < 0)
        return r;
    if (file->frame_lock->sidecar) {
        r = sidecar_claim(file->frame_lock->sidecar, fault);
        if (r < 0) {
            store_unlease(file->constant.store);
            return r;
        }
    }
    r = take_over(file, fault);
    if (r < 0)
        give_back(file);
    return r;
}

bool claim_join(struct file *file)
{
    bool joined;

    pthread_mutex_lock(&file->gate.lock);
    joined = file->gate.locked && !file->gate.locking;
    file->gate.nlocks += joined;
    pthread_mutex_unlock(&file->gate.lock);
    return joined;
}

int claim_enter(struct file *file, struct fault *fault)
{
    int r = 0;

    if (claim_join(file))
        return 0;
    if (!begin_turn(file))
        return sidecar_refuse(fault);
    if (!file->gate.locked)
        r = acquire(file, fault);
    if (r == -EBUSY)
        end_turn_refused(file);
    else
        end_turn(file, r == 0, r == 0);
    return r;
}

/* See to it that the newest state is open, which nobody changes meanwhile. */
static int renew_shared(struct file *file, struct fault *fault)
{
    uint64_t count = sidecar_count(file->frame_lock->sidecar);
    int r;

    if (file->gate.locked || count == file->frame_lock->seen)
        return 0;
    if (!file->constant.writable)
        return fault_set(fault, -ESTALE, 0,
                         "another program has changed the frame");
    r = renew(file, false, fault);
    if (r == 0)
        claim_note_count(file, count);
    return r;
}

int claim_share(struct file *file, struct fault *fault)
{
    int r;

    if (!file->frame_lock->sidecar)
        return 0;
    if (!begin_turn(file))
        return sidecar_refuse(fault);
    r = sidecar_share(file->frame_lock->sidecar, fault);
    if (r == 0) {
        r = renew_shared(file, fault);
        if (r < 0)
            sidecar_unshare(file->frame_lock->sidecar);
    }
    end_turn(file, file->gate.locked, 0);
    return r;
}

void claim_unshare(struct file *file)
{
    if (file->frame_lock->sidecar)
        sidecar_unshare(file->frame_lock->sidecar);
}

int claim_catch_up(struct file *file, struct fault *fault)
{
    int r;

    if (claim_is_current(file))
        return 0;
    r = claim_share(file, fault);
    if (r == 0)
        claim_unshare(file);
    return r;
}

void claim_leave(struct file *file)
{
    pthread_mutex_lock(&file->gate.lock);
    file->gate.nlocks--;
    pthread_mutex_unlock(&file->gate.lock);
    claim_settle(file);
}

/* Is nobody about to write, and everything committed? */
static bool is_idle(struct file *file)
{
    bool idle;

    /* In this order: what is not in the cache any more may be on its way. */
    if (cache_is_held(file->constant.context->cache, &file->chunks))
        return false;
    pthread_mutex_lock(&file->gate.lock);
    idle = file->gate.nlocks == 0 && !file->gate.committing &&
           !file->states.reshaped;
    pthread_mutex_unlock(&file->gate.lock);
    return idle;
}

/* Who is about to get the claim will give it up. */
static bool may_settle(struct file *file)
{
    bool may;

    pthread_mutex_lock(&file->gate.lock);
    may = file->gate.locked && !file->gate.locking && file->gate.nlocks == 0;
    pthread_mutex_unlock(&file->gate.lock);
    return may && is_idle(file);
}

void claim_settle(struct file *file)
{
    bool claimed;

    if (!may_settle(file) || !begin_turn(file))
        return;
    claimed = file->gate.locked;
    if (claimed && is_idle(file)) {
        give_back(file);
        claimed = false;
    }
    end_turn(file, claimed, 0);
}

bool claim_supersede(struct file *file, bool replaced)
{
    struct fault fault;
    bool newest = false;

    if (!begin_turn(file))
        return false;
    if (file->gate.locked && !replaced)
        newest = frame_verify(file->states.newest->frame, &fault) == 0;
    if (!newest)
        writeback_give_up(file);
    end_turn(file, file->gate.locked, 0);
    claim_settle(file);
    return !newest;
}

void claim_drop(struct file *file)
{
    if (file->gate.locked)
        give_back(file);
    sidecar_put(file->constant.context, file->frame_lock->sidecar);
}

bool claim_is_current(struct file *file)
{
    bool current;
    uint64_t count;

    if (!file->frame_lock->sidecar)
        return true;
    pthread_mutex_lock(&file->gate.lock);
    current = file->gate.locked && !file->gate.locking;
    pthread_mutex_unlock(&file->gate.lock);
    if (current)
        return true;
    count = sidecar_count(file->frame_lock->sidecar);
    return count == file->frame_lock->seen || count == file->frame_lock->next;
}
