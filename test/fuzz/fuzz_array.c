/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The metalayer of an array.  Facts about its frame come first, in
 * little-endian order: a byte that is odd for caterva, typesize and chunksize
 * in four bytes each, and nbytes in eight.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "array/array.h"
#include "base/bytes.h"
#include "fuzz.h"

enum {
    PREFIX_LEN = 1 + 4 + 4 + 8,
    ITEMS_MAX = 256, /* items that are located, from each end */
};

static void insist(bool what)
{
    if (!what)
        abort();
}

/* The run and the row of an item must stay inside its chunk and the array. */
static void locate(const struct layout *layout, uint64_t item_no)
{
    struct layout_place place;
    struct layout_place next;

    layout_locate(layout, item_no, UINT64_MAX, &place);
    insist(place.chunk_no < layout->nchunks);
    insist(place.run >= 1 && place.run <= place.row);
    insist(place.row <= layout->nitems - item_no);
    insist((uint64_t)place.item + place.span <= layout->chunk_nitems);
    layout_locate(layout, item_no + place.run - 1, 1, &next);
    insist(next.chunk_no == place.chunk_no);
    insist(next.item == place.item + place.run - 1);
    layout_locate(layout, item_no + place.row - 1, 1, &next);
    insist(next.chunk_no == place.chunk_no);
    insist(next.item - place.item < place.span);
}

static void exercise(const struct array *array, const struct frame_info *info)
{
    const struct layout *layout = &array->layout;

    insist(layout->nbytes == layout->nitems * info->typesize);
    insist((uint64_t)layout->chunk_nitems * info->typesize <= INT32_MAX);
    insist(info->chunksize == 0 || layout->nchunks == 0 ||
           layout->nchunks <= info->nbytes / info->chunksize);
    for (uint64_t i = 0; i < layout->nitems && i < ITEMS_MAX; i++) {
        locate(layout, i);
        locate(layout, layout->nitems - 1 - i);
        locate(layout, layout->nitems / ITEMS_MAX * i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fault fault = FAULT_NONE;
    struct frame_info info = { 0 };
    struct array_content content;
    struct array *array;

    if (size < PREFIX_LEN)
        return 0;
    info.typesize = load_le32(data + 1) & INT32_MAX;
    info.chunksize = load_le32(data + 5) & INT32_MAX;
    info.nbytes = load_le64(data + 9) & INT64_MAX;
    info.typesize += info.typesize == 0;
    content = (struct array_content){ data + PREFIX_LEN, size - PREFIX_LEN,
                                      data[0] & 1 };
    if (array_parse(&content, &info, &array, &fault) < 0) {
        insist(fault.what && fault.off <= size - PREFIX_LEN);
        return 0;
    }
    exercise(array, &info);
    array_free(array);
    return 0;
}
