/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_COUNTING_STORE_H
#define TEST_COUNTING_STORE_H

#include <stddef.h>

#include "store/store.h"

/* What was read from a store. */
struct reads {
    size_t ncalls;
    size_t nranges;
    size_t nbytes;
};

/*
 * A store of one object in memory, as store_mem_open(), that counts what is
 * read from it in `reads`.  For one thread.
 */
int counting_store_open(const uint8_t *bytes, size_t len, struct reads *reads,
                        struct store **out);

#endif
