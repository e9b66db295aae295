/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_counts.h"

static void add(atomic_uint_fast64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static uint64_t get(const atomic_uint_fast64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void net_counts_send(struct net_counts *counts, enum net_method method)
{
    switch (method) {
    case NET_GET:
        add(&counts->gets, 1);
        return;
    case NET_HEAD:
        add(&counts->heads, 1);
        return;
    case NET_PUT:
    case NET_POST:
    case NET_DELETE:
        add(&counts->puts, 1);
        return;
    }
}

/* The longest time in microseconds that belongs to a class. */
static double longest(unsigned class)
{
    double us = 1;

    for (unsigned i = 0; i < class; i++)
        us *= 1.2;
    return us;
}

void net_counts_receive(struct net_counts *counts, uint64_t nbytes,
                        int64_t first_us)
{
    unsigned class = 0;

    add(&counts->received, nbytes);
    if (first_us == 0)
        return;
    for (double us = 1; us < (double)first_us && class + 1 < NET_NTIMES;
         us *= 1.2)
        class ++;
    add(&counts->times[class], 1);
}

void net_counts_use(struct net_counts *counts, uint64_t nbytes)
{
    add(&counts->used, nbytes);
}

void net_counts_redirect(struct net_counts *counts)
{
    add(&counts->redirects, 1);
}

void net_counts_retry(struct net_counts *counts, enum net_cause cause)
{
    add(&counts->retries[cause], 1);
}

void net_counts_fail(struct net_counts *counts)
{
    add(&counts->failed, 1);
}

void net_counts_running(struct net_counts *counts, unsigned n)
{
    atomic_store_explicit(&counts->running, n, memory_order_relaxed);
}

/* The time that this part of all replies took at most; 0 if there are none. */
static uint64_t percentile(const struct net_counts *counts, double part)
{
    uint64_t total = 0;
    uint64_t below = 0;

    for (unsigned i = 0; i < NET_NTIMES; i++)
        total += get(&counts->times[i]);
    for (unsigned i = 0; i < NET_NTIMES; i++) {
        below += get(&counts->times[i]);
        if (total > 0 && (double)below >= part * (double)total)
            return (uint64_t)longest(i);
    }
    return 0;
}

void net_counts_get(struct net_counts *counts, struct net_stats *out)
{
    *out = (struct net_stats){
        .gets = get(&counts->gets),
        .heads = get(&counts->heads),
        .puts = get(&counts->puts),
        .redirects = get(&counts->redirects),
        .failed = get(&counts->failed),
        .received = get(&counts->received),
        .used = get(&counts->used),
        .running = get(&counts->running),
        .p50_us = percentile(counts, 0.5),
        .p99_us = percentile(counts, 0.99),
    };
    for (unsigned i = 0; i < NET_NCAUSES; i++)
        out->retries[i] = get(&counts->retries[i]);
}
