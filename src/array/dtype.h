/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ARRAY_DTYPE_H
#define ARRAY_DTYPE_H

#include <stdint.h>

enum {
    DTYPE_NDIM_MAX = 16, /* dimensions of an item that is an array */
};

/* The type of an item, in the form that the header of a .npy file needs. */
struct dtype {
    char *descr;                    /* a Python literal on one line, UTF-8 */
    uint32_t itemsize;              /* bytes, including the extents below */
    unsigned ndim;                  /* number of extents in `shape` */
    uint32_t shape[DTYPE_NDIM_MAX]; /* of an item that is an array; they come
                                       after the extents of the whole array */
};

/*
 * Translate a dtype as NumPy prints it: a type string, the list of fields of a
 * structured type, the dictionary of a type with gaps, or a pair of one of
 * these and a shape.  Gaps become fields without a name.
 *
 *  text  any bytes, ended by a zero byte
 *
 * Returns 0, -ENOMEM, or -EINVAL: the text is none of these, or not UTF-8; or
 * the type is one of objects in memory, nested too deep, has 2^31 bytes or
 * more, or has fields that overlap or are not in the order of their offsets,
 * which a .npy file cannot express.
 *
 * Format: b2nd.md, 1.1; the .npy format of NumPy, "Format Version 1.0".
 */
int dtype_parse(const char *text, struct dtype *out);

/* Accepts a zeroed struct. */
void dtype_fini(struct dtype *dtype);

#endif
