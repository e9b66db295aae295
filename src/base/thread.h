/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/*
 * Start a thread with all signals blocked, so that signals reach only those
 * threads of the program that expect them.  Returns 0 or a negative errno.
 */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
