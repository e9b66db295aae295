/* SPDX-License-Identifier: BSD-3-Clause */

/* The headers of an HTTP reply, and the bytes of its body that belong to a
   request. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/net_headers.h"

static void insist(bool what)
{
    if (!what)
        abort();
}

static void find(const struct net_headers *headers, bool from_end, uint64_t off,
                 size_t len)
{
    const struct net_request request = {
        .from_end = from_end,
        .off = off,
        .len = len,
    };
    struct net_span span;

    if (net_headers_find(headers, &request, &span) < 0)
        return;
    insist(span.take <= len && span.off <= span.size &&
           span.take <= span.size - span.off);
    insist(from_end || span.take == 0 || span.off == off);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct net_headers headers = { 0 };
    const char *line = (const char *)data;
    const char *end = line + size;

    while (line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t len = next ? (size_t)(next - line) + 1 : (size_t)(end - line);

        net_headers_parse(&headers, line, len);
        line += len;
    }
    insist(memchr(headers.etag, '\0', sizeof(headers.etag)));
    insist(memchr(headers.id, '\0', sizeof(headers.id)));
    if (headers.status != 200 && headers.status != 206 && headers.status != 416)
        return 0;
    find(&headers, false, 0, 65536);
    find(&headers, false, 3, 5);
    find(&headers, true, 0, 5);
    find(&headers, false, UINT64_MAX - 10, 5);
    return 0;
}
