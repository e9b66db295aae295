/* SPDX-License-Identifier: BSD-3-Clause */

/* A guard that a fingerprint confirms.  It is written again as it was. */
#include <stdlib.h>
#include <string.h>

#include "frame/frame_sums.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t nbytes[] = { 1, 2, 3 };
    struct frame_sums *sums;
    uint8_t *again;

    if (frame_sums_parse(data, size, &sums) < 0)
        return 0;
    for (uint64_t place = 0; place < 64; place++)
        frame_sums_have(sums, place);
    frame_sums_check_sizes(sums, sums->ngroups, nbytes, 3);
    again = malloc(size);
    if (again) {
        if (frame_sums_guard_len(sums) != size)
            abort();
        frame_sums_encode(sums, again);
        if (memcmp(again, data, size) != 0)
            abort();
    }
    free(again);
    frame_sums_free(sums);
    return 0;
}
