/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_ARRAY_FORMAT_H
#define FRAME_ARRAY_FORMAT_H

#include "base/msgpack.h"

/* Names of the metalayer that makes a frame an array.  Format: b2nd.md, 1 and
   5. */
#define ARRAY_LAYER_B2ND    "b2nd"
#define ARRAY_LAYER_CATERVA "caterva" /* used if there is no b2nd */

/* The first byte of the metalayer tells the parts that follow. */
enum {
    /* ndim, shape, chunk shape.  Caterva 0.1 */
    ARRAY_PARTS_OLDEST = MSGPACK_FIXARRAY | 3,
    /* version, ndim, shape, chunk shape, block shape.  Caterva 0.2 and later,
       snapshots of b2nd of January 2023 */
    ARRAY_PARTS_NO_DTYPE = MSGPACK_FIXARRAY | 5,
    /* the same, and a dtype.  Snapshots of February 2023 */
    ARRAY_PARTS_BARE_DTYPE = MSGPACK_FIXARRAY | 6,
    /* the same, and format and text of a dtype */
    ARRAY_PARTS_ALL = MSGPACK_FIXARRAY | 7,
};

/* Formats of a dtype; only this one is known. */
enum {
    ARRAY_DTYPE_NUMPY = 0
};

enum {
    ARRAY_NDIM_MAX = 16
};

#endif
