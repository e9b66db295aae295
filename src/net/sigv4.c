/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/sigv4.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "net/percent.h"
#include "net/secret.h"
#include "net/sha256.h"

#define ALGORITHM "AWS4-HMAC-SHA256"

enum {
    HASH_LEN = SHA256_LEN,
    NAMES_MAX = 4 /* headers that are made here, and Host */
};

/* The request that is being signed. */
struct signing {
    const struct sigv4_request *request;
    const struct sigv4_key *key;
    const struct sigv4_scope *scope;
    char time[17]; /* 20130524T000000Z */
    char day[9];
    struct sigv4_header headers[SIGV4_HEADERS_MAX + NAMES_MAX];
    size_t nheaders;
};

static void hex(const uint8_t bytes[HASH_LEN], char out[SIGV4_HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < HASH_LEN; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * HASH_LEN] = '\0';
}

int sigv4_hash(const void *bytes, size_t len, char out[SIGV4_HASH_SIZE])
{
    uint8_t hash[HASH_LEN];
    int r = sha256(bytes, len, hash);

    if (r == 0)
        hex(hash, out);
    return r;
}

/* A line end in a value would begin another header. */
static bool is_value(const char *text)
{
    for (; *text != '\0'; text++)
        if (iscntrl((unsigned char)*text) && *text != '\t')
            return false;
    return true;
}

static bool is_word(const char *text)
{
    for (; *text != '\0'; text++)
        if (*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

static bool is_valid(const struct sigv4_request *request,
                     const struct sigv4_key *key,
                     const struct sigv4_scope *scope)
{
    if (request->nheaders > SIGV4_HEADERS_MAX || !is_word(request->method) ||
        !is_word(request->host) || !is_word(request->payload) ||
        !is_word(key->id) || !is_word(scope->region) ||
        !is_word(scope->service) || (key->token && !is_word(key->token)))
        return false;
    for (size_t i = 0; i < request->nheaders; i++)
        if (!is_word(request->headers[i].name) ||
            !is_value(request->headers[i].value))
            return false;
    return true;
}

/* Headers are sorted by name; those of one name keep their order. */
static void add_header(struct signing *signing, const char *name,
                       const char *value)
{
    size_t i = signing->nheaders++;

    while (i > 0 && strcasecmp(signing->headers[i - 1].name, name) > 0) {
        signing->headers[i] = signing->headers[i - 1];
        i--;
    }
    signing->headers[i] = (struct sigv4_header){ name, value };
}

static int begin(struct signing *signing)
{
    const struct sigv4_request *request = signing->request;
    struct tm tm;

    if (!gmtime_r(&signing->scope->time, &tm) ||
        strftime(signing->time, sizeof(signing->time), "%Y%m%dT%H%M%SZ", &tm) ==
            0)
        return -EINVAL;
    memcpy(signing->day, signing->time, sizeof(signing->day) - 1);
    for (size_t i = 0; i < request->nheaders; i++)
        add_header(signing, request->headers[i].name,
                   request->headers[i].value);
    add_header(signing, "host", request->host);
    add_header(signing, "x-amz-date", signing->time);
    if (strcmp(signing->scope->service, "s3") == 0)
        add_header(signing, "x-amz-content-sha256", request->payload);
    if (signing->key->token)
        add_header(signing, "x-amz-security-token", signing->key->token);
    return 0;
}

/* A parameter of the query, recoded. */
struct parameter {
    struct secret name;
    struct secret value;
};

static int compare_parameters(const void *a, const void *b)
{
    const struct parameter *x = a;
    const struct parameter *y = b;
    int order = strcmp(x->name.text, y->name.text);

    return order ? order : strcmp(x->value.text, y->value.text);
}

/* Returns false if there is no memory. */
static bool parse_parameter(const char *text, size_t len, struct parameter *out)
{
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : len;

    /* So that even an empty text is one. */
    secret_add(&out->name, "");
    secret_add(&out->value, "");
    percent_recode(text, name_len, PERCENT_KEEP_NONE, &out->name);
    if (equals)
        percent_recode(equals + 1, len - name_len - 1, PERCENT_KEEP_NONE,
                       &out->value);
    return !out->name.failed && !out->value.failed;
}

static void write_parameters(struct parameter *parameters, size_t n,
                             struct secret *out)
{
    qsort(parameters, n, sizeof(*parameters), compare_parameters);
    for (size_t i = 0; i < n; i++) {
        secret_add(out, i > 0 ? "&" : "");
        secret_add(out, parameters[i].name.text);
        secret_add(out, "=");
        secret_add(out, parameters[i].value.text);
    }
}

static size_t count_parameters(const char *query)
{
    size_t n = 1;

    for (; *query != '\0'; query++)
        n += *query == '&';
    return n;
}

static void write_query(const char *query, struct secret *out)
{
    size_t max = query ? count_parameters(query) : 0;
    struct parameter *parameters;
    size_t n = 0;

    if (max == 0)
        return;
    parameters = calloc(max, sizeof(*parameters));
    if (!parameters) {
        out->failed = true;
        return;
    }
    while (*query != '\0') {
        size_t len = strcspn(query, "&");

        if (len > 0 && !parse_parameter(query, len, &parameters[n++]))
            out->failed = true;
        query += len + (query[len] == '&');
    }
    if (!out->failed)
        write_parameters(parameters, n, out);
    for (size_t i = 0; i < n; i++) {
        secret_fini(&parameters[i].name);
        secret_fini(&parameters[i].value);
    }
    free(parameters);
}

/* Write a value without blanks at its ends, and runs of them as one. */
static void write_value(const char *value, struct secret *out)
{
    const char *sep = "";

    for (;;) {
        size_t len;

        value += strspn(value, " \t");
        len = strcspn(value, " \t");
        if (len == 0)
            return;
        secret_add(out, sep);
        secret_add_bytes(out, value, len);
        value += len;
        sep = " ";
    }
}

static void write_name(const char *name, struct secret *out)
{
    for (; *name != '\0'; name++) {
        char c =
            *name >= 'A' && *name <= 'Z' ? (char)(*name + 'a' - 'A') : *name;

        secret_add_bytes(out, &c, 1);
    }
}

/* Is this header another one of the same name? */
static bool is_repeated(const struct signing *signing, size_t i)
{
    return i > 0 && strcasecmp(signing->headers[i - 1].name,
                               signing->headers[i].name) == 0;
}

static void write_headers(const struct signing *signing, struct secret *out)
{
    for (size_t i = 0; i < signing->nheaders; i++) {
        if (is_repeated(signing, i)) {
            secret_add(out, ",");
        } else {
            secret_add(out, i > 0 ? "\n" : "");
            write_name(signing->headers[i].name, out);
            secret_add(out, ":");
        }
        write_value(signing->headers[i].value, out);
    }
    secret_add(out, "\n");
}

static void write_names(const struct signing *signing, struct secret *out)
{
    for (size_t i = 0; i < signing->nheaders; i++) {
        if (is_repeated(signing, i))
            continue;
        secret_add(out, i > 0 ? ";" : "");
        write_name(signing->headers[i].name, out);
    }
}

/* Hash the request in its canonical form. */
static int hash_request(const struct signing *signing,
                        char out[SIGV4_HASH_SIZE])
{
    const struct sigv4_request *request = signing->request;
    struct secret text = { 0 };
    int r;

    secret_add(&text, request->method);
    secret_add(&text, "\n");
    percent_recode(request->path, strlen(request->path), PERCENT_KEEP_SLASH,
                   &text);
    secret_add(&text, "\n");
    write_query(request->query, &text);
    secret_add(&text, "\n");
    write_headers(signing, &text);
    secret_add(&text, "\n");
    write_names(signing, &text);
    secret_add(&text, "\n");
    secret_add(&text, request->payload);
    r = text.failed ? -ENOMEM : sigv4_hash(text.text, text.len, out);
    secret_fini(&text);
    return r;
}

static void write_scope(const struct signing *signing, struct secret *out)
{
    secret_add(out, signing->day);
    secret_add(out, "/");
    secret_add(out, signing->scope->region);
    secret_add(out, "/");
    secret_add(out, signing->scope->service);
    secret_add(out, "/aws4_request");
}

/* Replace a key by the HMAC of a text with it. */
static int derive(uint8_t key[HASH_LEN], const char *text)
{
    return sha256_hmac(key, HASH_LEN, text, key);
}

/* The first key is of any length. */
static int derive_first(const struct signing *signing, uint8_t out[HASH_LEN])
{
    struct secret key = { 0 };
    int r = -ENOMEM;

    secret_add(&key, "AWS4");
    secret_add(&key, signing->key->secret);
    if (!key.failed)
        r = sha256_hmac(key.text, key.len, signing->day, out);
    secret_fini(&key);
    return r;
}

static int sign_text(const struct signing *signing, const char *text,
                     char out[SIGV4_HASH_SIZE])
{
    uint8_t key[HASH_LEN];
    int r = derive_first(signing, key);

    if (r == 0)
        r = derive(key, signing->scope->region);
    if (r == 0)
        r = derive(key, signing->scope->service);
    if (r == 0)
        r = derive(key, "aws4_request");
    if (r == 0)
        r = derive(key, text);
    if (r == 0)
        hex(key, out);
    explicit_bzero(key, sizeof(key));
    return r;
}

static int sign(const struct signing *signing, char out[SIGV4_HASH_SIZE])
{
    char hash[SIGV4_HASH_SIZE];
    struct secret text = { 0 };
    int r = hash_request(signing, hash);

    if (r < 0)
        return r;
    secret_add(&text, ALGORITHM "\n");
    secret_add(&text, signing->time);
    secret_add(&text, "\n");
    write_scope(signing, &text);
    secret_add(&text, "\n");
    secret_add(&text, hash);
    r = text.failed ? -ENOMEM : sign_text(signing, text.text, out);
    secret_fini(&text);
    return r;
}

/* Add a line, which `line` holds without its name. */
static void add_line(struct sigv4_lines *lines, const char *name,
                     struct secret *value)
{
    struct secret line = { 0 };

    secret_add(&line, name);
    secret_add(&line, ": ");
    if (value->failed)
        line.failed = true;
    else
        secret_add(&line, value->text);
    secret_fini(value);
    lines->line[lines->n++] = secret_take(&line);
}

static void add_text(struct sigv4_lines *lines, const char *name,
                     const char *value)
{
    struct secret text = { 0 };

    secret_add(&text, value);
    add_line(lines, name, &text);
}

static int make_lines(const struct signing *signing, const char *signature,
                      struct sigv4_lines *out)
{
    struct secret value = { 0 };

    *out = (struct sigv4_lines){ 0 };
    secret_add(&value, ALGORITHM " Credential=");
    secret_add(&value, signing->key->id);
    secret_add(&value, "/");
    write_scope(signing, &value);
    secret_add(&value, ", SignedHeaders=");
    write_names(signing, &value);
    secret_add(&value, ", Signature=");
    secret_add(&value, signature);
    add_line(out, "Authorization", &value);
    add_text(out, "X-Amz-Date", signing->time);
    if (strcmp(signing->scope->service, "s3") == 0)
        add_text(out, "X-Amz-Content-Sha256", signing->request->payload);
    if (signing->key->token)
        add_text(out, "X-Amz-Security-Token", signing->key->token);
    for (size_t i = 0; i < out->n; i++) {
        if (out->line[i])
            continue;
        sigv4_fini(out);
        return -ENOMEM;
    }
    return 0;
}

int sigv4_sign(const struct sigv4_request *request, const struct sigv4_key *key,
               const struct sigv4_scope *scope, struct sigv4_lines *out)
{
    struct signing signing = { .request = request, .key = key, .scope = scope };
    char signature[SIGV4_HASH_SIZE];
    int r;

    if (!is_valid(request, key, scope))
        return -EINVAL;
    r = begin(&signing);
    if (r == 0)
        r = sign(&signing, signature);
    if (r < 0)
        return r;
    return make_lines(&signing, signature, out);
}

void sigv4_fini(struct sigv4_lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        secret_free(lines->line[i]);
    *lines = (struct sigv4_lines){ 0 };
}
