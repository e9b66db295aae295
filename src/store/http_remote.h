/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_REMOTE_H
#define STORE_HTTP_REMOTE_H

#include <pthread.h>
#include <time.h>

#include "net/net.h"
#include "store/store.h"

/*
 * Objects on a web server, for store_http.c.  A remote is one object in one
 * state, which its ETag names: all bytes that are read of it belong together.
 *
 * Bytes are fetched in pieces.  Pieces stay in memory for a while, because
 * their neighbours are often read next, and threads that want the same piece
 * wait for one request.
 */
struct http_remote;
struct http_disk;
struct store_http_start;

struct http_memory;

/* The context that the remotes of one store share.  http_memory.lock guards
   the members that are not constant. */
struct http_context {
    struct net *net;            /* constant; the store has the reference */
    struct http_memory *memory; /* constant */
    unsigned nrefs;             /* of the store and of remotes */
    pthread_cond_t changed; /* the state of a remote got known, or did not */
    uint64_t nstale;        /* remotes that were found to be stale */
    int64_t quiet_ns;       /* do not ask for changes until then, because
                                   the server does not answer */
    uint64_t unit; /* bytes that readers probably want together; 0: unknown */
};

/* Readers will want units of about so many bytes, each from its start. */
void http_context_expect(struct http_context *context, uint64_t unit);

/* The known state of an object. */
struct http_state {
    uint64_t size;
    time_t modified; /* by the server's clock; 0: unknown */
    time_t seen; /* when the server has last told that this is the state, by its
                    clock; 0: unknown */
    bool own;    /* framefs has put the object, and overwrites none of its
                    chunks */
    struct timespec time; /* as programs see it: that of the PUT by the clock of
                             its program, if framefs has put the object, else
                             `modified` */
    uint64_t id; /* hash of its URL, and of the id of its PUT, or else of all
                    that the server has told; then it is another one when a
                    state comes back after another was seen, because older
                    remotes stay stale */
    char etag[NET_ETAG_MAX]; /* "": unknown */
};

/* Set the time and the id of an object that is, or will be, put to a URL with
   this id. */
void http_state_set_put(struct http_state *state, const struct url *url,
                        const char *put_id);

/* Make the memory that remotes share; NULL: there is no memory.  `net` outlives
   all remotes, but for what it ends itself. */
struct http_context *http_context_new(struct net *net);

/* Drop the reference of the store. */
void http_context_put(struct http_context *context);

/* Get the first reference to a remote whose state is not known yet.  It takes
   over `url`, even if it fails.  Returns 0 or -ENOMEM. */
int http_remote_new(struct http_context *context, struct url *url,
                    struct http_remote **out);

/* Take one more reference; http_remote_put() gives it back, and accepts
   NULL. */
struct http_remote *http_remote_get(struct http_remote *remote);
void http_remote_put(struct http_remote *remote);

/*
 * Fetch the start of an object, and its end if `tail`, in one round trip.  Both
 * stay in memory as long as the remote.  The caller has the only reference.
 *
 *  cached  if the disk has start and end of a state that still counts, the
 *          server is not asked
 */
int http_remote_load(struct http_remote *remote, bool tail, bool cached);

/* Take over the start of an object, which the caller has fetched itself.  The
   caller has the only reference.  Returns 0 or -ENOMEM. */
int http_remote_begin(struct http_remote *remote,
                      const struct store_http_start *start);

/* Get the size of the object, 0 if it is not known. */
uint64_t http_remote_known_size(struct http_remote *remote);

/* Get the ETag of an object whose state is known. */
const char *http_remote_etag(const struct http_remote *remote);

/* Get the state.  If it is not known, the start of the object is fetched.
   Returns 0 or an error of struct net_request. */
int http_remote_state(struct http_remote *remote, struct http_state *out);

/*
 * Ask the server whether the object is still in this state, if the last answer
 * is too old.
 *
 * Returns 0; -ESTALE if it is not; -ENOENT or -EACCES; -EINTR, see
 * base/killed.h.  If the server cannot be
 * reached, the state counts as current.
 */
int http_remote_check(struct http_remote *remote);

/* Was the object found to be in another state? */
bool http_remote_is_stale(struct http_remote *remote);

/* Record that the object was found to be in another state. */
void http_remote_set_stale(struct http_remote *remote);

/* Make the next http_remote_check() ask the server.  With `revalidate=inf` it
   does so only if the state is `wrong` and comes from the disk. */
void http_remote_expire(struct http_remote *remote, bool wrong);

/* Read ranges, as store_object_read().  Returns -ESTALE if the object is in
   another state by now. */
int http_remote_read(struct http_remote *remote,
                     const struct store_range *ranges, size_t nranges);

/* Begin to fetch bytes, as store_object_prefetch(); `len` is not 0. */
bool http_remote_prefetch(struct http_remote *remote, uint64_t off,
                          uint64_t len, struct store_waiter *waiter);

/* As store_ahead(). */
uint64_t http_context_ahead(struct http_context *context);

#endif
