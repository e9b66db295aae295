/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/net_transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/secret.h"
#include "net/url.h"

enum {
    BUFFER_LEN = 256 << 10, /* of a connection */
    ERROR_BODY_MAX = 65536, /* bytes of an error's body that are read to keep
                               its connection */
};

const struct url *net_transfer_own_url(const struct net_transfer *transfer)
{
    return transfer->site ? &transfer->mapped : transfer->request->url;
}

const struct url *net_transfer_url(const struct net_transfer *transfer)
{
    return transfer->target.host ? &transfer->target
                                 : net_transfer_own_url(transfer);
}

bool net_transfer_is_whole(const struct net_transfer *transfer)
{
    return transfer->request->whole && transfer->headers.status / 100 == 2;
}

bool net_transfer_has_object(unsigned status)
{
    return status == 200 || status == 206 || status == 416;
}

static size_t take_header(char *line, size_t size, size_t n, void *context)
{
    struct net_transfer *transfer = context;

    net_headers_parse(&transfer->headers, line, size * n);
    return size * n;
}

void net_transfer_find(struct net_transfer *transfer)
{
    if (transfer->found || transfer->wrong < 0)
        return;
    transfer->wrong = net_headers_find(&transfer->headers, transfer->request,
                                       &transfer->span);
    transfer->found = transfer->wrong == 0;
}

/* Store the wanted part of some bytes of the body. */
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

/* Store all bytes of an answer. */
static size_t store_whole(struct net_transfer *transfer, const char *bytes,
                          size_t len)
{
    const struct net_request *request = transfer->request;

    transfer->nseen += len;
    if (!request->buf)
        return transfer->nseen <= ERROR_BODY_MAX ? len : 0;
    if (len > request->len - transfer->nstored) {
        transfer->wrong = -EFBIG;
        return 0;
    }
    memcpy(request->buf + transfer->nstored, bytes, len);
    transfer->nstored += len;
    return len;
}

/* Keep the start of an error that a site describes. */
static void keep_error(struct net_transfer *transfer, const char *bytes,
                       size_t len)
{
    if (!transfer->site)
        return;
    if (len > sizeof(transfer->error) - transfer->error_len)
        len = sizeof(transfer->error) - transfer->error_len;
    memcpy(transfer->error + transfer->error_len, bytes, len);
    transfer->error_len += len;
}

/* Returning less than was given ends the try. */
static size_t take_body(char *bytes, size_t size, size_t n, void *context)
{
    struct net_transfer *transfer = context;
    size_t len = size * n;

    net_gauge_receive(transfer->gauge, len);
    if (net_transfer_is_whole(transfer))
        return store_whole(transfer, bytes, len);
    if (!net_transfer_has_object(transfer->headers.status) ||
        transfer->headers.status == 416) {
        keep_error(transfer, bytes, len);
        transfer->nseen += len;
        return transfer->nseen <= ERROR_BODY_MAX ? len : 0;
    }
    net_transfer_find(transfer);
    if (!transfer->found)
        return 0;
    store_bytes(transfer, bytes, len);
    transfer->satisfied = is_satisfied(transfer);
    return transfer->satisfied ? 0 : len;
}

/* Did the user not name the server?  Those of S3 are named by the user's
   settings. */
static bool is_foreign(const struct net_transfer *transfer)
{
    return transfer->nredirects > 0 ||
           (transfer->request->url->foreign && !transfer->site);
}

/* Only a user may name addresses that only this machine can reach. */
static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    const struct net_transfer *transfer = context;

    (void)purpose;
    if (is_foreign(transfer) && url_is_internal_address(&address->addr))
        return CURL_SOCKET_BAD;
    return socket(address->family, address->socktype | SOCK_CLOEXEC,
                  address->protocol);
}

/* libcurl is about to send the request.  If a connection that it had kept is
   lost before the reply comes, it does so twice in one try. */
static int note_sending(void *context, char *ip, char *local_ip, int port,
                        int local_port)
{
    struct net_transfer *transfer = context;
    bool again = transfer->sent;

    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    if (again && transfer->request->once)
        return CURL_PREREQFUNC_ABORT;
    transfer->ntries += again;
    transfer->sent = true;
    return CURL_PREREQFUNC_OK;
}

static int append_line(struct net_transfer *transfer, const char *line)
{
    struct curl_slist *lines = libcurl.curl_slist_append(transfer->lines, line);

    if (!lines)
        return -ENOMEM;
    transfer->lines = lines;
    return 0;
}

static int add_line(struct net_transfer *transfer, const char *format,
                    const char *value)
{
    char line[NET_ETAG_MAX + 32];

    snprintf(line, sizeof(line), format, value);
    return append_line(transfer, line);
}

/* A weak tag equals no other, RFC 9110, 13.1.1, so the caller compares it
   itself. */
static int set_lines(struct net_transfer *transfer)
{
    const char *tag = transfer->request->if_match;
    const char *const *lines = transfer->request->lines;
    int r = 0;

    /* Send a body at once, and not only when the server has asked for it. */
    if (transfer->request->body_len > 0)
        r = append_line(transfer, "Expect:");
    if (r == 0 && !transfer->request->whole && tag && tag[0] == '"')
        r = add_line(transfer, "If-Match: %s", tag);
    for (size_t i = 0; r == 0 && lines && lines[i]; i++)
        r = append_line(transfer, lines[i]);
    for (size_t i = 0; r == 0 && i < transfer->signed_.lines.n; i++)
        r = append_line(transfer, transfer->signed_.lines.line[i]);
    if (r == 0)
        libcurl.curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER,
                                 transfer->lines);
    return r;
}

static size_t send_body(char *bytes, size_t size, size_t n, void *context)
{
    struct net_transfer *transfer = context;
    const struct net_request *request = transfer->request;
    size_t len = request->body_len - transfer->nsent;

    if (len > size * n)
        len = size * n;
    if (len > 0)
        memcpy(bytes, (const char *)request->body + transfer->nsent, len);
    transfer->nsent += len;
    return len;
}

static void set_method(struct net_transfer *transfer)
{
    const struct net_request *request = transfer->request;
    CURL *easy = transfer->easy;

    switch (request->method) {
    case NET_GET:
        return;
    case NET_HEAD:
        libcurl.curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    case NET_PUT:
        libcurl.curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        libcurl.curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE,
                                 (curl_off_t)request->body_len);
        libcurl.curl_easy_setopt(easy, CURLOPT_READFUNCTION, send_body);
        libcurl.curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
        return;
    case NET_POST:
        libcurl.curl_easy_setopt(easy, CURLOPT_POST, 1L);
        libcurl.curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                 (curl_off_t)request->body_len);
        libcurl.curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
                                 request->body ? request->body : "");
        return;
    case NET_DELETE:
        libcurl.curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        return;
    }
}

static void set_range(struct net_transfer *transfer)
{
    const struct net_request *request = transfer->request;
    char range[64];

    if (request->method != NET_GET || request->whole)
        return;
    if (request->from_end)
        snprintf(range, sizeof(range), "-%zu", request->len);
    else
        snprintf(range, sizeof(range), "%" PRIu64 "-%" PRIu64, request->off,
                 request->off + request->len - 1);
    libcurl.curl_easy_setopt(transfer->easy, CURLOPT_RANGE, range);
}

static void set_limits(struct net_transfer *transfer)
{
    const struct net_options *options = transfer->options;
    long stall = options->timeout > 2 ? options->timeout / 2 : 1;
    CURL *easy = transfer->easy;

    libcurl.curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, stall);
    libcurl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    libcurl.curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, stall);
    libcurl.curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT,
                             transfer->new_connection ? 1L : 0L);
    libcurl.curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_LEN);
    libcurl.curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* The loop must not wait for the thread that looks up a name. */
    libcurl.curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    if (options->cacert[0] != '\0')
        libcurl.curl_easy_setopt(easy, CURLOPT_CAINFO, options->cacert);
}

static bool is_own_server(const struct net_transfer *transfer)
{
    return url_same_origin(net_transfer_url(transfer),
                           net_transfer_own_url(transfer));
}

/* A request that is signed, or for credentials, needs no password. */
static void set_protocol(struct net_transfer *transfer)
{
    CURL *easy = transfer->easy;
    bool own = !transfer->site && !transfer->request->whole &&
               !transfer->request->url->foreign && is_own_server(transfer);

    libcurl.curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    libcurl.curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                             (long)CURL_HTTP_VERSION_1_1);
    libcurl.curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    if (transfer->request->direct)
        libcurl.curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    libcurl.curl_easy_setopt(easy, CURLOPT_USERAGENT,
                             "framefs/" FRAMEFS_VERSION);
    libcurl.curl_easy_setopt(
        easy, CURLOPT_NETRC,
        (long)(own ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED));
}

static void set_callbacks(struct net_transfer *transfer)
{
    CURL *easy = transfer->easy;

    libcurl.curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    libcurl.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    libcurl.curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    libcurl.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
    libcurl.curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    libcurl.curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    libcurl.curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer);
    libcurl.curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, note_sending);
    libcurl.curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer);
}

static int set_url(struct net_transfer *transfer)
{
    char *text = url_text(net_transfer_url(transfer));
    CURLcode code = CURLE_OUT_OF_MEMORY;

    if (text)
        code = libcurl.curl_easy_setopt(transfer->easy, CURLOPT_URL, text);
    secret_free(text);
    return code == CURLE_OK ? 0 : -ENOMEM;
}

static const char *method_name(enum net_method method)
{
    static const char *const names[] = {
        [NET_GET] = "GET",   [NET_HEAD] = "HEAD",     [NET_PUT] = "PUT",
        [NET_POST] = "POST", [NET_DELETE] = "DELETE",
    };

    return names[method];
}

static int sign(struct net_transfer *transfer, char why[AWS_WHY_MAX])
{
    const struct s3_unsigned request = {
        .method = method_name(transfer->request->method),
        .url = net_transfer_url(transfer),
        .payload = transfer->payload,
        .lines = transfer->request->lines,
    };

    why[0] = '\0';
    if (!transfer->site)
        return 0;
    return s3_site_sign(transfer->site, &request, &transfer->signed_, why);
}

int net_transfer_hash(struct net_transfer *transfer)
{
    const struct net_request *request = transfer->request;

    if (!transfer->site || transfer->options->anonymous)
        return 0;
    return sigv4_hash(request->body ? request->body : "", request->body_len,
                      transfer->payload);
}

int net_transfer_begin(struct net_transfer *transfer, char why[AWS_WHY_MAX])
{
    int r = sign(transfer, why);

    if (r < 0)
        return r;
    transfer->headers = (struct net_headers){ 0 };
    transfer->found = false;
    transfer->satisfied = false;
    transfer->wrong = 0;
    transfer->sent = false;
    transfer->nsent = 0;
    transfer->nseen = 0;
    transfer->nstored = 0;
    transfer->error_len = 0;
    transfer->code[0] = '\0';
    transfer->ntries++;
    transfer->easy = libcurl.curl_easy_init();
    r = transfer->easy ? set_url(transfer) : -ENOMEM;
    if (r == 0)
        r = set_lines(transfer);
    if (r < 0) {
        net_transfer_end(transfer);
        return r;
    }
    set_method(transfer);
    set_range(transfer);
    set_limits(transfer);
    set_protocol(transfer);
    set_callbacks(transfer);
    return 0;
}

/* Some lines are secrets. */
static void free_lines(struct net_transfer *transfer)
{
    for (struct curl_slist *line = transfer->lines; line; line = line->next)
        explicit_bzero(line->data, strlen(line->data));
    libcurl.curl_slist_free_all(transfer->lines);
    transfer->lines = NULL;
}

void net_transfer_end(struct net_transfer *transfer)
{
    libcurl.curl_easy_cleanup(transfer->easy);
    transfer->easy = NULL;
    free_lines(transfer);
    s3_signed_fini(&transfer->signed_);
}

void net_transfer_free(struct net_transfer *transfer)
{
    url_fini(&transfer->target);
    url_fini(&transfer->mapped);
    free(transfer);
}
