/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/credential_http.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "net/percent.h"
#include "net/sigv4.h"
#include "net/small_file.h"
#include "net/url.h"

#define FORM "application/x-www-form-urlencoded"

enum {
    STS_SECONDS = 30,
    NEAR_SECONDS = 2, /* for servers that answer at once, if they exist */
};

static int fail(char why[AWS_WHY_MAX], int error, const char *text)
{
    snprintf(why, AWS_WHY_MAX, "%s", text);
    return error;
}

/* Tell which server did not give credentials. */
static int fail_at(char why[AWS_WHY_MAX], int error, const char *server)
{
    snprintf(why, AWS_WHY_MAX, "%s %s", server,
             error == -EACCES ? "refuses credentials"
                              : "does not give credentials");
    return error;
}

/* Add NAME=VALUE to a form. */
static void add_field(struct secret *form, const char *name, const char *value)
{
    if (!value)
        return;
    if (form->len > 0)
        secret_add(form, "&");
    secret_add(form, name);
    secret_add(form, "=");
    percent_encode(value, strlen(value), PERCENT_KEEP_NONE, form);
}

/* The URL of the security token service; the caller frees it.  NULL: there is
   no memory. */
static char *sts_url(const char *region)
{
    const char *tail = strncmp(region, "cn-", 3) == 0 ? ".cn" : "";
    const char *set = aws_getenv("AWS_ENDPOINT_URL_STS");
    char *url;

    if (!set)
        set = aws_getenv("AWS_ENDPOINT_URL");
    if (set)
        return strdup(set);
    if (asprintf(&url, "https://sts.%s.amazonaws.com%s", region, tail) < 0)
        return NULL;
    return url;
}

/* Sign a form for a server. */
static int sign_form(const char *server, const char *region,
                     const struct credentials *with, const struct secret *form,
                     struct sigv4_lines *out)
{
    static const struct sigv4_header type = { "Content-Type", FORM };
    const struct sigv4_key key = { with->id, with->secret, with->token };
    const struct sigv4_scope scope = { region, "sts", time(NULL) };
    char hash[SIGV4_HASH_SIZE];
    struct sigv4_request request = {
        .method = "POST", .payload = hash, .headers = &type, .nheaders = 1
    };
    const char *why;
    struct url url;
    char *host;
    int r = url_parse(server, &url, &why);

    if (r < 0)
        return r;
    host = url_host(&url);
    request.host = host;
    request.path = url.path;
    r = host ? sigv4_hash(form->text, form->len, hash) : -ENOMEM;
    if (r == 0)
        r = sigv4_sign(&request, &key, &scope, out);
    free(host);
    url_fini(&url);
    return r;
}

/* Send a form to the security token service, and parse the reply. */
static int send_form(const struct fetcher *fetcher, const char *url,
                     const struct secret *form,
                     const struct sigv4_lines *signed_, struct credentials *out)
{
    const char *lines[SIGV4_NLINES + 2] = { "Content-Type: " FORM };
    const struct fetch fetch = {
        .url = url, .body = form->text, .lines = lines, .seconds = STS_SECONDS
    };
    struct fault fault;
    struct secret text;
    int r;

    for (size_t i = 0; i < signed_->n; i++)
        lines[i + 1] = signed_->line[i];
    r = fetcher->get(fetcher, &fetch, &text);
    if (r < 0)
        return r;
    r = credentials_parse_sts(text.text, text.len, out, &fault);
    secret_fini(&text);
    return r;
}

/* Call the security token service, with a signature if there is a key. */
static int call_sts(const struct fetcher *fetcher, const char *region,
                    const struct credentials *with, struct secret *form,
                    struct credentials *out)
{
    struct sigv4_lines lines = { 0 };
    char *url = sts_url(region);
    int r = url && !form->failed ? 0 : -ENOMEM;

    if (r == 0 && with)
        r = sign_form(url, region, with, form, &lines);
    if (r == 0)
        r = send_form(fetcher, url, form, &lines, out);
    sigv4_fini(&lines);
    free(url);
    return r;
}

static const char *session_name(const char *name)
{
    return name ? name : "framefs";
}

int credential_http_role(const struct credential_role *role,
                         const struct credentials *with,
                         struct credentials *out, char why[AWS_WHY_MAX])
{
    char *const *values = role->profile->values;
    struct secret form = { 0 };
    int r;

    add_field(&form, "Action", "AssumeRole");
    add_field(&form, "Version", "2011-06-15");
    add_field(&form, "RoleArn", values[AWS_ROLE_ARN]);
    add_field(&form, "RoleSessionName",
              session_name(values[AWS_ROLE_SESSION_NAME]));
    add_field(&form, "ExternalId", values[AWS_EXTERNAL_ID]);
    add_field(&form, "DurationSeconds", values[AWS_DURATION_SECONDS]);
    r = call_sts(role->fetcher, role->region, with, &form, out);
    secret_fini(&form);
    return r < 0 ? fail_at(why, r, "AssumeRole") : 0;
}

/* Read a file without the blanks at its end. */
static int read_token(const char *path, struct secret *out)
{
    int r = small_file_read(path, out);

    if (r < 0)
        return r;
    while (out->len > 0 && isspace((unsigned char)out->text[out->len - 1]))
        out->text[--out->len] = '\0';
    if (out->len > 0 && !memchr(out->text, '\0', out->len))
        return 0;
    secret_fini(out);
    return -EBADMSG;
}

int credential_http_identity(const struct credential_identity *identity,
                             struct credentials *out, char why[AWS_WHY_MAX])
{
    struct secret form = { 0 };
    struct secret token;
    int r = read_token(identity->token_file, &token);

    if (r < 0) {
        snprintf(why, AWS_WHY_MAX, "%s: %s", identity->token_file,
                 r == -EBADMSG ? "file has no token" : strerror(-r));
        return r;
    }
    add_field(&form, "Action", "AssumeRoleWithWebIdentity");
    add_field(&form, "Version", "2011-06-15");
    add_field(&form, "RoleArn", identity->arn);
    add_field(&form, "RoleSessionName", session_name(identity->name));
    add_field(&form, "WebIdentityToken", token.text);
    secret_fini(&token);
    r = call_sts(identity->fetcher, identity->region, NULL, &form, out);
    secret_fini(&form);
    return r < 0 ? fail_at(why, r, "AssumeRoleWithWebIdentity") : 0;
}

/* A token that goes over http must stay on this machine, or with the servers
   that clouds have for containers. */
static bool may_get_token(const struct url *url)
{
    static const char *const hosts[] = {
        "localhost",     "127.0.0.1",      "[::1]",
        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
    };

    if (url->scheme == URL_HTTPS)
        return true;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++)
        if (url->scheme == URL_HTTP && strcmp(url->host, hosts[i]) == 0)
            return true;
    return false;
}

/* Find the URL that the environment names; the caller frees it. */
static int container_url(char **out, char why[AWS_WHY_MAX])
{
    const char *relative = aws_getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = aws_getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *reason;
    struct url url;
    bool may;

    if (!relative && !full)
        return -ENODATA;
    if (asprintf(out, "%s%s", relative ? "http://169.254.170.2" : "",
                 relative ? relative : full) < 0)
        return fail(why, -ENOMEM, strerror(ENOMEM));
    if (url_parse(*out, &url, &reason) == 0) {
        may = may_get_token(&url);
        url_fini(&url);
        if (may)
            return 0;
    }
    free(*out);
    return fail(why, -EINVAL,
                "AWS_CONTAINER_CREDENTIALS_FULL_URI names no server that may "
                "get a token");
}

/* Make the header with the token, if there is one. */
static int container_line(struct secret *out, char why[AWS_WHY_MAX])
{
    const char *path = aws_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *set = aws_getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    struct secret token = { 0 };
    int r = 0;

    if (!path && !set)
        return 0;
    if (path)
        r = read_token(path, &token);
    else
        secret_add(&token, set);
    secret_add(out, "Authorization: ");
    if (token.text)
        secret_add(out, token.text);
    if (r == 0 && (token.failed || out->failed))
        r = -ENOMEM;
    if (r == 0 && strpbrk(token.text, "\r\n"))
        r = -EBADMSG;
    secret_fini(&token);
    return r < 0 ? fail(why, r, "token of the container is not valid") : 0;
}

/* Get credentials as JSON. */
static int get_json(const struct fetcher *fetcher, const struct fetch *fetch,
                    struct credentials *out)
{
    struct fault fault;
    struct secret text;
    int r = fetcher->get(fetcher, fetch, &text);

    if (r < 0)
        return r;
    r = credentials_parse(text.text, text.len, out, &fault);
    secret_fini(&text);
    return r;
}

int credential_http_container(const struct fetcher *fetcher,
                              struct credentials *out, char why[AWS_WHY_MAX])
{
    struct secret line = { 0 };
    const char *lines[2] = { NULL, NULL };
    struct fetch fetch = { .lines = lines,
                           .seconds = NEAR_SECONDS,
                           .near = true };
    char *url;
    int r = container_url(&url, why);

    if (r < 0)
        return r;
    r = container_line(&line, why);
    if (r == 0) {
        fetch.url = url;
        lines[0] = line.text;
        r = get_json(fetcher, &fetch, out);
        if (r < 0)
            fail_at(why, r, "server of the container");
    }
    secret_fini(&line);
    free(url);
    return r;
}

/* Ask the metadata service for something below its URL. */
static int get_metadata(const struct fetcher *fetcher, const char *path,
                        const char *line, bool put, struct secret *out)
{
    const char *base = aws_getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *lines[] = { line, NULL };
    struct fetch fetch = {
        .put = put, .lines = lines, .seconds = NEAR_SECONDS, .near = true
    };
    char *url;
    int r;

    if (asprintf(&url, "%s/latest/%s", base ? base : "http://169.254.169.254",
                 path) < 0)
        return -ENOMEM;
    fetch.url = url;
    r = fetcher->get(fetcher, &fetch, out);
    free(url);
    return r;
}

/* Get the header that all other requests need. */
static int get_session(const struct fetcher *fetcher, struct secret *line)
{
    struct secret token;
    int r = get_metadata(fetcher, "api/token",
                         "X-aws-ec2-metadata-token-ttl-seconds: 21600", true,
                         &token);

    if (r < 0)
        return r;
    secret_add(line, "X-aws-ec2-metadata-token: ");
    secret_add(line, token.text);
    if (line->failed)
        r = -ENOMEM;
    else if (strpbrk(token.text, "\r\n"))
        r = -EBADMSG;
    secret_fini(&token);
    return r;
}

/* Get the path of the role's credentials.  Its name is the first line. */
static int get_role_path(const struct fetcher *fetcher, const char *line,
                         struct secret *path)
{
    static const char base[] = "meta-data/iam/security-credentials/";
    struct secret name;
    int r = get_metadata(fetcher, base, line, false, &name);

    if (r < 0)
        return r;
    secret_add(path, base);
    percent_encode(name.text, strcspn(name.text, "\r\n"), PERCENT_KEEP_NONE,
                   path);
    secret_fini(&name);
    return path->failed ? -ENOMEM : 0;
}

static int get_of_role(const struct fetcher *fetcher, const char *line,
                       struct credentials *out)
{
    struct secret path = { 0 };
    struct secret text;
    struct fault fault;
    int r = get_role_path(fetcher, line, &path);

    if (r == 0)
        r = get_metadata(fetcher, path.text, line, false, &text);
    if (r == 0) {
        r = credentials_parse(text.text, text.len, out, &fault);
        secret_fini(&text);
    }
    secret_fini(&path);
    return r;
}

int credential_http_instance(const struct fetcher *fetcher,
                             struct credentials *out, char why[AWS_WHY_MAX])
{
    const char *disabled = aws_getenv("AWS_EC2_METADATA_DISABLED");
    struct secret line = { 0 };
    int r;

    if (disabled && strcasecmp(disabled, "true") == 0)
        return -ENODATA;
    r = get_session(fetcher, &line);
    if (r == 0) {
        r = get_of_role(fetcher, line.text, out);
        if (r < 0)
            fail_at(why, r, "metadata service of the instance");
    } else {
        /* This is no instance. */
        r = -ENODATA;
    }
    secret_fini(&line);
    return r;
}
