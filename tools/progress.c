/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

enum {
    BAR_WIDTH = 50
};

static const long first_ns = 1000000000;
static const long interval_ns = 100000000;

static struct timespec time_after(struct timespec time, long ns)
{
    time.tv_sec += (time.tv_nsec + ns) / 1000000000;
    time.tv_nsec = (time.tv_nsec + ns) % 1000000000;
    return time;
}

static bool time_is_before(struct timespec a, struct timespec b)
{
    return a.tv_sec < b.tv_sec ||
           (a.tv_sec == b.tv_sec && a.tv_nsec < b.tv_nsec);
}

void progress_start(struct progress *progress)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    *progress = (struct progress){
        .wanted = isatty(STDERR_FILENO),
        .due = time_after(now, first_ns),
    };
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
    static const char full[BAR_WIDTH + 1] =
        "##################################################";
    struct timespec now;
    double part;

    if (!progress->wanted || total == 0)
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (time_is_before(now, progress->due))
        return;

    part = (double)done / (double)total;
    fprintf(stderr, "\r[%-*.*s] %3d%%", BAR_WIDTH, (int)(part * BAR_WIDTH),
            full, (int)(part * 100));
    progress->shown = true;
    progress->due = time_after(now, interval_ns);
}

void progress_clear(struct progress *progress)
{
    if (!progress->shown)
        return;
    fprintf(stderr, "\r%*s\r", BAR_WIDTH + 7, "");
    progress->shown = false;
}
