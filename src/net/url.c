/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    PORT_MAX = 65535,
    HOST_MAX = 255,
    BUCKET_MIN = 3,
    BUCKET_MAX = 63,
};

struct scheme {
    const char *prefix;
    unsigned port;
};

/* By enum url_scheme. */
static const struct scheme schemes[] = {
    [URL_HTTP] = { "http://", 80 },
    [URL_HTTPS] = { "https://", 443 },
    [URL_S3] = { "s3://", 0 },
};

enum {
    NSCHEMES = sizeof(schemes) / sizeof(schemes[0])
};

/* The scheme with which a text begins, or NSCHEMES. */
static unsigned find_scheme(const char *text)
{
    unsigned i = 0;

    while (i < NSCHEMES &&
           strncasecmp(text, schemes[i].prefix, strlen(schemes[i].prefix)) != 0)
        i++;
    return i;
}

bool url_is(const char *name)
{
    return find_scheme(name) < NSCHEMES;
}

bool url_has_list(const char *name)
{
    return find_scheme(name) == URL_S3;
}

static bool is_alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z');
}

/* May the character stand in a path or query?  RFC 3986, 3.3 and 3.4. */
static bool is_path_char(char c)
{
    return is_alnum(c) || (c != '\0' && strchr("-._~!$&'()*+,;=:@/?%", c));
}

static const char *check_chars(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '#')
            return "a URL with a fragment (#) is not supported";
        if (!is_path_char(*text))
            return "URL has a character that must be encoded as %XX";
        if (*text != '%')
            continue;
        if (!isxdigit((unsigned char)text[1]) ||
            !isxdigit((unsigned char)text[2]))
            return "URL has a % that two hexadecimal digits do not follow";
        if (text[1] == '0' && text[2] == '0')
            return "URL has an encoded NUL";
    }
    return NULL;
}

/* Does the path have a segment "." or ".."?  Encoded dots count. */
static bool has_dots(const char *path, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        size_t ndots = 0;

        if (path[i] != '/')
            continue;
        while (i + 1 < len) {
            size_t dot = path[i + 1] == '.'                         ? 1
                         : strncasecmp(path + i + 1, "%2e", 3) == 0 ? 3
                                                                    : 0;

            if (dot == 0)
                break;
            i += dot;
            ndots++;
        }
        if ((ndots == 1 || ndots == 2) && (i + 1 >= len || path[i + 1] == '/'))
            return true;
    }
    return false;
}

static bool is_host_name(const char *host, size_t len)
{
    if (len == 0 || len > HOST_MAX || host[0] == '.' || host[0] == '-')
        return false;
    for (size_t i = 0; i < len; i++)
        if (!is_alnum(host[i]) && !strchr("-._", host[i]))
            return false;
    return true;
}

static bool is_address6(const char *host, size_t len)
{
    char text[INET6_ADDRSTRLEN];
    struct in6_addr address;

    if (len < 2 || len - 2 >= sizeof(text) || host[len - 1] != ']')
        return false;
    memcpy(text, host + 1, len - 2);
    text[len - 2] = '\0';
    return inet_pton(AF_INET6, text, &address) == 1;
}

/* Find the colon before the port; NULL if there is none. */
static const char *find_port(const char *host, size_t len)
{
    for (size_t i = len; i > 0 && host[i - 1] != ']'; i--)
        if (host[i - 1] == ':')
            return host + i - 1;
    return NULL;
}

static bool parse_port(const char *digits, size_t len, unsigned *out)
{
    unsigned port = 0;

    if (len == 0 || len > 5)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        port = 10 * port + (unsigned)(digits[i] - '0');
    }
    *out = port;
    return port > 0 && port <= PORT_MAX;
}

/* Check host and port, and store the port and the length of the host. */
static const char *parse_server(const char *text, size_t *len, unsigned *port)
{
    const char *colon = find_port(text, *len);
    size_t host_len = colon ? (size_t)(colon - text) : *len;

    if (memchr(text, '@', *len))
        return "a URL must not contain a user name or password; "
               "~/.netrc can have them";
    if (colon && !parse_port(colon + 1, *len - host_len - 1, port))
        return "URL has no valid port";
    if (text[0] == '[' ? !is_address6(text, host_len)
                       : !is_host_name(text, host_len))
        return "URL has no valid host";
    *len = host_len;
    return NULL;
}

static const char *check_bucket(const char *text, size_t len)
{
    if (len < BUCKET_MIN || len > BUCKET_MAX)
        return "name of a bucket has 3 to 63 characters";
    for (size_t i = 0; i < len; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') &&
            !(text[i] >= '0' && text[i] <= '9') && !strchr("-.", text[i]))
            return "name of a bucket has a character that is not allowed";
    return NULL;
}

/* A URL that is being parsed, in parts of its text. */
struct parts {
    const char *host;
    size_t host_len;
    unsigned port;
    const char *path;
    size_t path_len;
    const char *query; /* NULL: none */
};

static const char *split(const char *text, unsigned scheme, struct parts *out)
{
    const char *host = text + strlen(schemes[scheme].prefix);
    const char *path = host + strcspn(host, "/?#");
    const char *query = strchr(path, '?');
    const char *why;

    *out = (struct parts){
        .host = host,
        .host_len = (size_t)(path - host),
        .port = schemes[scheme].port,
        .path = path,
        .path_len = query ? (size_t)(query - path) : strlen(path),
        .query = query ? query + 1 : NULL,
    };
    if (scheme == URL_S3)
        why = check_bucket(host, out->host_len);
    else
        why = parse_server(host, &out->host_len, &out->port);
    if (why)
        return why;
    if (scheme == URL_S3 && query)
        return "a URL s3://BUCKET/KEY has no query";
    if (has_dots(out->path, out->path_len))
        return "URL has '.' or '..' in its path";
    return check_chars(path);
}

static void lower(char *text)
{
    for (; *text != '\0'; text++)
        if (*text >= 'A' && *text <= 'Z')
            *text = (char)(*text - 'A' + 'a');
}

static int copy_parts(const struct parts *parts, struct url *out)
{
    out->host = strndup(parts->host, parts->host_len);
    out->port = parts->port;
    out->path = parts->path_len > 0 ? strndup(parts->path, parts->path_len)
                                    : strdup("/");
    out->query = parts->query ? strdup(parts->query) : NULL;
    if (!out->host || !out->path || (parts->query && !out->query)) {
        url_fini(out);
        return -ENOMEM;
    }
    lower(out->host);
    return 0;
}

int url_parse(const char *text, struct url *out, const char **why)
{
    unsigned scheme = find_scheme(text);
    struct parts parts;
    struct url url = { 0 };
    int r;

    *why = NULL;
    if (scheme == NSCHEMES)
        *why = "is no URL with http, https or s3";
    else if (strlen(text) > URL_MAX)
        *why = "URL is too long";
    else
        *why = split(text, scheme, &parts);
    if (*why)
        return -EINVAL;
    url.scheme = (enum url_scheme)scheme;
    r = copy_parts(&parts, &url);
    if (r == 0)
        *out = url;
    return r;
}

void url_fini(struct url *url)
{
    free(url->host);
    free(url->path);
    if (url->query)
        explicit_bzero(url->query, strlen(url->query));
    free(url->query);
    *url = (struct url){ 0 };
}

int url_copy(const struct url *url, struct url *out)
{
    struct url copy = {
        .scheme = url->scheme,
        .host = strdup(url->host),
        .port = url->port,
        .path = strdup(url->path),
        .query = url->query ? strdup(url->query) : NULL,
        .foreign = url->foreign,
    };

    if (!copy.host || !copy.path || (url->query && !copy.query)) {
        url_fini(&copy);
        return -ENOMEM;
    }
    *out = copy;
    return 0;
}

int url_join(const struct url *url, const char *name, struct url *out)
{
    size_t len = strlen(url->path);
    const char *slash = url->path[len - 1] == '/' ? "" : "/";
    struct url joined = { .scheme = url->scheme,
                          .port = url->port,
                          .foreign = url->foreign };

    if (len + strlen(name) + 1 > URL_MAX)
        return -EINVAL;
    joined.host = strdup(url->host);
    if (asprintf(&joined.path, "%s%s%s", url->path, slash, name) < 0)
        joined.path = NULL;
    if (!joined.host || !joined.path) {
        url_fini(&joined);
        return -ENOMEM;
    }
    *out = joined;
    return 0;
}

char *url_host(const struct url *url)
{
    char port[16] = "";
    char *text;

    if (url->port != schemes[url->scheme].port)
        snprintf(port, sizeof(port), ":%u", url->port);
    if (asprintf(&text, "%s%s", url->host, port) < 0)
        return NULL;
    return text;
}

/* Write out a URL, with its query or without. */
static char *write_out(const struct url *url, const char *query)
{
    char *host = url_host(url);
    char *text = NULL;

    if (host && asprintf(&text, "%s%s%s%s%s", schemes[url->scheme].prefix, host,
                         url->path, query ? "?" : "", query ? query : "") < 0)
        text = NULL;
    free(host);
    return text;
}

char *url_text(const struct url *url)
{
    return write_out(url, url->query);
}

char *url_name(const struct url *url)
{
    return write_out(url, NULL);
}

size_t url_public_len(const char *text)
{
    return strcspn(text, "?");
}

bool url_same_origin(const struct url *a, const struct url *b)
{
    return a->scheme == b->scheme && a->port == b->port &&
           strcmp(a->host, b->host) == 0;
}

/* 169.254.0.0/16: RFC 3927. */
static bool is_internal4(const uint8_t bytes[4])
{
    return bytes[0] == 169 && bytes[1] == 254;
}

/* fe80::/10: RFC 4291; fd00:ec2::/32 is where AWS has its metadata. */
static bool is_internal6(const uint8_t bytes[16])
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
    static const uint8_t metadata[4] = { 0xfd, 0x00, 0x0e, 0xc2 };

    if (memcmp(bytes, mapped, sizeof(mapped)) == 0)
        return is_internal4(bytes + sizeof(mapped));
    return (bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80) ||
           memcmp(bytes, metadata, sizeof(metadata)) == 0;
}

bool url_is_internal_address(const struct sockaddr *address)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;

    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof(in));
        return is_internal4((const uint8_t *)&in.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        memcpy(&in6, address, sizeof(in6));
        return is_internal6(in6.sin6_addr.s6_addr);
    }
    return false;
}

bool url_is_internal(const struct url *url)
{
    char text[INET6_ADDRSTRLEN + 2];
    struct in6_addr in6;
    struct in_addr in;

    /* This takes octal, hexadecimal and short forms, as resolvers do. */
    if (inet_aton(url->host, &in))
        return is_internal4((const uint8_t *)&in);
    if (url->host[0] != '[' || strlen(url->host) >= sizeof(text))
        return false;
    strcpy(text, url->host + 1);
    text[strlen(text) - 1] = '\0';
    return inet_pton(AF_INET6, text, &in6) == 1 && is_internal6(in6.s6_addr);
}
