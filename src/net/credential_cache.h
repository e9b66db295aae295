/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CREDENTIAL_CACHE_H
#define NET_CREDENTIAL_CACHE_H

#include "net/credential_chain.h"

/*
 * Credentials that are kept, and looked for again before they expire.  A thread
 * of the cache looks for them, so nobody else need wait.  Any number of threads
 * may use one cache.
 */
struct credential_cache;

enum {
    CREDENTIAL_CACHE_PAUSE = 10 /* seconds */
};

/*
 * Make a cache.  It has no credentials yet.
 *
 *  options  their texts are copied; the fetcher must outlive the cache
 *  pause    seconds after a search before the next one: CREDENTIAL_CACHE_PAUSE
 */
int credential_cache_new(const struct credential_options *options,
                         unsigned pause, struct credential_cache **out);

/* End a search, wipe and free; accepts NULL.  A process that is being run is
   killed; a request of the fetcher is waited for, so stop that first. */
void credential_cache_free(struct credential_cache *cache);

/*
 * Get credentials without waiting.  A search begins if there are none, or if
 * they expire in a few minutes.
 *
 *  out  a copy, to be freed with credentials_fini()
 *
 * Returns 0, -EAGAIN if they are being looked for, or an error of
 * credential_chain_get() with a text in `why`.
 */
int credential_cache_poll(struct credential_cache *cache,
                          struct credentials *out, char why[AWS_WHY_MAX]);

/* Get credentials, or wait for the end of one search. */
int credential_cache_get(struct credential_cache *cache,
                         struct credentials *out, char why[AWS_WHY_MAX]);

/*
 * Note that a server has refused credentials.  Returns whether it makes sense
 * to try again with those that the cache has next.
 */
bool credential_cache_refuse(struct credential_cache *cache,
                             const struct credentials *refused);

#endif
