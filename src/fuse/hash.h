/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_HASH_H
#define FUSE_HASH_H

#include <stdint.h>

/* Take one more value into a hash. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

#endif
