/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_REMOTE_PRIVATE_H
#define STORE_HTTP_REMOTE_PRIVATE_H

#include "store/http_cached.h"
#include "store/http_remote.h"

/* What http_remote.c, which knows states, and http_piece.c, which knows bytes,
   share.  http_context.lock guards all that is not constant. */

/* A run of bytes of a remote. */
struct http_piece {
    struct list node;  /* in http_context.pieces, if it is not pinned */
    struct list mine;  /* in http_remote.pieces */
    struct list batch; /* pieces that one thread fetches */
    struct http_remote *remote;
    uint64_t off;
    size_t len; /* that are wanted, and then that have come */
    unsigned nusers;
    bool ready;  /* the bytes, or an error, have come */
    bool pinned; /* stays as long as the remote */
    bool unkept; /* the disk may keep it, and no thread has seen to that */
    bool from_disk;
    int error;     /* -EAGAIN: it must be looked for elsewhere */
    uint64_t used; /* a bit for each 64th part of it that was read */
    struct net_request request;
    uint8_t bytes[];
};

/* One object in one state. */
struct http_remote {
    /* Constant. */
    struct http_context *context;
    struct url url;

    unsigned nrefs;
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
    char etag[NET_ETAG_MAX];
    uint64_t nstale; /* remotes of the context that had become stale before */
};

/*
 * Take note of what a reply tells.  The first one tells the state; all others
 * must agree.  Returns 0 or -ESTALE.
 */
int http_remote_note_locked(struct http_remote *remote,
                            const struct net_reply *reply);

/* The server has another state. */
void http_remote_set_stale_locked(struct http_remote *remote);

/* The server has not answered a request in time. */
void http_remote_quiet_locked(struct http_context *context);

/* Wait until the state is known, or fetch the start of the object, by which it
   gets known. */
int http_remote_know(struct http_remote *remote);

/* Make a piece that the caller uses, and fills or has filled.  NULL: there is no
   memory. */
struct http_piece *http_piece_new_locked(struct http_remote *remote,
                                         uint64_t off, size_t len);

/* End the use of a piece. */
void http_piece_release_locked(struct http_piece *piece);

/* Free a piece that nobody uses. */
void http_piece_free_locked(struct http_piece *piece);

#endif
