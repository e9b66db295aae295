/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdint.h>

/* Mix one more value into a hash. */
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

/* Hash a name or path. */
static inline uint64_t hash_text(const char *text)
{
    uint64_t hash = 1;

    for (; *text != '\0'; text++)
        hash = hash_mix(hash, (unsigned char)*text);
    return hash;
}

#endif
