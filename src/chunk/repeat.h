/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_REPEAT_H
#define CHUNK_REPEAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Continue the pattern of the `period` > 0 bytes before `dst` for `len` bytes.
 * Each step copies twice as many bytes as the one before, so that even short
 * patterns are copied in long pieces.
 */
static inline void repeat_bytes(uint8_t *dst, size_t period, size_t len)
{
    if (period == 1) {
        memset(dst, dst[-1], len);
        return;
    }
    while (len > period) {
        memcpy(dst, dst - period, period);
        dst += period;
        len -= period;
        period *= 2;
    }
    memcpy(dst, dst - period, len);
}

#endif
