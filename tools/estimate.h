/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_ESTIMATE_H
#define TOOLS_ESTIMATE_H

#include <stdint.h>

#include "chunk/chunk_params.h"

/* How well and how fast bytes are compressed, in many ways. */

/* One way, and what came of it. */
struct estimate_trial {
    const char *codec;
    const char *filters; /* as options have them */
    struct chunk_params params;
    double ratio;
    double encode_mbs; /* decoded megabytes a second, in one thread */
    double decode_mbs;
};

/* Some bytes in pieces, each of which becomes a chunk. */
struct estimate_sample {
    uint8_t *bytes;
    size_t len;
    size_t piece_len; /* the last piece may be shorter */
};

/*
 * List the ways to be tried.
 *
 *  typesize  bytes per element; 0: all that are usual
 *  trials    receives them, with no results yet; the caller frees it
 *
 * Returns their number, or -ENOMEM.
 */
int estimate_list(uint32_t typesize, struct estimate_trial **trials);

/* Who hears of how it goes on, one call at a time. */
struct estimate_listener {
    /* Returns 0, or a negative errno to give up. */
    int (*progress)(void *context, int done, int ntrials);

    void *context;
};

/* Try them all, on all CPUs side by side.  Returns 0 or a negative errno. */
int estimate_run(const struct estimate_sample *sample,
                 struct estimate_trial *trials, int ntrials,
                 const struct estimate_listener *listener);

/* What one may want most. */
enum estimate_goal {
    ESTIMATE_SIZE,
    ESTIMATE_SPEED,   /* the least time to compress, write, read and
                         decompress, on a disk of 2 GB/s */
    ESTIMATE_BALANCE, /* the same on one of 100 MB/s */
    ESTIMATE_NGOALS
};

/* The trial that serves a goal best; there is one. */
const struct estimate_trial *estimate_best(const struct estimate_trial *trials,
                                           int ntrials,
                                           enum estimate_goal goal);

#endif
