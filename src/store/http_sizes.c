/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/http_remote_private.h"

enum {
    PIECE_MIN = 64 << 10,     /* fewer bytes take hardly less time */
    READ_OVER_MIN = 64 << 10, /* bytes that may be fetched without need, to */
    READ_OVER_MAX = 1 << 20,  /* save a request */
    US_PER_S = 1000000,
};

/* How many bytes come in the time that one more request takes? */
static size_t worth_reading(const struct http_context *context, size_t unknown)
{
    struct net_speed speed;
    double bytes;

    net_get_speed(context->net, &speed);
    bytes = (double)speed.rtt_us * (double)speed.single / US_PER_S;
    if (bytes == 0)
        return unknown;
    if (bytes < READ_OVER_MIN)
        return READ_OVER_MIN;
    return bytes < READ_OVER_MAX ? (size_t)bytes : READ_OVER_MAX;
}

/* Units differ in size, so fetch somewhat more than the usual one. */
static size_t usual_len(const struct http_context *context)
{
    if (context->unit > worth_reading(context, READ_OVER_MAX))
        return PIECE_MIN;
    return (size_t)(context->unit + context->unit / 4);
}

size_t http_piece_len(const struct http_context *context, size_t len)
{
    size_t usual = usual_len(context);

    if (len < usual)
        len = usual;
    if (len < PIECE_MIN)
        len = PIECE_MIN;
    return len < HTTP_PIECE_MAX ? len : HTTP_PIECE_MAX;
}

size_t http_piece_gap(const struct http_context *context)
{
    return worth_reading(context, READ_OVER_MIN);
}
