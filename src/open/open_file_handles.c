/* SPDX-License-Identifier: BSD-3-Clause */
#include <time.h>

#include "base/clock.h"
#include "open/kernel.h"
#include "open/open_file.h"
#include "tree/fs.h"

enum {
    MIDWAY_MIN = 2, /* so many reads before the end: more follow */
    REST_NS = 1000 * 1000 * 1000, /* after the last read */
    QUIET_NS = 200 * 1000 * 1000, /* after the kernel has dropped its pages */
    PAUSE_NS = 1000 * 1000,
};

void open_file_begin_admission(struct open_file *open)
{
    pthread_mutex_lock(&open->lock);
    while (open->admitting)
        pthread_cond_wait(&open->idle, &open->lock);
    open->admitting = true;
    pthread_mutex_unlock(&open->lock);
}

void open_file_end_admission(struct open_file *open)
{
    pthread_mutex_lock(&open->lock);
    open->admitting = false;
    pthread_cond_broadcast(&open->idle);
    pthread_mutex_unlock(&open->lock);
}

bool open_file_add_handle(struct fs *fs, struct open_file *open,
                          struct known_state *known)
{
    bool added;

    pthread_mutex_lock(&fs->nodes.lock);
    pthread_mutex_lock(&open->lock);
    added = !open->outdated && open->nmodified == known->nmodified;
    if (added) {
        open->nhandles++;
        open->nwriting += known->writes;
        open->new_size = 0;
        known->nrefused = open->nrefused;
    }
    pthread_mutex_unlock(&open->lock);
    pthread_mutex_unlock(&fs->nodes.lock);
    return added;
}

void open_file_remove_handle(struct open_file *open,
                             const struct known_state *known)
{
    pthread_mutex_lock(&open->lock);
    open->nhandles--;
    open->nwriting -= known->writes;
    pthread_mutex_unlock(&open->lock);
}

bool open_file_has_handles(struct open_file *open)
{
    bool any;

    pthread_mutex_lock(&open->lock);
    any = open->nhandles > 0;
    pthread_mutex_unlock(&open->lock);
    return any;
}

unsigned open_file_begin_read(struct open_file *open)
{
    unsigned number;

    pthread_mutex_lock(&open->lock);
    while (open->follows)
        pthread_cond_wait(&open->idle, &open->lock);
    number = ++open->nreads;
    pthread_mutex_unlock(&open->lock);
    return number;
}

void open_file_note_read(struct open_file *open, unsigned number,
                         bool reaches_end)
{
    open->read_at = clock_monotonic_ns();
    if (!reaches_end)
        return;
    pthread_mutex_lock(&open->lock);
    if (open->nreads - number < open->nreads - open->end_read)
        open->end_read = number;
    pthread_mutex_unlock(&open->lock);
}

/* Has a program read the file to the end, and asked for nothing since? */
static bool is_resting(struct open_file *open, unsigned *nreads)
{
    bool at_end;

    pthread_mutex_lock(&open->lock);
    at_end = open->nhandles == 1 && open->nreads - open->end_read < MIDWAY_MIN;
    *nreads = open->nreads;
    pthread_mutex_unlock(&open->lock);
    return at_end && clock_monotonic_ns() - open->read_at > REST_NS;
}

static bool has_read(struct open_file *open, unsigned nreads)
{
    bool read;

    pthread_mutex_lock(&open->lock);
    read = open->nreads != nreads;
    pthread_mutex_unlock(&open->lock);
    return read;
}

/* The notification waits for pages that are being read, by other threads of the
   daemon.  So this one does not wait for it for long. */
bool open_file_is_at_rest(struct fs *fs, struct open_file *open,
                          unsigned *nreads)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    int64_t began = clock_monotonic_ns();
    int64_t dropped = 0;
    int64_t now = began;

    if (!is_resting(open, nreads))
        return false;
    kernel_drop(fs, open->node, 0, 0);
    while (dropped == 0 ? now - began < QUIET_NS : now - dropped < QUIET_NS) {
        nanosleep(&pause, NULL);
        if (has_read(open, *nreads))
            return false;
        now = clock_monotonic_ns();
        if (dropped == 0 && open->node->nnotifications == 0)
            dropped = now;
    }
    return dropped > 0;
}

bool open_file_begin_follow(struct open_file *open, unsigned nreads)
{
    pthread_mutex_lock(&open->lock);
    open->follows = open->nreads == nreads && open->nhandles == 1;
    pthread_mutex_unlock(&open->lock);
    return open->follows;
}

static bool can_outdate(const struct fs *fs, const struct open_file *open)
{
    return fs->writeback && open->node != &fs->nodes.root;
}

bool open_file_may_outdate_locked(const struct fs *fs,
                                  const struct open_file *open)
{
    return can_outdate(fs, open) && open->nwriting > 0;
}

bool open_file_note_modified_locked(struct fs *fs, struct open_file *open)
{
    open->nmodified++;
    open->outdated |= open_file_may_outdate_locked(fs, open);
    return open->outdated;
}

/* Outdate a file, or only if no program has it open. */
static void outdate(struct fs *fs, struct open_file *open, bool unused_only)
{
    if (!can_outdate(fs, open))
        return;
    pthread_mutex_lock(&fs->nodes.lock);
    pthread_mutex_lock(&open->lock);
    if (!unused_only || open->nhandles == 0)
        open->outdated = true;
    if (open->outdated)
        node_unhash_locked(&fs->nodes, open->node);
    pthread_mutex_unlock(&open->lock);
    pthread_mutex_unlock(&fs->nodes.lock);
}

void open_file_outdate(struct fs *fs, struct open_file *open)
{
    outdate(fs, open, false);
}

void open_file_outdate_unused(struct fs *fs, struct open_file *open)
{
    outdate(fs, open, true);
}

bool open_file_is_outdated(struct open_file *open)
{
    bool outdated;

    pthread_mutex_lock(&open->lock);
    outdated = open->outdated;
    pthread_mutex_unlock(&open->lock);
    return outdated;
}

bool open_file_note_refused(struct open_file *open)
{
    bool first;

    pthread_mutex_lock(&open->lock);
    first = open->nrefused++ == 0;
    pthread_mutex_unlock(&open->lock);
    return first;
}

bool open_file_was_refused(struct open_file *open,
                           const struct known_state *known)
{
    bool refused;

    pthread_mutex_lock(&open->lock);
    refused = known->writes && known->nrefused != open->nrefused;
    pthread_mutex_unlock(&open->lock);
    return refused;
}
