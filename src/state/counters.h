/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_COUNTERS_H
#define STATE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Statistics of all files of a context, beside those that the cache keeps.
 * They count bytes unless noted otherwise.  Any thread adds to them without a
 * lock, once for each request or run of blocks.  Each counter is exact, but two
 * of them may be from different moments.
 */
struct counters {
    atomic_uint_fast64_t read; /* returned to readers */
    atomic_uint_fast64_t wide; /* number of scans of arrays that have a row of
                                  chunks larger than the cache */
    atomic_uint_fast64_t written; /* taken from writers */
    atomic_uint_fast64_t decoded; /* from chunks; their compressed size, in
                                     proportion: */
    atomic_uint_fast64_t decoded_from;
    atomic_uint_fast64_t mismatches; /* number of reads of blocks that did not
                                        match their sums */
    atomic_uint_fast64_t encoded;    /* into chunks; their compressed size: */
    atomic_uint_fast64_t encoded_to;
    atomic_uint_fast64_t commits; /* number that made a new state of a frame */
    atomic_uint_fast64_t failed;  /* number that failed */
    atomic_uint_fast64_t conflicts; /* number of tries that another program had
                                       overtaken */
    atomic_uint_fast64_t merges;    /* of these, merged with its commit */
};

/* Add to a counter.  Any number of threads may do so at a time. */
static inline void counter_add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Read a counter, to which other threads may be adding. */
static inline uint64_t counter_get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
