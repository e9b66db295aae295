/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_headers.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "net/curl.h"

/* An object up to this size is taken whole from a server that knows no
   ranges. */
static const uint64_t whole_max = 1 << 20;

/* A part of a line. */
struct text {
    const char *at;
    size_t len;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct text trim(struct text text)
{
    while (text.len > 0 && is_blank(text.at[0])) {
        text.at++;
        text.len--;
    }
    while (text.len > 0 && is_blank(text.at[text.len - 1]))
        text.len--;
    return text;
}

/* Take a decimal number off the start of a text.  Returns false if there is
   none, or if it does not fit 63 bits. */
static bool take_number(struct text *text, uint64_t *out)
{
    uint64_t number = 0;
    size_t i = 0;

    while (i < text->len && text->at[i] >= '0' && text->at[i] <= '9') {
        if (i == 18)
            return false;
        number = 10 * number + (uint64_t)(text->at[i++] - '0');
    }
    text->at += i;
    text->len -= i;
    *out = number;
    return i > 0;
}

static bool take_char(struct text *text, char c)
{
    if (text->len == 0 || text->at[0] != c)
        return false;
    text->at++;
    text->len--;
    return true;
}

static bool take_word(struct text *text, const char *word)
{
    size_t len = strlen(word);

    if (text->len < len || strncasecmp(text->at, word, len) != 0)
        return false;
    text->at += len;
    text->len -= len;
    return true;
}

static void parse_status(struct net_headers *headers, struct text rest)
{
    uint64_t status;

    while (rest.len > 0 && !is_blank(rest.at[0])) {
        rest.at++;
        rest.len--;
    }
    rest = trim(rest);
    *headers = (struct net_headers){ 0 };
    if (take_number(&rest, &status) && status <= 999)
        headers->status = (unsigned)status;
}

/* RFC 9110, 14.4. */
static void parse_range(struct net_headers *headers, struct text value)
{
    struct net_headers seen = { 0 };

    headers->has_range = false;
    headers->has_size = false;
    if (!take_word(&value, "bytes "))
        return;
    value = trim(value);
    if (!take_char(&value, '*')) {
        seen.has_range = take_number(&value, &seen.first) &&
                         take_char(&value, '-') &&
                         take_number(&value, &seen.last);
        if (!seen.has_range || seen.last < seen.first)
            return;
    }
    if (!take_char(&value, '/') || !take_number(&value, &seen.size) ||
        value.len > 0 || (seen.has_range && seen.last >= seen.size))
        return;
    headers->has_range = seen.has_range;
    headers->first = seen.first;
    headers->last = seen.last;
    headers->has_size = true;
    headers->size = seen.size;
}

static void parse_length(struct net_headers *headers, struct text value)
{
    headers->has_length =
        take_number(&value, &headers->length) && value.len == 0;
}

/* RFC 9110, 8.8.3. */
static void parse_etag(struct net_headers *headers, struct text value)
{
    struct text rest = value;

    headers->etag[0] = '\0';
    if (value.len >= sizeof(headers->etag))
        return;
    take_word(&rest, "W/");
    if (rest.len < 2 || rest.at[0] != '"' || rest.at[rest.len - 1] != '"')
        return;
    for (size_t i = 1; i + 1 < rest.len; i++)
        if ((unsigned char)rest.at[i] <= ' ' || rest.at[i] == '"' ||
            rest.at[i] == 0x7f)
            return;
    memcpy(headers->etag, value.at, value.len);
    headers->etag[value.len] = '\0';
}

static time_t parse_time(struct text value)
{
    char date[64];
    time_t time;

    if (value.len >= sizeof(date))
        return 0;
    memcpy(date, value.at, value.len);
    date[value.len] = '\0';
    time = curl_load() ? libcurl.curl_getdate(date, NULL) : -1;
    return time > 0 ? time : 0;
}

static void parse_modified(struct net_headers *headers, struct text value)
{
    headers->modified = parse_time(value);
}

static void parse_date(struct net_headers *headers, struct text value)
{
    headers->date = parse_time(value);
}

/* Copy what goes to a log, so it may have only harmless characters. */
static void copy_word(struct text value, char out[NET_ID_MAX])
{
    size_t len = value.len < NET_ID_MAX - 1 ? value.len : NET_ID_MAX - 1;

    for (size_t i = 0; i < len; i++)
        out[i] = value.at[i] > ' ' && value.at[i] < 0x7f ? value.at[i] : '?';
    out[len] = '\0';
}

static void parse_id(struct net_headers *headers, struct text value)
{
    copy_word(value, headers->id);
}

static void parse_region(struct net_headers *headers, struct text value)
{
    copy_word(value, headers->region);
}

static void parse_put_id(struct net_headers *headers, struct text value)
{
    copy_word(value, headers->put_id);
}

static void parse_encoding(struct net_headers *headers, struct text value)
{
    headers->encoded = !(take_word(&value, "identity") && value.len == 0);
}

struct header {
    const char *name;
    void (*parse)(struct net_headers *headers, struct text value);
};

static const struct header known[] = {
    { "content-encoding", parse_encoding },
    { "content-length", parse_length },
    { "content-range", parse_range },
    { "date", parse_date },
    { "etag", parse_etag },
    { "last-modified", parse_modified },
    { "x-amz-request-id", parse_id },
    { "x-amz-bucket-region", parse_region },
    { "x-request-id", parse_id },
    { NET_PUT_ID, parse_put_id },
};

void net_headers_parse(struct net_headers *headers, const char *line,
                       size_t len)
{
    struct text rest = { line, len };

    if (take_word(&rest, "HTTP/")) {
        parse_status(headers, rest);
        return;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        rest = (struct text){ line, len };
        if (take_word(&rest, known[i].name) && take_char(&rest, ':')) {
            known[i].parse(headers, trim(rest));
            return;
        }
    }
}

/* The range of an object of this size that a request wants. */
static struct net_span wanted(const struct net_request *request, uint64_t size)
{
    struct net_span span = { .off = request->off, .size = size };
    uint64_t rest;

    if (request->from_end)
        span.off = size > request->len ? size - request->len : 0;
    if (span.off > size)
        span.off = size;
    rest = size - span.off;
    span.take = rest < request->len ? (size_t)rest : request->len;
    return span;
}

static int find_part(const struct net_headers *headers,
                     const struct net_request *request, struct net_span *out)
{
    struct net_span span = wanted(request, headers->size);

    if (!headers->has_range || span.take == 0 || headers->first != span.off ||
        headers->last - headers->first != span.take - 1)
        return -EBADMSG;
    if (headers->has_length && headers->length != span.take)
        return -EBADMSG;
    *out = span;
    return 0;
}

static int find_in_whole(const struct net_headers *headers,
                         const struct net_request *request,
                         struct net_span *out)
{
    struct net_span span = wanted(request, headers->length);

    if (!headers->has_length || headers->has_range)
        return -EBADMSG;
    span.skip = span.off;
    if (span.skip > 0 && span.size > whole_max)
        return -ENOTSUP;
    *out = span;
    return 0;
}

/* A range that begins at the end of the object, or behind it.  An empty object
   has no other ranges; some servers do not even say its size. */
static int find_nothing(const struct net_headers *headers,
                        const struct net_request *request, struct net_span *out)
{
    uint64_t size = headers->has_size ? headers->size : 0;
    struct net_span span = wanted(request, size);

    if (span.take > 0 || (!headers->has_size && request->off > 0))
        return -EBADMSG;
    *out = span;
    return 0;
}

int net_headers_find(const struct net_headers *headers,
                     const struct net_request *request, struct net_span *out)
{
    if (headers->encoded)
        return -EBADMSG;
    if (request->method == NET_HEAD) {
        if (headers->status != 200 || !headers->has_length)
            return -EBADMSG;
        *out = (struct net_span){ .size = headers->length };
        return 0;
    }
    switch (headers->status) {
    case 200:
        return find_in_whole(headers, request, out);
    case 206:
        return find_part(headers, request, out);
    default:
        return find_nothing(headers, request, out);
    }
}
