/* SPDX-License-Identifier: BSD-3-Clause */
#include "open/open_file_lost.h"

#include "open/free_space.h"
#include "tree/report.h"

/*
 * Log the range from the first lost byte to the last.
 *
 *  again  log even if that was logged before
 */
static void log_lost(struct fs *fs, struct open_file *open, bool again)
{
    struct unwritten bytes = { .fate = "lost" };
    bool any;

    pthread_mutex_lock(&open->lock);
    any = lost_ranges_hull(&open->lost, &bytes.off, &bytes.end) &&
          (again || !open->lost.logged);
    bytes.error = lost_ranges_error(&open->lost);
    open->lost.logged = true;
    pthread_mutex_unlock(&open->lock);
    if (any)
        report_lost(&fs->nodes, open->node, &bytes);
}

void open_file_lose(struct fs *fs, struct open_file *open, uint64_t off,
                    uint64_t end, int error)
{
    bool first;

    free_space_note(fs, open, error);
    pthread_mutex_lock(&open->lock);
    first = open->lost.ranges.n == 0;
    lost_ranges_add(&open->lost, off, end, error);
    pthread_mutex_unlock(&open->lock);
    /* The next sync logs the ranges that follow the first. */
    if (first)
        log_lost(fs, open, false);
}

void open_file_regain(struct open_file *open, uint64_t off, uint64_t end)
{
    pthread_mutex_lock(&open->lock);
    lost_ranges_remove(&open->lost, off, end);
    pthread_mutex_unlock(&open->lock);
}

bool open_file_has_lost(struct open_file *open, uint64_t off, uint64_t end)
{
    bool any;

    pthread_mutex_lock(&open->lock);
    any = lost_ranges_overlap(&open->lost, off, end);
    pthread_mutex_unlock(&open->lock);
    return any;
}

bool open_file_next_lost(struct open_file *open, uint64_t off,
                         struct range *out)
{
    const struct range *range;

    pthread_mutex_lock(&open->lock);
    range = ranges_next(&open->lost.ranges, off);
    if (range)
        *out = *range;
    pthread_mutex_unlock(&open->lock);
    return range != NULL;
}

uint64_t open_file_lost_end(struct open_file *open, uint64_t off, uint64_t end)
{
    uint64_t found;

    pthread_mutex_lock(&open->lock);
    found = lost_ranges_end(&open->lost, off, end);
    pthread_mutex_unlock(&open->lock);
    return found;
}

int open_file_check_lost(struct fs *fs, struct open_file *open, int r)
{
    int error;

    free_space_note(fs, open, r);
    pthread_mutex_lock(&open->lock);
    error = lost_ranges_error(&open->lost);
    pthread_mutex_unlock(&open->lock);
    if (error < 0)
        log_lost(fs, open, false);
    return r < 0 ? r : error;
}

void open_file_log_lost(struct fs *fs, struct open_file *open)
{
    log_lost(fs, open, true);
}
