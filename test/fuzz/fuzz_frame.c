/* SPDX-License-Identifier: BSD-3-Clause */

/* A contiguous frame. */
#include <stdlib.h>

#include "frame_exercise.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct store *store;

    if (store_mem_open(data, size, &store) < 0)
        abort();
    frame_exercise(store);
    return 0;
}
