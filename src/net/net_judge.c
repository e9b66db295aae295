/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/s3_reply.h"
#include "net/secret.h"

enum {
    REDIRECTS_MAX = 5
};

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
    if (url_is_internal(to) &&
        !url_same_origin(to, net_transfer_own_url(transfer)))
        return "redirect to a link-local address";
    /* Another server must not get a signature, or a token. */
    if ((transfer->signed_.used.id || transfer->request->lines) &&
        !url_same_origin(to, net_transfer_own_url(transfer)))
        return "redirect of a signed request to another server";
    return NULL;
}

/* Get the URL that a reply redirects to.  A fragment means nothing to us. */
static const char *get_redirect(struct net_transfer *transfer, struct url *out)
{
    const char *why = "redirect to nowhere";
    char *text = NULL;

    libcurl.curl_easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &text);
    text = text ? strdup(text) : NULL;
    if (!text)
        return why;
    text[strcspn(text, "#")] = '\0';
    if (url_parse(text, out, &why) < 0)
        why = "redirect to a URL that is not supported";
    secret_free(text);
    return why;
}

/* Find the message of a site about an error. */
static void parse_error(struct net_transfer *transfer)
{
    struct fault fault;
    struct s3_error error;

    if (transfer->error_len > 0 &&
        s3_error_parse(transfer->error, transfer->error_len, &error, &fault) ==
            0)
        memcpy(transfer->code, error.code, sizeof(transfer->code));
}

static void judge_redirect(struct net_transfer *transfer,
                           struct net_result *out)
{
    struct url to = { 0 };
    const char *why = "too many redirects";

    parse_error(transfer);

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

static void judge_refusal(const struct net_transfer *transfer,
                          struct net_result *out)
{
    if (transfer->site && !transfer->renewed &&
        s3_site_refuse(transfer->site, &transfer->signed_))
        out->verdict = NET_RENEW;
    else
        finish(out, -EACCES, NULL);
}

static void judge_status(const struct net_transfer *transfer,
                         struct net_result *out)
{
    curl_off_t seconds = 0;

    libcurl.curl_easy_getinfo(transfer->easy, CURLINFO_RETRY_AFTER, &seconds);
    if (seconds > 0 && seconds <= INT32_MAX)
        out->pause_ns = (int64_t)seconds * 1000000000;
    if (s3_error_space(transfer->code) < 0) {
        finish(out, s3_error_space(transfer->code), NULL);
        return;
    }
    switch (transfer->headers.status) {
    case 404:
    case 410:
        finish(out, -ENOENT, NULL);
        return;
    case 401:
    case 403:
    case 407:
        judge_refusal(transfer, out);
        return;
    case 409:
        if (s3_error_is_busy(transfer->code)) {
            retry(out, NET_FAILING, "another request changes the object");
            return;
        }
        finish(out, -ESTALE, NULL);
        return;
    case 412:
        finish(out, -ESTALE, NULL);
        return;
    case 501: /* of an unknown condition, too */
        finish(out, -ENOTSUP, NULL);
        return;
    case 507:
        finish(out, -ENOSPC, NULL);
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
        finish(out, -EIO, libcurl.curl_easy_strerror(code));
        return;
    case CURLE_OPERATION_TIMEDOUT:
        retry(out, NET_SLOW, "the server does not answer");
        return;
    case CURLE_PARTIAL_FILE:
        retry(out, NET_WRONG, "the reply is too short");
        return;
    default:
        retry(out, NET_CONNECTION, libcurl.curl_easy_strerror(code));
        return;
    }
}

static void judge_object(struct net_transfer *transfer, CURLcode code,
                         struct net_result *out)
{
    net_transfer_find(transfer);
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

static void judge_whole(struct net_transfer *transfer, CURLcode code,
                        struct net_result *out)
{
    transfer->span = (struct net_span){ .take = transfer->nstored,
                                        .size = transfer->nstored };
    if (transfer->wrong < 0)
        finish(out, -EIO, "the reply is too long");
    else if (code != CURLE_OK)
        judge_code(code, out);
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
        .date = headers->date,
        .redirected = transfer->nredirects > 0,
    };
    memcpy(reply->etag, headers->etag, sizeof(reply->etag));
    memcpy(reply->put_id, headers->put_id, sizeof(reply->put_id));
}

/* Measure a try, without the time for a new connection.  The time at which
   libcurl says that it has sent the request is too late if the loop was
   late. */
static void measure(CURL *easy, struct net_result *out)
{
    curl_off_t connected = 0;
    curl_off_t secured = 0;
    curl_off_t first = 0;
    curl_off_t total = 0;
    long nconnects = 0;

    libcurl.curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &nconnects);
    libcurl.curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected);
    libcurl.curl_easy_getinfo(easy, CURLINFO_APPCONNECT_TIME_T, &secured);
    libcurl.curl_easy_getinfo(easy, CURLINFO_STARTTRANSFER_TIME_T, &first);
    libcurl.curl_easy_getinfo(easy, CURLINFO_TOTAL_TIME_T, &total);
    out->body_us = total > first ? total - first : 0;
    if (nconnects > 0)
        first -= secured > connected ? secured : connected;
    out->first_us = first > 0 ? first : 0;
}

/* May the server have done already what it would be asked for again? */
static bool would_repeat(const struct net_transfer *transfer,
                         const struct net_result *result)
{
    return transfer->request->once && transfer->sent &&
           result->verdict == NET_RETRY && result->cause != NET_BUSY;
}

void net_judge(struct net_transfer *transfer, CURLcode code,
               struct net_result *out)
{
    unsigned status = transfer->headers.status;

    *out = (struct net_result){ 0 };
    measure(transfer->easy, out);
    if (net_transfer_is_whole(transfer)) {
        judge_whole(transfer, code, out);
    } else if (net_transfer_has_object(status)) {
        judge_object(transfer, code, out);
    } else if (status >= 300 && status < 400) {
        judge_redirect(transfer, out);
    } else if (status >= 400) {
        parse_error(transfer);
        judge_status(transfer, out);
    } else {
        judge_code(code != CURLE_OK ? code : CURLE_WEIRD_SERVER_REPLY, out);
    }
    if (would_repeat(transfer, out))
        finish(out, -EIO, out->why);
    if (out->verdict == NET_FINISH && out->error == 0)
        fill_reply(transfer);
}
