/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_HUFFMAN_H
#define CHUNK_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decode bytes in the Huffman code of Zstandard: a description of the tree, a
 * jump table, and four streams of bits.
 *
 *  dst_len  bytes that must result, at least 4
 *
 * Returns 0 or -EBADMSG.
 *
 * Format: RFC 8878, 4.2.1 "Huffman Tree Description" and 3.1.1.3.1.6.
 */
int huffman_decode(const uint8_t *src, size_t src_len, uint8_t *dst,
                   size_t dst_len);

#endif
