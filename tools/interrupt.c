/* SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum {
    AGAIN_SECONDS = 1
};

static volatile sig_atomic_t seen;

/* The signal may come just before a system call that waits, and then does not
   interrupt it.  So SIGALRM interrupts such calls every second until the
   program ends. */
static void note(int number)
{
    if (seen == 0)
        seen = number;
    alarm(AGAIN_SECONDS);
}

static const int numbers[] = { SIGALRM, SIGHUP, SIGINT, SIGPIPE, SIGTERM };

void interrupt_catch(void)
{
    const struct sigaction action = { .sa_handler = note };
    struct sigaction old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void interrupt_uncatch(void)
{
    struct sigaction old;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], NULL, &old);
        if (old.sa_handler == note)
            signal(numbers[i], SIG_DFL);
    }
    interrupt_die();
}

bool interrupt_seen(void)
{
    return seen != 0;
}

void interrupt_die(void)
{
    if (seen == 0)
        return;
    signal(seen, SIG_DFL);
    raise(seen);
}
