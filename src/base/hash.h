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
    uint64_t lanes[4] = { seed, seed + 1, seed + 2, seed + 3 };
    uint64_t words[4] = { 0 };
    uint64_t hash = hash_mix(seed, len);

    for (; len >= sizeof(words); len -= sizeof(words)) {
        memcpy(words, bytes, sizeof(words));
        bytes += sizeof(words);
        for (int i = 0; i < 4; i++)
            lanes[i] = hash_mix(lanes[i], words[i]);
    }
    memset(words, 0, sizeof(words));
    if (len > 0)
        memcpy(words, bytes, len);
    for (int i = 0; i < 4; i++)
        hash = hash_mix(hash_mix(hash, lanes[i]), words[i]);
    return hash;
}

#endif
