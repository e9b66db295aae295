/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Hash `len` bytes, as fast as memory gives them.  This tells bytes that are
   wrong by accident, not those that somebody has chosen.  The result depends on
   the byte order of the machine. */
static inline uint64_t hash_bytes(const uint8_t *bytes, size_t len,
                                  uint64_t seed)
{
    uint64_t a = seed;
    uint64_t b = seed + 1;
    uint64_t c = seed + 2;
    uint64_t d = seed + 3;
    uint64_t words[4];

    /* Four hashes, because the processor works on them at the same time. */
    for (size_t i = len / sizeof(words); i > 0; i--) {
        memcpy(words, bytes, sizeof(words));
        bytes += sizeof(words);
        a = hash_mix(a, words[0]);
        b = hash_mix(b, words[1]);
        c = hash_mix(c, words[2]);
        d = hash_mix(d, words[3]);
    }
    memset(words, 0, sizeof(words));
    memcpy(words, bytes, len % sizeof(words));
    for (int i = 0; i < 4; i++)
        a = hash_mix(a, words[i]);
    return hash_mix(hash_mix(hash_mix(hash_mix(a, b), c), d), len);
}

#endif
