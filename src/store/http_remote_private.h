/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_REMOTE_PRIVATE_H
#define STORE_HTTP_REMOTE_PRIVATE_H

#include "store/http_cached.h"
#include "store/http_memory.h"
#include "store/store_backend.h"

/* What http_remote.c, which knows states, and those share that know bytes:
   http_memory.c, http_piece.c, http_prefetch.c and http_sizes.c.
   http_memory.lock guards all that is not constant. */

/* A waiter for a piece. */
struct http_wait {
    struct list node; /* in http_piece.waits */
    struct store_waiter *waiter;
};

/* One object in one state. */
struct http_remote {
    /* Constant. */
    struct http_context *context;
    struct url url;

    unsigned nrefs;    /* with those of pieces that are on their way, */
    unsigned nrunning; /* and the number of those */
    bool known;
    int first_error; /* of the last fetch of it, if it did not get known */
    bool first; /* the first piece is being fetched, by which it gets known */
    bool checking; /* a thread asks for changes */
    bool stale;
    int64_t due_ns; /* when to ask for changes */
    struct list pieces;
    struct http_cached cached; /* `key`, and `keyed` once it is true, are
                                  constant */

    /* Constant once `known`. */
    uint64_t size;
    time_t modified;
    time_t seen; /* see struct http_state; it changes */
    char etag[NET_ETAG_MAX];
    uint64_t nstale; /* remotes of the context that had become stale before */
    char put_id[NET_ID_MAX];
};

/*
 * Take note of the headers of a reply.  The first one tells the state; all
 * others must agree.  Returns 0, -ESTALE, or -ENOENT if the object only marks
 * the place of one that was moved away.
 */
int http_remote_note_locked(struct http_remote *remote,
                            const struct net_reply *reply);

/* The server has another state. */
void http_remote_set_stale_locked(struct http_remote *remote);

/* The server has not answered a request in time. */
void http_remote_quiet_locked(struct http_context *context);

/* Seconds for which http_remote_check() waits for an answer. */
unsigned http_remote_check_time(unsigned timeout);

/* Wait until the state is known, or fetch the start of the object, by which it
   gets known. */
int http_remote_know(struct http_remote *remote);

/* Drop a reference.  Returns true if it was the last one; the caller frees the
   remote when it has dropped the lock. */
bool http_remote_put_locked(struct http_remote *remote);
void http_remote_free(struct http_remote *remote);

/* Find a piece that has, or will have, this byte. */
struct http_piece *http_piece_find_locked(struct http_remote *remote,
                                          uint64_t off);

/* Cut a run of bytes before the next piece that is there. */
size_t http_piece_cut_locked(struct http_remote *remote, uint64_t off,
                             size_t len);

/* Prepare the request for a piece, which http_piece_submit() sends once the
   lock is dropped.  `ahead`: nobody waits for it. */
void http_piece_start_locked(struct http_piece *piece, bool ahead);
void http_piece_submit(struct http_piece *piece);

/* Drop the use of a piece. */
void http_piece_release_locked(struct http_piece *piece);

/* Wait until a piece is ready.  Returns 0 or -EINTR, see base/killed.h. */
int http_piece_await_locked(struct http_piece *piece);

/* More bytes are fetched by several requests. */
enum {
    HTTP_PIECE_MAX = 2 << 20
};

/* Bytes between two ranges that are read over, because one more request takes
   longer. */
size_t http_piece_gap(const struct http_context *context);

/* Bytes to fetch for somebody who wants `len` of them. */
size_t http_piece_len(const struct http_context *context, size_t len);

#endif
