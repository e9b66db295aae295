/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A line on standard error that shows the progress of long work: how much is
   done, how fast it goes, and how long it will take.  One thread at a time may
   use it. */
struct progress {
    bool wanted; /* standard error is a terminal */
    bool shown;  /* the line is on the screen */
    struct timespec start;
    struct timespec due; /* when to draw next */
};

/* Start the clock.  Nothing is drawn yet, because only work that takes longer
   than a second gets a line. */
void progress_start(struct progress *progress);

/* Show that `done` of `total` bytes are done; `total` is 0 if it is not
   known. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);

/* Clear the line, at the end or before a message.  A later update draws it
   again. */
void progress_clear(struct progress *progress);

#endif
