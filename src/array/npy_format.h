/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_NPY_FORMAT_H
#define ARRAY_NPY_FORMAT_H

#include <stdint.h>

/*
 * A .npy file starts with the magic below; then come the major and minor
 * version, one byte each, the length of the rest of the header in two bytes
 * (version 1) or four, little-endian, and a dictionary that ends in a newline.
 *
 * Format: the .npy format of NumPy, "Format Version 1.0" and later.
 */
enum {
    NPY_MAGIC_LEN = 6
};

/* The first bytes of every .npy file. */
static const uint8_t npy_magic[NPY_MAGIC_LEN] = {
    0x93, 'N', 'U', 'M', 'P', 'Y',
};

#endif
