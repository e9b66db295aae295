/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "suite.h"
#include "writer/sum_places.h"

enum {
    SPACE = 300,
    NSTEPS = 1000,
};

static void check_all(const struct sum_places *places, const bool *model)
{
    for (size_t i = 0; i < SPACE; i++)
        ck_assert_int_eq(sum_places_have(places, i), model[i]);
}

START_TEST(places_are_those_that_were_set_last)
{
    struct sum_places places = { 0 };
    bool model[SPACE];

    for (size_t i = 0; i < SPACE; i++)
        model[i] = true;
    srand(1);
    for (int step = 0; step < NSTEPS; step++) {
        size_t off = (size_t)rand() % SPACE;
        size_t len = 1 + (size_t)rand() % 20;
        bool summed = rand() % 2;

        if (len > SPACE - off)
            len = SPACE - off;
        ck_assert_int_eq(sum_places_set(&places, off, len, summed), 0);
        for (size_t i = off; i < off + len; i++)
            model[i] = summed;
        check_all(&places, model);
    }
    sum_places_free(&places);
}
END_TEST

START_TEST(runs_are_limited_and_cover_what_has_no_sums)
{
    struct sum_places places = { 0 };

    for (uint64_t i = 0; i < SUM_PLACES_MAX + 100; i++)
        ck_assert_int_eq(sum_places_set(&places, 4 * i, 1, false), 0);
    ck_assert_uint_le(places.unsummed.n, SUM_PLACES_MAX);
    for (uint64_t i = 0; i < SUM_PLACES_MAX + 100; i++)
        ck_assert(!sum_places_have(&places, 4 * i));
    /* The last ones have become one. */
    ck_assert(!sum_places_have(&places, 4 * SUM_PLACES_MAX + 1));
    ck_assert(sum_places_have(&places, 1));
    ck_assert_int_eq(sum_places_set(&places, 0, 1, true), 0);
    ck_assert(sum_places_have(&places, 0));
    sum_places_free(&places);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        places_are_those_that_were_set_last,
        runs_are_limited_and_cover_what_has_no_sums,
        NULL,
    };

    return suite_run("sum_places", tests);
}
