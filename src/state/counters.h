/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STATE_COUNTERS_H
#define STATE_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What the files of a context have done, beside what the cache counts: bytes,
 * unless said otherwise.  Anyone adds to them, once for each request or run of
 * blocks, and nobody waits for that; each is right by itself.
 */
struct counters {
    atomic_uint_fast64_t read; /* handed to readers */
    atomic_uint_fast64_t wide; /* scans of arrays, a row of whose chunks is more
                                  than the cache holds */
    atomic_uint_fast64_t written; /* taken from writers */
    atomic_uint_fast64_t decoded; /* out of chunks; and what these take up, in
                                     proportion: */
    atomic_uint_fast64_t decoded_from;
    atomic_uint_fast64_t encoded; /* to chunks; and what these take up: */
    atomic_uint_fast64_t encoded_to;
    atomic_uint_fast64_t commits; /* how many made a new state of a frame, */
    atomic_uint_fast64_t failed;  /* and how many failed */
};

/* Add to a counter.  Any number of threads may do so at a time. */
static inline void counter_add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* Read a counter, which other threads may add to meanwhile. */
static inline uint64_t counter_get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
