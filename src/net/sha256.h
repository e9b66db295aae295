/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SHA256_H
#define NET_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SHA-256 and HMAC, by libcrypto, which is loaded when it is first needed.
 *
 * Functions return 0; -EPROTONOSUPPORT if there is no libcrypto; or -ENOMEM.
 */

enum {
    SHA256_LEN = 32
};

/* Load libcrypto unless it is loaded.  Returns false if there is none. */
bool sha256_load(void);

/* Hash `len` bytes. */
int sha256(const void *bytes, size_t len, uint8_t out[SHA256_LEN]);

/*
 * Authenticate a text.
 *
 *  key  of `key_len` bytes; may be `out`
 */
int sha256_hmac(const void *key, size_t key_len, const char *text,
                uint8_t out[SHA256_LEN]);

#endif
