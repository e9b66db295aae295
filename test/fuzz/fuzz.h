/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * Feed `size` bytes to a parser; each target defines this function.  Returns 0.
 * Errors of the parser end in a trap of a sanitizer or in abort().
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
