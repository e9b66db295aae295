/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/secret.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_MIN = 256
};

/* Make room for `len` more bytes and a NUL. */
static bool reserve(struct secret *secret, size_t len)
{
    size_t size = secret->size ? secret->size : SIZE_MIN;
    char *text;

    while (size - secret->len <= len && size <= SIZE_MAX / 2)
        size *= 2;
    if (size - secret->len <= len)
        return false;
    if (size == secret->size)
        return true;
    text = malloc(size);
    if (!text)
        return false;
    /* realloc() would leave the old bytes behind. */
    if (secret->len > 0)
        memcpy(text, secret->text, secret->len);
    if (secret->text)
        explicit_bzero(secret->text, secret->size);
    free(secret->text);
    secret->text = text;
    secret->size = size;
    return true;
}

void secret_add_bytes(struct secret *secret, const void *bytes, size_t len)
{
    if (secret->failed || !reserve(secret, len)) {
        secret->failed = true;
        return;
    }
    if (len > 0)
        memcpy(secret->text + secret->len, bytes, len);
    secret->len += len;
    secret->text[secret->len] = '\0';
}

void secret_add(struct secret *secret, const char *text)
{
    secret_add_bytes(secret, text, strlen(text));
}

void secret_fini(struct secret *secret)
{
    if (secret->text)
        explicit_bzero(secret->text, secret->size);
    free(secret->text);
    *secret = (struct secret){ 0 };
}

char *secret_take(struct secret *secret)
{
    char *text;

    secret_add(secret, "");
    if (secret->failed) {
        secret_fini(secret);
        return NULL;
    }
    text = secret->text;
    *secret = (struct secret){ 0 };
    return text;
}

void secret_free(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

__attribute__((noinline)) void secret_wipe_stack(void)
{
    enum {
        LEN = 256 << 10 /* more than anything in this layer uses */
    };
    char bytes[LEN];

    explicit_bzero(bytes, sizeof(bytes));
}
