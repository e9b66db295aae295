/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_DTYPE_H
#define ARRAY_DTYPE_H

#include <stdint.h>

enum {
    DTYPE_NDIM_MAX = 16, /* of items that are arrays themselves */
};

/* What an item is, in the form that the header of a .npy file has it. */
struct dtype {
    char *descr;       /* a Python literal, UTF-8, of one line */
    uint32_t itemsize; /* bytes, with the extents below */
    unsigned ndim;     /* the extents of an item that is an array, which go */
    uint32_t shape[DTYPE_NDIM_MAX]; /* behind those of the whole array */
};

/*
 * Translate what NumPy prints of a dtype: a type string, the list of fields of
 * a structured type, the dictionary of one with gaps, or a pair of one of these
 * and a shape.  Gaps become fields without a name.
 *
 *  text  any bytes up to a zero one
 *
 * Returns 0, -ENOMEM, or -EINVAL: it is none of these, not UTF-8, of objects
 * in memory, nested too deep, of 2^31 bytes or more, or has fields that overlap
 * or are not in the order of their offsets, for which a .npy file has no form.
 *
 * Format: b2nd.md, 1.1; the .npy format of NumPy, "Format Version 1.0".
 */
int dtype_parse(const char *text, struct dtype *out);

/* Accepts a zeroed struct. */
void dtype_fini(struct dtype *dtype);

#endif
