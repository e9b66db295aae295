/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_MSGPACK_ANY_H
#define BASE_MSGPACK_ANY_H

#include "base/msgpack.h"

/*
 * Read values in whatever encoding their writer chose, such as those that
 * Python packed.  A value of another type makes the reader fail, as in
 * base/msgpack.h.
 *
 * Format: MessagePack specification; stores.md, 6.1.
 */

/* Read the start of a map.  Returns how many pairs of key and value follow. */
uint32_t msgpack_map(struct msgpack *reader);

/* Read the next value, a string, in place; NULL if it is something else. */
const uint8_t *msgpack_str(struct msgpack *reader, size_t *len);

/* Read the next value, an integer that is not negative. */
uint64_t msgpack_uint(struct msgpack *reader);

/* Skip the next value, of whatever type. */
void msgpack_skip(struct msgpack *reader);

#endif
