/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/operation.h"

#include "base/clock.h"

static _Thread_local int64_t began_ns;

int64_t operation_begin(void)
{
    return operation_join(began_ns > 0 ? began_ns : clock_monotonic_ns());
}

int64_t operation_join(int64_t other_ns)
{
    int64_t outer = began_ns;

    began_ns = other_ns;
    return outer;
}

void operation_end(int64_t outer)
{
    began_ns = outer;
}

int64_t operation_began_ns(void)
{
    return began_ns;
}
