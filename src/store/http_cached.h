/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_CACHED_H
#define STORE_HTTP_CACHED_H

#include "store/http_disk.h"
#include "store/http_remote.h"

/*
 * Remotes whose bytes are kept in a disk_cache, if the options of the loop name
 * its directory.
 *
 * A remote with a strong ETag has a key, which is a hash of its URL and of that
 * ETag; a presigned URL counts without its signature.  The remote of a chunk
 * object has the key of its index and its name instead, so that no request is
 * needed to find it.  That is sound only if the chunks of an index never change
 * (see store_http.h).  Somebody who copies a frame to a server may break this
 * while the copy is under way, and the cache would keep the mixture for ever.
 * So an index has to be *settled*, unchanged for some minutes, before its
 * chunks are kept; or the user must have said by `revalidate=inf` that nothing
 * changes.
 *
 * The state of a remote is kept, too, and counts for as long as the option
 * `revalidate` says.
 *
 * Only functions that end in `_locked` are called with http_memory.lock.
 */

/* The part of a remote for the cache; of zeros: its bytes are not kept. */
struct http_cached {
    bool keyed;
    bool settled;          /* may chunks be kept by this index? */
    bool from_disk;        /* the server has not been asked for the state */
    struct disk_key key;   /* of its bytes, together with their offset */
    struct disk_key state; /* of the file that tells the state */
    int64_t written;       /* when that was written, seconds since 1970 */
};

/*
 * Take the state of an object from the cache, if it is new enough, and if the
 * start of the object is there, too.
 *
 * Returns whether the state is known now.
 */
bool http_cached_load(struct http_remote *remote);

/* The server has told the state of a remote, which nobody else uses yet: give
   it a key; and keep the state, too. */
void http_cached_set(struct http_remote *remote, const struct net_reply *reply);
void http_cached_begin(struct http_remote *remote,
                       const struct net_reply *reply);

/* The server has confirmed the state of a remote. */
void http_cached_confirm(struct http_remote *remote);

/* Give the remote of a chunk object, which nobody else knows yet, its key.  The
   index may be NULL. */
void http_cached_set_chunk(struct http_remote *chunk, const char *name,
                           struct http_remote *index);

/* Find out the state of a chunk object from its first bytes in the cache.
   Returns whether it is known now. */
bool http_cached_know(struct http_remote *remote);

/* The remote is not in the state that the cache says. */
void http_cached_forget(struct http_remote *remote);

/* Does the cache probably have the byte at `off`?  The state need not be known,
   if the remote is that of a chunk object. */
bool http_cached_has(struct http_remote *remote, uint64_t off);

struct http_piece;

/* Make a piece of bytes in the cache, from the one at `off` up to `end` at
   most, and list it; the caller uses it.  Returns NULL if they are not
   there. */
struct http_piece *http_cached_piece(struct http_remote *remote, uint64_t off,
                                     uint64_t end);

/* Extend a range of an object, so that the cache can keep all of it. */
void http_cached_align_locked(const struct http_remote *remote, uint64_t *off,
                              uint64_t *end);

/* Keep the bytes of a piece that has come from the server. */
void http_cached_keep(const struct http_piece *piece);

#endif
