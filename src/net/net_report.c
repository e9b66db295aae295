/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_MAX_LEN = URL_MAX + AWS_WHY_MAX + 512
};

/* Append to a line; cut the text if it does not fit. */
__attribute__((format(printf, 2, 3))) static void append(
    char line[LINE_MAX_LEN], const char *format, ...)
{
    size_t len = strlen(line);
    va_list args;

    va_start(args, format);
    vsnprintf(line + len, LINE_MAX_LEN - len, format, args);
    va_end(args);
}

static void append_range(char line[LINE_MAX_LEN],
                         const struct net_request *request)
{
    if (request->method != NET_GET || request->whole)
        return;
    if (request->from_end)
        append(line, "last %zu bytes: ", request->len);
    else
        append(line, "%zu bytes at %" PRIu64 ": ", request->len, request->off);
}

static void append_reply(char line[LINE_MAX_LEN],
                         const struct net_transfer *transfer)
{
    const struct net_headers *headers = &transfer->headers;

    append(line, ", tries: %u, status: %u", transfer->ntries, headers->status);
    if (transfer->code[0] != '\0')
        append(line, ", error: %s", transfer->code);
    if (transfer->site && headers->region[0] != '\0')
        append(line, ", bucket's region: %s", headers->region);
    if (headers->id[0] != '\0')
        append(line, ", request id: %s", headers->id);
}

void net_report(const struct net_options *options,
                const struct net_transfer *transfer, const char *why)
{
    const struct net_request *request = transfer->request;
    char *name = options->report ? url_name(request->url) : NULL;
    char line[LINE_MAX_LEN] = "";

    if (!name)
        return;
    append(line, "%s: ", name);
    append_range(line, request);
    append(line, "%s", why);
    append_reply(line, transfer);
    options->report(line);
    free(name);
}

void net_report_refusal(const struct net_options *options,
                        const struct net_transfer *transfer)
{
    if (transfer->code[0] != '\0' &&
        strcmp(transfer->code, "AccessDenied") != 0)
        net_report(options, transfer, "the server refuses the request");
}
