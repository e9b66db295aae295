/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_NPY_H
#define ARRAY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "array/array.h"

/*
 * Make the header that precedes the items of an array in a .npy file.  Items
 * are described as plain bytes ("|V") if their dtype is unknown or has another
 * size.
 *
 *  header  receives `len` bytes, a multiple of 64, that the caller frees
 *
 * Returns 0 or -ENOMEM.
 *
 * Format: the .npy format of NumPy; version 1.0, or 2.0 for a long description,
 * or 3.0 for one that is not all ASCII.
 */
int npy_header(const struct array *array, uint8_t **header, size_t *len);

enum {
    NPY_HEAD_LEN = 12 /* enough to tell the length of a header */
};

/*
 * Get the length of a header from its first NPY_HEAD_LEN bytes; 0 if they are
 * not the start of a .npy file.
 */
uint64_t npy_header_len(const uint8_t *head);

/* The contents of a .npy file's header. */
struct npy {
    struct layout_shape shape; /* no chunks and blocks */
    char *dtype;               /* as in the metalayer of an array */
    uint32_t itemsize;
    bool fortran; /* the first dimension of several varies fastest */
};

/*
 * Parse the header of a .npy file.
 *
 *  header, len  the whole header
 *
 * Returns 0, -ENOMEM, or -EINVAL: the header is not as NumPy writes it,
 * dtype_parse() rejects the items, the items have no bytes or are arrays
 * themselves, or there are more than 16 dimensions.
 */
int npy_parse(const uint8_t *header, size_t len, struct npy *out);

/* Accepts a zeroed struct. */
void npy_fini(struct npy *npy);

#endif
