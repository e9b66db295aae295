/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/sha256.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <string.h>

#include "base/late_library.h"

static struct {
    __typeof__(EVP_sha256) *EVP_sha256;
    __typeof__(HMAC) *HMAC;
    __typeof__(SHA256) *SHA256;
} libcrypto;

static const struct late_function functions[] = {
    LATE_FUNCTION(libcrypto, EVP_sha256),
    LATE_FUNCTION(libcrypto, HMAC),
    LATE_FUNCTION(libcrypto, SHA256),
};

static bool loaded;

static void load(void)
{
    loaded = late_library_load(CRYPTO_SONAME, LATE_PROGRAM, functions,
                               sizeof(functions) / sizeof(functions[0]));
}

bool sha256_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return loaded;
}

int sha256(const void *bytes, size_t len, uint8_t out[SHA256_LEN])
{
    if (!sha256_load())
        return -EPROTONOSUPPORT;
    return libcrypto.SHA256(bytes, len, out) ? 0 : -ENOMEM;
}

int sha256_hmac(const void *key, size_t key_len, const char *text,
                uint8_t out[SHA256_LEN])
{
    uint8_t hash[SHA256_LEN];
    unsigned len;
    int r = 0;

    if (!sha256_load())
        return -EPROTONOSUPPORT;
    if (key_len > INT_MAX ||
        !libcrypto.HMAC(libcrypto.EVP_sha256(), key, (int)key_len,
                        (const uint8_t *)text, strlen(text), hash, &len))
        r = -ENOMEM;
    else
        memcpy(out, hash, sizeof(hash));
    explicit_bzero(hash, sizeof(hash));
    return r;
}
