/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/killed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

enum {
    STATUS_LEN = 4096, /* bytes of /proc/PID/status that are read */
    PAUSE_NS = 100 * 1000 * 1000,
};

static _Thread_local pid_t program;
static _Thread_local bool dead; /* it was found to be told to end */

void killed_serve(pid_t pid)
{
    program = pid;
    dead = false;
}

/* The set of signals in a line of /proc/PID/status. */
static unsigned long long signals(const char *status, const char *keyword)
{
    const char *line = strstr(status, keyword);

    return line ? strtoull(line + strlen(keyword), NULL, 16) : 0;
}

static unsigned long long bit(int signal)
{
    return 1ULL << (signal - 1);
}

/* The signals that have come and wait to be handled, as a file of /proc shows
   them; 0 if it cannot be read. */
static unsigned long long pending_in(const char *path)
{
    char status[STATUS_LEN];
    unsigned long long pending;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return 0;
    n = read(fd, status, sizeof(status) - 1);
    close(fd);
    if (n <= 0)
        return 0;
    status[n] = '\0';
    pending = signals(status, "\nSigPnd:\t") | signals(status, "\nShdPnd:\t");
    return pending & ~signals(status, "\nSigBlk:\t");
}

/* If the program has no handler, the kernel makes the signal a SIGKILL. */
bool killed_is_set(void)
{
    char path[64];

    if (program <= 0 || dead)
        return dead;
    snprintf(path, sizeof(path), "/proc/%ld/status", (long)program);
    dead = pending_in(path) & (bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) |
                               bit(SIGKILL) | bit(SIGTERM));
    return dead;
}

bool killed_for_good(pid_t pid, pid_t tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%ld/task/%ld/status", (long)pid,
             (long)tid);
    return pending_in(path) & bit(SIGKILL);
}

void killed_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

int killed_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    int64_t until = clock_monotonic_ns() + PAUSE_NS;
    const struct timespec time = { until / CLOCK_SECOND_NS,
                                   until % CLOCK_SECOND_NS };

    if (dead)
        return -EINTR;
    if (pthread_cond_timedwait(cond, mutex, &time) != ETIMEDOUT)
        return 0;
    return killed_is_set() ? -EINTR : 0;
}
