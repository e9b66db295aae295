/* SPDX-License-Identifier: BSD-3-Clause */
#include "writer/sum_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t run_end(const struct frame_run *run)
{
    return run->off + run->len;
}

/* Find the first run that ends at or behind `off`. */
static size_t find(const struct sum_places *places, uint64_t off)
{
    size_t low = 0;
    size_t high = places->nruns;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (run_end(&places->runs[middle]) < off)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Put runs in the place of those from `first` to `end` - 1. */
static void splice(struct sum_places *places, size_t first, size_t end,
                   const struct frame_run *runs, size_t n)
{
    memmove(&places->runs[first + n], &places->runs[end],
            (places->nruns - end) * sizeof(runs[0]));
    memcpy(&places->runs[first], runs, n * sizeof(runs[0]));
    places->nruns = places->nruns - (end - first) + n;
}

static int reserve(struct sum_places *places, size_t n)
{
    size_t capacity = 2 * n + 16;
    struct frame_run *runs;

    if (n <= places->capacity)
        return 0;
    runs = realloc(places->runs, capacity * sizeof(runs[0]));
    if (!runs)
        return -ENOMEM;
    places->runs = runs;
    places->capacity = capacity;
    return 0;
}

/* Let a run that is there cover more, because there may be no more runs. */
static void stretch(struct sum_places *places, size_t next, uint64_t low,
                    uint64_t high)
{
    struct frame_run *run =
        &places->runs[next < places->nruns ? next : next - 1];
    uint64_t end = run_end(run) > high ? run_end(run) : high;

    if (low < run->off)
        run->off = low;
    run->len = end - run->off;
}

int sum_places_set(struct sum_places *places, uint64_t off, uint64_t len,
                   bool summed)
{
    uint64_t end = off + len;
    size_t first = find(places, off);
    size_t last = first; /* behind the runs that overlap or touch */
    uint64_t low = off;
    uint64_t high = end;
    struct frame_run runs[2];
    size_t n = 0;

    if (len == 0)
        return 0;
    if (reserve(places, places->nruns + 1) < 0)
        return -ENOMEM;
    while (last < places->nruns && places->runs[last].off <= end)
        last++;
    if (first < last && places->runs[first].off < low)
        low = places->runs[first].off;
    if (first < last && run_end(&places->runs[last - 1]) > high)
        high = run_end(&places->runs[last - 1]);
    if (!summed) {
        runs[n++] = (struct frame_run){ low, high - low };
    } else {
        if (low < off)
            runs[n++] = (struct frame_run){ low, off - low };
        if (end < high)
            runs[n++] = (struct frame_run){ end, high - end };
    }
    if (places->nruns - (last - first) + n <= SUM_PLACES_MAX)
        splice(places, first, last, runs, n);
    else if (!summed)
        stretch(places, first, low, high);
    return 0;
}

bool sum_places_have(const struct sum_places *places, uint64_t off)
{
    size_t i = find(places, off + 1);

    return i == places->nruns || places->runs[i].off > off;
}

int sum_places_load(struct sum_places *places, const struct frame_sums *sums)
{
    if (reserve(places, sums->nruns) < 0)
        return -ENOMEM;
    if (sums->nruns > 0)
        memcpy(places->runs, sums->runs, sums->nruns * sizeof(sums->runs[0]));
    places->nruns = sums->nruns;
    return 0;
}

void sum_places_free(struct sum_places *places)
{
    free(places->runs);
    *places = (struct sum_places){ 0 };
}
