/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/stats_signal.h"

#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "ops/stats.h"

static void wanted_signals(sigset_t *out)
{
    sigemptyset(out);
    sigaddset(out, SIGUSR1);
}

static void log_stats(struct fs *fs)
{
    char *text = stats_text(fs);

    if (text)
        log_info("%s", text);
    free(text);
}

static void *run(void *arg)
{
    struct stats_signal *stats = arg;
    sigset_t wanted;
    int number;

    wanted_signals(&wanted);
    while (sigwait(&wanted, &number) == 0 && !stats->stopping)
        log_stats(stats->fs);
    return NULL;
}

/* The thread blocks all other signals; they are for the main thread. */
int stats_signal_start(struct stats_signal *stats, struct fs *fs)
{
    sigset_t wanted;
    sigset_t all;
    sigset_t before;
    int error;

    stats->fs = fs;
    wanted_signals(&wanted);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_create(&stats->thread, NULL, run, stats);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    stats->started = error == 0;
    return -error;
}

void stats_signal_stop(struct stats_signal *stats)
{
    if (!stats->started)
        return;
    stats->stopping = true;
    pthread_kill(stats->thread, SIGUSR1);
    pthread_join(stats->thread, NULL);
}
