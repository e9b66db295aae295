/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/claim.h"

#include <errno.h>

#include "file/reload.h"
#include "file/sidecar.h"

/*
 * One thread at a time gets the claim or gives it up, without the lock.
 * Returns false if one that went before was refused it: those who have waited
 * with it have waited long enough.
 */
static bool begin_turn(struct file *file)
{
    unsigned nrefusals;
    bool ours;

    pthread_mutex_lock(&file->lock);
    nrefusals = file->nrefusals;
    while (file->claiming && file->nrefusals == nrefusals)
        pthread_cond_wait(&file->changed, &file->lock);
    ours = file->nrefusals == nrefusals;
    if (ours)
        file->claiming = true;
    pthread_mutex_unlock(&file->lock);
    return ours;
}

static void end_turn(struct file *file, bool claimed, unsigned more)
{
    pthread_mutex_lock(&file->lock);
    file->claiming = false;
    file->claimed = claimed;
    file->nclaims += more;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
}

static void end_turn_refused(struct file *file)
{
    pthread_mutex_lock(&file->lock);
    file->claiming = false;
    file->nrefusals++;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
}

/* Open the frame as others have left it, unless they have put another file in
   its place.  Nothing is written to the file. */
static int renew(struct file *file, struct fault *fault)
{
    int r;

    file_enter_alone(file);
    r = reload_frame(file, fault);
    if (r == 0 && frame_get_stat(file->state->frame)->removed)
        r = fault_set(fault, -ESTALE, 0,
                      "another program has replaced the frame");
    if (r == 0)
        file->renewed = true;
    file_leave_alone(file);
    return r;
}

/* Nobody else may change the frame: see to it that all will know, and that we
   know it. */
static int take_over(struct file *file, struct fault *fault)
{
    uint64_t count = sidecar_count(file->sidecar);
    int r = count == file->seen ? 0 : renew(file, fault);

    if (r == 0)
        r = sidecar_set_count(file->sidecar, count + 1, fault);
    if (r == 0)
        file->seen = count + 1;
    return r;
}

int claim_enter(struct file *file, struct fault *fault)
{
    int r = 0;

    if (!file->sidecar)
        return 0;
    if (!begin_turn(file))
        return sidecar_refuse(fault);
    if (!file->claimed) {
        r = sidecar_claim(file->sidecar, fault);
        if (r < 0) {
            end_turn_refused(file);
            return r;
        }
        r = take_over(file, fault);
        if (r < 0)
            sidecar_unclaim(file->sidecar);
    }
    end_turn(file, r == 0, r == 0);
    return r;
}

/* Nobody else changes the frame at this moment. */
static int renew_shared(struct file *file, struct fault *fault)
{
    uint64_t count;
    int r = sidecar_share(file->sidecar, fault);

    if (r < 0)
        return r;
    count = sidecar_count(file->sidecar);
    if (count != file->seen)
        r = renew(file, fault);
    if (r == 0)
        file->seen = count;
    sidecar_unshare(file->sidecar);
    return r;
}

int claim_catch_up(struct file *file, struct fault *fault)
{
    int r = 0;

    if (claim_is_current(file))
        return 0;
    if (!begin_turn(file))
        return sidecar_refuse(fault);
    if (!file->claimed)
        r = renew_shared(file, fault);
    end_turn(file, file->claimed, 0);
    return r;
}

void claim_leave(struct file *file)
{
    if (!file->sidecar)
        return;
    pthread_mutex_lock(&file->lock);
    file->nclaims--;
    pthread_mutex_unlock(&file->lock);
    claim_settle(file);
}

/* Is nobody about to write, nor to give back what older states had? */
static bool is_idle(struct file *file)
{
    bool idle;

    /* In this order: what is not in the cache any more may be on its way. */
    if (cache_is_held(file->context->cache, &file->chunks))
        return false;
    pthread_mutex_lock(&file->lock);
    idle = file->nclaims == 0 && !file->committing && !file->reshaped &&
           file->states.next == file->states.prev;
    pthread_mutex_unlock(&file->lock);
    return idle;
}

void claim_settle(struct file *file)
{
    bool claimed;

    if (!file->sidecar)
        return;
    /* Who is about to get the claim will give it up. */
    pthread_mutex_lock(&file->lock);
    claimed = file->claimed;
    pthread_mutex_unlock(&file->lock);
    if (!claimed || !begin_turn(file))
        return;
    claimed = file->claimed;
    if (claimed && is_idle(file)) {
        sidecar_unclaim(file->sidecar);
        claimed = false;
    }
    end_turn(file, claimed, 0);
}

void claim_drop(struct file *file)
{
    if (file->claimed)
        sidecar_unclaim(file->sidecar);
    sidecar_put(file->context, file->sidecar);
}

bool claim_is_current(struct file *file)
{
    uint64_t seen = file->seen;
    uint64_t count;
    bool current;

    if (!file->sidecar)
        return true;
    count = sidecar_count(file->sidecar);
    pthread_mutex_lock(&file->lock);
    current = file->claimed || file->claiming || count == file->seen ||
              seen != file->seen;
    pthread_mutex_unlock(&file->lock);
    return current;
}
