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

enum {
    NPY_HEAD_LEN = 12 /* enough to know the length of a header */
};

/*
 * The length of a header, by its first NPY_HEAD_LEN bytes; 0 if they do not
 * start a .npy file.
 */
uint64_t npy_header_len(const uint8_t *head);

/* What the header of a .npy file says. */
struct npy {
    struct layout_shape shape; /* without chunks and blocks */
    char *dtype;               /* as the metalayer of an array has it */
    uint32_t itemsize;
};

/*
 * Parse the header of a .npy file.
 *
 *  header, len  all of it
 *
 * Returns 0, -ENOMEM, -ENOTSUP if the items are in Fortran order, or -EINVAL:
 * it is not as NumPy writes it, has items that dtype_parse() refuses, or more
 * than 16 dimensions.
 */
int npy_parse(const uint8_t *header, size_t len, struct npy *out);

/* Accepts a zeroed struct. */
void npy_fini(struct npy *npy);

#endif
