/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/url.h"

enum {
    REDIRECTS_MAX = 5,
    BUFFER_LEN = 256 << 10, /* of a connection */
    ERROR_BODY_MAX = 65536, /* bytes of an error's body that are read to keep
                               its connection */
};

const struct url *net_transfer_url(const struct net_transfer *transfer)
{
    return transfer->target.host ? &transfer->target : transfer->request->url;
}

static bool has_object(unsigned status)
{
    return status == 200 || status == 206 || status == 416;
}

static size_t take_header(char *line, size_t size, size_t n, void *context)
{
    struct net_transfer *transfer = context;

    net_headers_parse(&transfer->headers, line, size * n);
    return size * n;
}

/* Find out which bytes of the body are wanted, once all headers are there. */
static void find_span(struct net_transfer *transfer)
{
    if (transfer->found || transfer->wrong < 0)
        return;
    transfer->wrong = net_headers_find(&transfer->headers, transfer->request,
                                       &transfer->span);
    transfer->found = transfer->wrong == 0;
}

/* Store what is wanted of some bytes of the body. */
static void store_bytes(struct net_transfer *transfer, const char *bytes,
                        size_t len)
{
    const struct net_span *span = &transfer->span;
    uint64_t skip = 0;

    if (transfer->nseen < span->skip)
        skip = span->skip - transfer->nseen;
    transfer->nseen += len;
    if (skip >= len)
        return;
    bytes += skip;
    len -= (size_t)skip;
    if (len > span->take - transfer->nstored)
        len = span->take - transfer->nstored;
    if (len > 0)
        memcpy(transfer->request->buf + transfer->nstored, bytes, len);
    transfer->nstored += len;
}

/* Is a whole object coming, of which no more is needed? */
static bool is_satisfied(const struct net_transfer *transfer)
{
    return transfer->headers.status == 200 &&
           transfer->nstored == transfer->span.take &&
           transfer->span.skip + transfer->span.take < transfer->span.size;
}

/* Returning less than was given ends the try. */
static size_t take_body(char *bytes, size_t size, size_t n, void *context)
{
    struct net_transfer *transfer = context;
    size_t len = size * n;

    if (!has_object(transfer->headers.status) ||
        transfer->headers.status == 416) {
        transfer->nseen += len;
        return transfer->nseen <= ERROR_BODY_MAX ? len : 0;
    }
    find_span(transfer);
    if (!transfer->found)
        return 0;
    store_bytes(transfer, bytes, len);
    transfer->satisfied = is_satisfied(transfer);
    return transfer->satisfied ? 0 : len;
}

/* A redirect must not lead to addresses that only this machine can reach, unless
   the user has named them. */
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    const struct net_transfer *transfer = context;

    (void)purpose;
    if (transfer->nredirects > 0 && url_is_internal_address(&address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

static int add_line(struct net_transfer *transfer, const char *format,
                    const char *value)
{
    struct curl_slist *lines;
    char line[NET_ETAG_MAX + 32];

    snprintf(line, sizeof(line), format, value);
    lines = curl_slist_append(transfer->lines, line);
    if (!lines)
        return -ENOMEM;
    transfer->lines = lines;
    return 0;
}

/* A weak tag equals no other, RFC 9110, 13.1.1, so the caller compares it
   itself. */
static int set_lines(struct net_transfer *transfer)
{
    const char *tag = transfer->request->if_match;
    int r = 0;

    if (tag && tag[0] == '"')
        r = add_line(transfer, "If-Match: %s", tag);
    if (r == 0)
        curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->lines);
    return r;
}

static void set_range(struct net_transfer *transfer)
{
    const struct net_request *request = transfer->request;
    char range[64];

    if (request->method == NET_HEAD) {
        curl_easy_setopt(transfer->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (request->from_end)
        snprintf(range, sizeof(range), "-%zu", request->len);
    else
        snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, request->off,
                 request->off + request->len - 1);
    curl_easy_setopt(transfer->easy, CURLOPT_RANGE, range);
}

static void set_limits(struct net_transfer *transfer)
{
    const struct net_options *options = transfer->options;
    long stall = options->timeout > 2 ? options->timeout / 2 : 1;
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, stall);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, transfer->fresh ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_LEN);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    if (options->cacert[0] != '\0')
        curl_easy_setopt(easy, CURLOPT_CAINFO, options->cacert);
}

static void set_protocol(struct net_transfer *transfer)
{
    CURL *easy = transfer->easy;
    bool own =
        url_same_origin(net_transfer_url(transfer), transfer->request->url);

    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "framefs/" FRAMEFS_VERSION);
    curl_easy_setopt(easy, CURLOPT_NETRC,
                     (long)(own ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
}

static void set_callbacks(struct net_transfer *transfer)
{
    CURL *easy = transfer->easy;

    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
}

static int set_url(struct net_transfer *transfer)
{
    char *text = url_text(net_transfer_url(transfer));
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (text)
        code = curl_easy_setopt(transfer->easy, CURLOPT_URL, text);
    free(text);
    return code == CURLE_OK ? 0 : -ENOMEM;
}

int net_transfer_begin(struct net_transfer *transfer)
{
    int r;

    transfer->headers = (struct net_headers){ 0 };
    transfer->found = false;
    transfer->satisfied = false;
    transfer->wrong = 0;
    transfer->nseen = 0;
    transfer->nstored = 0;
    transfer->ntries++;
    transfer->easy = curl_easy_init();
    if (!transfer->easy)
        return -ENOMEM;
    r = set_url(transfer);
    if (r == 0)
        r = set_lines(transfer);
    if (r < 0) {
        net_transfer_end(transfer);
        return r;
    }
    set_range(transfer);
    set_limits(transfer);
    set_protocol(transfer);
    set_callbacks(transfer);
    return 0;
}

void net_transfer_end(struct net_transfer *transfer)
{
    curl_easy_cleanup(transfer->easy);
    curl_slist_free_all(transfer->lines);
    transfer->easy = NULL;
    transfer->lines = NULL;
}

static void finish(struct net_result *out, int error, const char *why)
{
    out->verdict = NET_FINISH;
    out->error = error;
    out->why = why;
}

static void retry(struct net_result *out, enum net_cause cause, const char *why)
{
    out->verdict = NET_RETRY;
    out->error = -EIO;
    out->cause = cause;
    out->why = why;
}

/* Why a redirect is not followed; NULL: it is. */
static const char *check_redirect(const struct net_transfer *transfer,
                                  const struct url *to)
{
    const struct url *from = net_transfer_url(transfer);

    if (to->scheme == URL_S3)
        return "redirect to another protocol";
    if (from->scheme == URL_HTTPS && to->scheme == URL_HTTP)
        return "redirect from https to http";
    if (url_is_internal(to) && !url_same_origin(to, transfer->request->url))
        return "redirect to a link-local address";
    return NULL;
}

/* Get the URL that a reply redirects to.  A fragment means nothing to us. */
static const char *get_redirect(struct net_transfer *transfer, struct url *out)
{
    const char *why = "redirect to nowhere";
    char *text = NULL;

    curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &text);
    text = text ? strdup(text) : NULL;
    if (!text)
        return why;
    text[strcspn(text, "#")] = '\0';
    if (url_parse(text, out, &why) < 0)
        why = "redirect to a URL that is not supported";
    free(text);
    return why;
}

static void judge_redirect(struct net_transfer *transfer,
                           struct net_result *out)
{
    struct url to = { 0 };
    const char *why = "too many redirects";

    if (transfer->nredirects < REDIRECTS_MAX)
        why = get_redirect(transfer, &to);
    if (!why)
        why = check_redirect(transfer, &to);
    if (why) {
        url_fini(&to);
        finish(out, -EIO, why);
        return;
    }
    url_fini(&transfer->target);
    transfer->target = to;
    transfer->nredirects++;
    out->verdict = NET_FOLLOW;
}

static void judge_status(const struct net_transfer *transfer,
                         struct net_result *out)
{
    curl_off_t seconds = 0;

    curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0 && seconds <= INT32_MAX)
        out->pause_ns = (int64_t)seconds * 1000000000;
    switch (transfer->headers.status) {
    case 404:
    case 410:
        finish(out, -ENOENT, NULL);
        return;
    case 401:
    case 403:
    case 407:
        finish(out, -EACCES, NULL);
        return;
    case 412:
        finish(out, -ESTALE, NULL);
        return;
    case 429:
    case 503:
        retry(out, NET_BUSY, "the server is busy");
        return;
    case 408:
        retry(out, NET_FAILING, "the server fails");
        return;
    default:
        break;
    }
    if (transfer->headers.status >= 500)
        retry(out, NET_FAILING, "the server fails");
    else
        finish(out, -EIO, "the server refuses the request");
}

static void judge_code(CURLcode code, struct net_result *out)
{
    switch (code) {
    case CURLE_OUT_OF_MEMORY:
        finish(out, -ENOMEM, NULL);
        return;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        finish(out, -EIO, curl_easy_strerror(code));
        return;
    case CURLE_OPERATION_TIMEDOUT:
        retry(out, NET_SLOW, "the server does not answer");
        return;
    case CURLE_PARTIAL_FILE:
        retry(out, NET_WRONG, "the reply is too short");
        return;
    default:
        retry(out, NET_CONNECTION, curl_easy_strerror(code));
        return;
    }
}

static void judge_object(struct net_transfer *transfer, CURLcode code,
                         struct net_result *out)
{
    find_span(transfer);
    if (transfer->wrong == -ENOTSUP)
        finish(out, -ENOTSUP, NULL);
    else if (transfer->wrong < 0)
        retry(out, NET_WRONG, "the reply is not the one asked for");
    else if (transfer->satisfied)
        finish(out, 0, NULL);
    else if (code != CURLE_OK)
        judge_code(code, out);
    else if (transfer->nstored != transfer->span.take)
        retry(out, NET_WRONG, "the reply is too short");
    else
        finish(out, 0, NULL);
}

static void fill_reply(const struct net_transfer *transfer)
{
    const struct net_headers *headers = &transfer->headers;
    struct net_reply *reply = &transfer->request->reply;

    *reply = (struct net_reply){
        .size = transfer->span.size,
        .off = transfer->span.off,
        .len = transfer->span.take,
        .modified = headers->modified,
        .redirected = transfer->nredirects > 0,
    };
    memcpy(reply->etag, headers->etag, sizeof(reply->etag));
}

void net_transfer_judge(struct net_transfer *transfer, CURLcode code,
                        struct net_result *out)
{
    unsigned status = transfer->headers.status;
    curl_off_t sent = 0;
    curl_off_t first = 0;

    *out = (struct net_result){ 0 };
    curl_easy_getinfo(transfer->easy, CURLINFO_PRETRANSFER_TIME_T, &sent);
    curl_easy_getinfo(transfer->easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
    out->first_us = first > sent ? first - sent : 0;
    if (has_object(status))
        judge_object(transfer, code, out);
    else if (status >= 300 && status < 400)
        judge_redirect(transfer, out);
    else if (status >= 400)
        judge_status(transfer, out);
    else
        judge_code(code != CURLE_OK ? code : CURLE_WEIRD_SERVER_REPLY, out);
    if (out->verdict == NET_FINISH && out->error == 0)
        fill_reply(transfer);
}
