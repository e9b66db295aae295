/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_MSGPACK_ANY_H
#define BASE_MSGPACK_ANY_H

#include "base/msgpack.h"

/*
 * Values in whatever encoding their writer chose, for what Python packed.  A
 * value of another type makes the reader fail, as with base/msgpack.h.
 *
 * Format: MessagePack specification; stores.md, 6.1.
 */

/* The next value, a map: how many pairs of key and value follow. */
uint32_t msgpack_map(struct msgpack *reader);

/* The next value, a string, in place; NULL if it is none. */
const uint8_t *msgpack_str(struct msgpack *reader, size_t *len);

/* The next value, an integer that is not negative. */
uint64_t msgpack_uint(struct msgpack *reader);

/* Pass over the next value, whatever it is. */
void msgpack_skip(struct msgpack *reader);

#endif
