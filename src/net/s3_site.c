/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_site.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "net/credential_cache.h"
#include "net/percent.h"

static const char placeholder[] = "{bucket}";

struct s3_site {
    /* Constant. */
    struct aws_settings settings;
    struct credential_cache *cache; /* NULL: anonymous */
};

/* Put a bucket into the endpoint, where it says so. */
static int fill_in(const char *endpoint, const char *bucket, char **out)
{
    const char *at = strstr(endpoint, placeholder);
    int n;

    if (at)
        n = asprintf(out, "%.*s%s%s", (int)(at - endpoint), endpoint, bucket,
                     at + strlen(placeholder));
    else
        n = asprintf(out, "%s", endpoint);
    return n < 0 ? -ENOMEM : 0;
}

/* The server of AWS, which is another one in China. */
static int aws_endpoint(const char *region, const char *bucket, char **out)
{
    const char *tail = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    int n;

    if (strchr(bucket, '.'))
        n = asprintf(out, "https://s3.%s.amazonaws.com%s", region, tail);
    else
        n = asprintf(out, "https://%s.s3.%s.amazonaws.com%s", bucket, region,
                     tail);
    return n < 0 ? -ENOMEM : 0;
}

/* Is the bucket a part of the host? */
static bool is_virtual_host(const struct s3_site *site, const char *bucket)
{
    if (site->settings.endpoint)
        return strstr(site->settings.endpoint, placeholder) != NULL;
    return !strchr(bucket, '.');
}

/* Parse the URL of the server for a bucket. */
static int parse_endpoint(const struct s3_site *site, const char *bucket,
                          struct url *out)
{
    const char *why;
    char *text;
    int r;

    if (site->settings.endpoint)
        r = fill_in(site->settings.endpoint, bucket, &text);
    else
        r = aws_endpoint(site->settings.region, bucket, &text);
    if (r < 0)
        return r;
    r = url_parse(text, out, &why);
    free(text);
    if (r == 0 && (out->scheme == URL_S3 || out->query)) {
        url_fini(out);
        r = -EINVAL;
    }
    return r;
}

/* An endpoint with any bucket must be a URL, or no request could be made. */
static int check_endpoint(const struct s3_site *site, char why[AWS_WHY_MAX])
{
    struct url url;
    int r = parse_endpoint(site, "bucket", &url);

    if (r == 0)
        url_fini(&url);
    else
        snprintf(why, AWS_WHY_MAX, "%s",
                 r == -EINVAL ? "endpoint is no URL with http or https"
                              : strerror(-r));
    return r;
}

static int make_cache(const struct s3_options *options, struct s3_site *site,
                      char why[AWS_WHY_MAX])
{
    const struct credential_options from = {
        .profile = options->aws.profile,
        .region = site->settings.region,
        .fetcher = options->fetcher,
    };
    int r = 0;

    if (!options->anonymous)
        r = credential_cache_new(&from, CREDENTIAL_CACHE_PAUSE, &site->cache);
    if (r < 0)
        snprintf(why, AWS_WHY_MAX, "%s", strerror(-r));
    return r;
}

int s3_site_new(const struct s3_options *options, struct s3_site **out,
                char why[AWS_WHY_MAX])
{
    struct s3_site *site = calloc(1, sizeof(*site));
    int r;

    if (!site) {
        snprintf(why, AWS_WHY_MAX, "%s", strerror(ENOMEM));
        return -ENOMEM;
    }
    r = aws_settings_load(&options->aws, &site->settings, why);
    if (r == 0)
        r = check_endpoint(site, why);
    if (r == 0)
        r = make_cache(options, site, why);
    if (r < 0) {
        s3_site_free(site);
        return r;
    }
    *out = site;
    return 0;
}

void s3_site_free(struct s3_site *site)
{
    if (!site)
        return;
    credential_cache_free(site->cache);
    aws_settings_fini(&site->settings);
    free(site);
}

/* Write the path of an object behind the path of the server. */
static char *make_path(const char *base, const char *bucket, const char *key)
{
    size_t len = strlen(base);
    struct secret path = { 0 };
    char *out;

    while (len > 0 && base[len - 1] == '/')
        len--;
    secret_add_bytes(&path, base, len);
    if (bucket) {
        secret_add(&path, "/");
        secret_add(&path, bucket);
    }
    percent_recode(key, strlen(key), PERCENT_KEEP_SLASH, &path);
    out = secret_take(&path);
    return out;
}

int s3_site_map(const struct s3_site *site, const struct url *url,
                struct url *out)
{
    const char *bucket = url->host;
    struct url mapped;
    char *path;
    int r = parse_endpoint(site, bucket, &mapped);

    if (r < 0)
        return r;
    path = make_path(mapped.path, is_virtual_host(site, bucket) ? NULL : bucket,
                     url->path);
    free(mapped.path);
    mapped.path = path;
    if (url->query)
        mapped.query = strdup(url->query);
    if (!path || (url->query && !mapped.query))
        r = -ENOMEM;
    else if (strlen(path) > URL_MAX)
        r = -EINVAL;
    if (r < 0)
        url_fini(&mapped);
    else
        *out = mapped;
    return r;
}

/* The headers of a request that must be signed. */
struct headers {
    struct sigv4_header list[SIGV4_HEADERS_MAX];
    size_t n;
    char *copy[SIGV4_HEADERS_MAX]; /* their lines, cut at the colon */
};

static void headers_fini(struct headers *headers)
{
    for (size_t i = 0; i < headers->n; i++)
        free(headers->copy[i]);
}

static int headers_add(struct headers *headers, const char *line)
{
    char *copy;
    char *colon;

    if (strncasecmp(line, "x-amz-", strlen("x-amz-")) != 0)
        return 0;
    if (headers->n == SIGV4_HEADERS_MAX)
        return -EINVAL;
    copy = strdup(line);
    if (!copy)
        return -ENOMEM;
    headers->copy[headers->n] = copy;
    colon = strchr(copy, ':');
    if (colon)
        *colon++ = '\0';
    headers->list[headers->n++] = (struct sigv4_header){
        .name = copy,
        .value = colon ? colon + strspn(colon, " ") : "",
    };
    return 0;
}

/* Sign the request with some of its headers. */
static int sign_with(struct sigv4_request *request, const char *const *lines,
                     const struct sigv4_key *key,
                     const struct sigv4_scope *scope, struct sigv4_lines *out)
{
    struct headers headers = { .n = 0 };
    int r = 0;

    for (size_t i = 0; r == 0 && lines && lines[i]; i++)
        r = headers_add(&headers, lines[i]);
    request->headers = headers.list;
    request->nheaders = headers.n;
    if (r == 0)
        r = sigv4_sign(request, key, scope, out);
    headers_fini(&headers);
    return r;
}

static int sign(const struct s3_site *site, const struct s3_unsigned *from,
                struct s3_signed *out)
{
    const struct sigv4_key key = { .id = out->used.id,
                                   .secret = out->used.secret,
                                   .token = out->used.token };
    const struct sigv4_scope scope = { .region = site->settings.region,
                                       .service = "s3",
                                       .time = time(NULL) };
    struct sigv4_request request = { .method = from->method,
                                     .path = from->url->path,
                                     .query = from->url->query,
                                     .payload = from->payload };
    char *host = url_host(from->url); /* as libcurl sends it */
    int r;

    if (!host)
        return -ENOMEM;
    request.host = host;
    r = sign_with(&request, from->lines, &key, &scope, &out->lines);
    free(host);
    return r;
}

int s3_site_sign(struct s3_site *site, const struct s3_unsigned *request,
                 struct s3_signed *out, char why[AWS_WHY_MAX])
{
    struct s3_signed made = { 0 };
    int r;

    *out = made;
    if (!site->cache)
        return 0;
    r = credential_cache_poll(site->cache, &made.used, why);
    if (r < 0)
        return r;
    r = sign(site, request, &made);
    if (r < 0) {
        snprintf(why, AWS_WHY_MAX, "%s", strerror(-r));
        s3_signed_fini(&made);
        return r;
    }
    *out = made;
    return 0;
}

void s3_signed_fini(struct s3_signed *signed_)
{
    sigv4_fini(&signed_->lines);
    credentials_fini(&signed_->used);
}

bool s3_site_refuse(struct s3_site *site, const struct s3_signed *signed_)
{
    return site->cache && signed_->used.id &&
           credential_cache_refuse(site->cache, &signed_->used);
}
