/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_HTTP_MEMORY_H
#define STORE_HTTP_MEMORY_H

#include <pthread.h>

#include "base/list.h"
#include "net/net.h"
#include "store/http_remote.h"
#include "store/store_http.h"

/*
 * The bytes of objects on servers that are in memory, or on their way: pieces.
 * All stores of one loop share the memory.
 *
 * A thread that waits for bytes gets memory in any case.  Bytes are fetched
 * ahead only within the limit.
 *
 * Locking.  `lock` guards the pieces and all that http_context and http_remote
 * have, unless they say otherwise.  While it is held, no lock is taken but that
 * of net and that of the owner.  No thread holds it during a request, or while
 * it copies bytes.
 */
struct http_memory {
    struct net_extra extra;
    struct http_disk *disk; /* constant; NULL: nothing is kept on disk */
    pthread_mutex_t lock;
    struct list kept;   /* pieces that were read, the one used longest ago
                           first */
    struct list wanted; /* pieces that were not read yet, in the order in which
                           they were made */
    size_t used;        /* bytes in all pieces, and in objects to be sent */
    size_t kept_used;   /* bytes in the pieces in `kept` */
    size_t counted;     /* of these, bytes that `owner` knows of */
    struct store_http_owner owner;
};

/* A run of bytes of a remote. */
struct http_piece {
    struct list node;    /* in `kept` or `wanted`, if it is not pinned */
    struct list mine;    /* in http_remote.pieces */
    struct list batch;   /* pieces that one thread fetches */
    struct list waits;   /* of struct http_wait */
    pthread_cond_t came; /* it is ready */
    struct http_remote *remote;
    uint64_t off;
    size_t len; /* that are wanted, and then that have come */
    unsigned nusers;
    bool first;  /* the remote gets known by it */
    bool ready;  /* the bytes, or an error, have come */
    bool kept;   /* it is in `kept`: a thread has read it */
    bool pinned; /* stays as long as the remote */
    bool unkept; /* the disk may keep it, and no thread has seen to that */
    bool from_disk;
    int error;     /* -EAGAIN: it must be looked for elsewhere */
    uint64_t used; /* a bit for each 64th part of it that was read */
    int64_t ready_ns;
    struct net_request request;
    uint8_t bytes[];
};

/* The memory of a loop, which frees it.  NULL: there is none. */
struct http_memory *http_memory_of(struct net *net);

/* Drop the lock, and tell the owner how much is used now. */
void http_memory_unlock(struct http_memory *memory);

/* Count bytes of objects that are to be sent, or no longer. */
void http_memory_count(struct http_memory *memory, ptrdiff_t change);

/* Is there room for so many more bytes that nobody waits for yet?  Frees pieces
   that nobody will probably read. */
bool http_memory_has_room_locked(struct http_memory *memory, size_t len);

/* Free pieces that were read, if there are too many. */
void http_memory_evict_locked(struct http_memory *memory);

/* Make a piece that the caller uses, and fills or has filled.  NULL: there is
   no memory. */
struct http_piece *http_piece_new_locked(struct http_remote *remote,
                                         uint64_t off, size_t len);

/* Free a piece that nobody uses. */
void http_piece_free_locked(struct http_piece *piece);

/* A thread reads a piece, which has come. */
void http_piece_touch_locked(struct http_piece *piece);

/* Note how many bytes of a piece have come. */
void http_piece_fill_locked(struct http_piece *piece, uint64_t off, size_t len);

#endif
