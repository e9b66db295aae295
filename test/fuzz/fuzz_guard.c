/* SPDX-License-Identifier: BSD-3-Clause */

/* A guard that a fingerprint confirms, which is written again as it was; an
   index; a guard that is made again; and the metalayer of an array. */
#include <stdlib.h>
#include <string.h>

#include "frame/array_sum.h"
#include "frame/frame_sums.h"
#include "fuzz.h"

/* The bytes of an index may be any, too, when a guard is made again. */
static void fuzz_index(const uint8_t *data, size_t size)
{
    struct frame_sums sums = { 0 };

    if (frame_sums_of_index(data, size, &sums) == 0)
        free(sums.index);
}

/* No guard that is made again matches a fingerprint by chance; one that does
   is as it was. */
static void fuzz_mend(const uint8_t *data, size_t size)
{
    const struct frame_info info = { .nbytes = 1 };
    uint8_t fingerprint[FRAME_FINGERPRINT_LEN];
    struct frame_sums found = { 0 };
    struct frame_sums *sums = NULL;
    struct frame_guard guard = { .info = &info,
                                 .bytes = data,
                                 .len = size,
                                 .fingerprint = fingerprint,
                                 .found = &found };

    if (size == 0 || size > 200 ||
        frame_sums_fingerprint(&info, data, size, fingerprint) < 0)
        return;
    found.index_len = data[0] % 40;
    found.index = calloc(found.index_len + 1, 1);
    guard.has_layers = size & 1;
    if (found.index && frame_sums_mend(&guard, &sums) == 0 &&
        frame_sums_guard_len(sums) != size)
        abort();
    frame_sums_free(sums);
    free(found.index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint32_t nbytes[] = { 1, 2, 3 };
    struct frame_sums *sums;
    uint8_t *again;

    fuzz_index(data, size);
    fuzz_mend(data, size);
    array_sum(data, size);
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
