/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* A line on standard error for work that lasts: how much is done, how fast it
   goes, and how long it will take.  Not for several threads. */
struct progress {
    bool wanted; /* standard error is a terminal */
    bool shown;  /* the line is there */
    struct timespec start;
    struct timespec due; /* when to draw next */
};

/* Draws nothing yet: only work that takes longer than a second gets a line. */
void progress_start(struct progress *progress);

/* So many bytes are done, of `total`, or 0 if that is not known. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);

/* Clear the line, for the end or for a message; a later update draws anew. */
void progress_clear(struct progress *progress);

#endif
