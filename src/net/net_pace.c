/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_pace.h"

#include <stdlib.h>

static const int64_t pause_min_ns = INT64_C(50) * 1000 * 1000;
static const int64_t pause_max_ns = INT64_C(10) * 1000 * 1000 * 1000;

void net_pace_init(struct net_pace *pace, unsigned max)
{
    *pace = (struct net_pace){ .window = max, .max = max };
}

unsigned net_pace_window(const struct net_pace *pace)
{
    return (unsigned)pace->window;
}

void net_pace_good(struct net_pace *pace)
{
    pace->window += 1 / pace->window;
    if (pace->window > pace->max)
        pace->window = pace->max;
}

void net_pace_busy(struct net_pace *pace, int64_t sent_ns, int64_t now_ns)
{
    if (sent_ns < pace->halved_ns)
        return;
    pace->halved_ns = now_ns;
    pace->window = pace->window > 2 ? pace->window / 2 : 1;
}

int64_t net_pace_pause(unsigned ntries, unsigned *seed)
{
    int64_t most = pause_min_ns;

    for (unsigned i = 1; i < ntries && most < pause_max_ns; i++)
        most *= 2;
    if (most > pause_max_ns)
        most = pause_max_ns;
    return (int64_t)((double)most * rand_r(seed) / RAND_MAX);
}
