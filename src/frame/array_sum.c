/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/array_sum.h"

#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "frame/array_meta.h"
#include "frame/frame_sums.h"

enum {
    EXTENTS_HEAD_LEN = 1, /* marker before the extents of a shape */
    EXTENT_64_LEN = 9,    /* of one extent, with its marker */
    EXTENT_32_LEN = 5,
    /* Up to the end of the longest shapes. */
    SHAPES_MAX = 3 + 3 * EXTENTS_HEAD_LEN +
                 ARRAY_NDIM_MAX * (EXTENT_64_LEN + 2 * EXTENT_32_LEN),
};

uint64_t array_sum(const uint8_t *content, size_t len)
{
    uint8_t bytes[SHAPES_MAX];
    struct array_meta meta;
    struct fault ignored;
    bool oldest;
    size_t shape;
    size_t end;

    if (array_meta_parse(content, len, &meta, &ignored) < 0)
        return 0;
    oldest = meta.parts == ARRAY_PARTS_OLDEST;
    shape = (oldest ? 2 : 3) + EXTENTS_HEAD_LEN;
    end = shape + meta.ndim * (size_t)EXTENT_64_LEN +
          (oldest ? 1 : 2) *
              (EXTENTS_HEAD_LEN + meta.ndim * (size_t)EXTENT_32_LEN);
    memcpy(bytes, content, end);
    for (unsigned i = 0; i < meta.ndim; i++) {
        uint64_t n =
            meta.chunk[i] > 0 ? size_pieces(meta.items[i], meta.chunk[i]) : 0;

        store_be64(bytes + shape + i * (size_t)EXTENT_64_LEN + 1, n);
    }
    return frame_sums_of_bytes(bytes + 1, end - 1);
}
