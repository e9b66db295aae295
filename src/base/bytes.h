/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

/* Load and store unaligned integers of a given byte order. */

static inline uint16_t load_le16(const uint8_t *bytes)
{
    uint16_t value;

    memcpy(&value, bytes, sizeof(value));
    return le16toh(value);
}

static inline uint32_t load_le32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return le32toh(value);
}

static inline uint64_t load_le64(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return le64toh(value);
}

static inline uint16_t load_be16(const uint8_t *bytes)
{
    uint16_t value;

    memcpy(&value, bytes, sizeof(value));
    return be16toh(value);
}

static inline uint32_t load_be32(const uint8_t *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return be32toh(value);
}

static inline uint64_t load_be64(const uint8_t *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return be64toh(value);
}

static inline void store_le16(uint8_t *bytes, uint16_t value)
{
    value = htole16(value);
    memcpy(bytes, &value, sizeof(value));
}

static inline void store_le32(uint8_t *bytes, uint32_t value)
{
    value = htole32(value);
    memcpy(bytes, &value, sizeof(value));
}

static inline void store_le64(uint8_t *bytes, uint64_t value)
{
    value = htole64(value);
    memcpy(bytes, &value, sizeof(value));
}

static inline void store_be32(uint8_t *bytes, uint32_t value)
{
    value = htobe32(value);
    memcpy(bytes, &value, sizeof(value));
}

static inline void store_be64(uint8_t *bytes, uint64_t value)
{
    value = htobe64(value);
    memcpy(bytes, &value, sizeof(value));
}

#endif
