/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_COUNTING_STORE_H
#define TEST_COUNTING_STORE_H

#include <stddef.h>

#include "store/store.h"

/* Reads from a store. */
struct reads {
    size_t ncalls;
    size_t nranges;
    size_t nbytes;
    size_t nstats; /* how often the state of the object was asked for */
};

/*
 * Open a store of one object in memory, as store_mem_open() does, that counts
 * the reads from it in `reads`.  It may be used by one thread only.
 */
int counting_store_open(const uint8_t *bytes, size_t len, struct reads *reads,
                        struct store **out);

#endif
