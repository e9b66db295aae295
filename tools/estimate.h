/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ESTIMATE_H
#define TOOLS_ESTIMATE_H

#include <stdint.h>

#include "chunk/chunk_params.h"

/* Compress bytes in many ways, and measure how well and how fast that works. */

/* One way to compress, and its results. */
struct estimate_trial {
    const char *codec;
    const char *filters; /* as an option spells them */
    struct chunk_params params;
    double ratio;
    double encode_mbs; /* decoded megabytes per second, in one thread */
    double decode_mbs;
};

/* Bytes to compress, in pieces that each become a chunk. */
struct estimate_sample {
    uint8_t *bytes;
    size_t len;
    size_t piece_len; /* the last piece may be shorter */
};

/*
 * List the trials.
 *
 *  typesize  bytes per element; 0: all that are usual
 *  trials    receives the trials, without results; the caller frees it
 *
 * Returns their number, or -ENOMEM.
 */
int estimate_list(uint32_t typesize, struct estimate_trial **trials);

/* Callback that reports progress, one call at a time. */
struct estimate_listener {
    /* Returns 0, or a negative errno to stop. */
    int (*progress)(void *context, int done, int ntrials);

    void *context;
};

/* Run all trials, on all CPUs in parallel.  Returns 0 or a negative errno. */
int estimate_run(const struct estimate_sample *sample,
                 struct estimate_trial *trials, int ntrials,
                 const struct estimate_listener *listener);

/* The property that matters most to the user. */
enum estimate_goal {
    ESTIMATE_SIZE,
    ESTIMATE_SPEED,   /* the least time to compress, write, read and
                         decompress, on a disk of 2 GB/s */
    ESTIMATE_BALANCE, /* the same on one of 100 MB/s */
    ESTIMATE_NGOALS
};

/* Find the trial that serves a goal best.  There is at least one trial. */
const struct estimate_trial *estimate_best(const struct estimate_trial *trials,
                                           int ntrials,
                                           enum estimate_goal goal);

#endif
