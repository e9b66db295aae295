/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuse/stop_signal.h"

#include <time.h>

#include "open/kernel.h"

enum {
    WAKE = SIGURG, /* does no harm to a thread that does not expect it */
    WAKE_PAUSE_NS = 10 * 1000 * 1000
};

static void add_wanted(sigset_t *wanted, int number)
{
    struct sigaction action;

    if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
        sigaddset(wanted, number);
}

static void do_nothing(int number)
{
    (void)number;
}

/* End the loop.  The signal is sent repeatedly, because the loop may be just
   about to wait. */
static void end_loop(struct stop_signal *stop)
{
    const struct timespec pause = { .tv_nsec = WAKE_PAUSE_NS };

    fuse_session_exit(stop->fs->session);
    while (!stop->stopping) {
        pthread_kill(stop->loop, WAKE);
        nanosleep(&pause, NULL);
    }
}

static void *run(void *arg)
{
    struct stop_signal *stop = arg;
    int number = WAKE;

    while (number == WAKE && !stop->stopping)
        sigwait(&stop->wanted, &number);
    if (!stop->stopping) {
        kernel_stop_notifications(stop->fs);
        end_loop(stop);
    }
    return NULL;
}

int stop_signal_start(struct stop_signal *stop, struct fs *fs)
{
    const struct sigaction wake = { .sa_handler = do_nothing };
    sigset_t all;
    sigset_t before;
    int error;

    stop->fs = fs;
    stop->loop = pthread_self();
    sigemptyset(&stop->wanted);
    add_wanted(&stop->wanted, SIGTERM);
    add_wanted(&stop->wanted, SIGINT);
    add_wanted(&stop->wanted, SIGHUP);
    sigaction(WAKE, &wake, NULL);
    pthread_sigmask(SIG_BLOCK, &stop->wanted, NULL);
    sigaddset(&stop->wanted, WAKE);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_create(&stop->thread, NULL, run, stop);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    stop->started = error == 0;
    return -error;
}

void stop_signal_stop(struct stop_signal *stop)
{
    if (!stop->started)
        return;
    stop->stopping = true;
    pthread_kill(stop->thread, WAKE);
    pthread_join(stop->thread, NULL);
}
