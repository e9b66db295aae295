/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/thread.h"

#include <signal.h>

/* Threads inherit the mask. */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
    sigset_t all;
    sigset_t old;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -error;
}
