/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/*
 * What each target defines: feed `size` bytes to a parser.  Returns 0.  What
 * must never happen ends in a trap of a sanitizer or in abort().
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
