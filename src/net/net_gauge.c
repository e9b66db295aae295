/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_gauge.h"

#include "base/clock.h"

enum {
    FADE = 256,            /* a value loses this part of it at each step */
    SINGLE_MIN = 32 << 10, /* bytes of a reply that tell a speed */
    NREPLIES_MIN = 16,
    US_PER_S = 1000000,
    NS_PER_US = 1000,
};

static uint64_t get(const atomic_uint_fast64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static void set(atomic_uint_fast64_t *value, uint64_t now)
{
    atomic_store_explicit(value, now, memory_order_relaxed);
}

static void note_most(atomic_uint_fast64_t *value, uint64_t now)
{
    uint64_t faded = get(value) - get(value) / FADE;

    set(value, now > faded ? now : faded);
}

static void note_least(atomic_uint_fast64_t *value, uint64_t now)
{
    uint64_t faded = get(value) + get(value) / FADE + 1;

    set(value, faded == 1 || now < faded ? now : faded);
}

static uint64_t speed(uint64_t nbytes, int64_t us)
{
    return (uint64_t)((double)nbytes * US_PER_S / (double)(us > 0 ? us : 1));
}

void net_gauge_receive(struct net_gauge *gauge, size_t nbytes)
{
    gauge->nbytes += nbytes;
}

void net_gauge_begin(const struct net_gauge *gauge, struct net_flight *out)
{
    *out = (struct net_flight){
        .began_ns = clock_monotonic_ns(),
        .nbytes = gauge->nbytes,
    };
}

void net_gauge_note(struct net_gauge *gauge, const struct net_flight *flight,
                    uint64_t nbytes, int64_t first_us, int64_t body_us)
{
    int64_t all_us = (clock_monotonic_ns() - flight->began_ns) / NS_PER_US;

    set(&gauge->nreplies, get(&gauge->nreplies) + 1);
    note_least(&gauge->rtt_us, (uint64_t)first_us);
    if (nbytes >= SINGLE_MIN)
        note_most(&gauge->single, speed(nbytes, body_us));
    note_most(&gauge->all, speed(gauge->nbytes - flight->nbytes, all_us));
}

void net_gauge_get(const struct net_gauge *gauge, struct net_speed *out)
{
    *out = (struct net_speed){ 0 };
    if (get(&gauge->nreplies) < NREPLIES_MIN)
        return;
    *out = (struct net_speed){
        .rtt_us = get(&gauge->rtt_us),
        .single = get(&gauge->single),
        .all = get(&gauge->all),
    };
}
