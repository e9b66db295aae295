/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_NPY_H
#define ARRAY_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "array/array.h"

/*
 * Make the header that goes before the items of an array in a .npy file.
 * Items whose dtype is not known, or has another size than they have, are plain
 * bytes ("|V").
 *
 *  header  receives `len` bytes, a multiple of 64, that the caller frees
 *
 * Returns 0 or -ENOMEM.
 *
 * Format: the .npy format of NumPy; version 1.0, 2.0 for a long description,
 * 3.0 for one that is not all ASCII.
 */
int npy_header(const struct array *array, uint8_t **header, size_t *len);

#endif
