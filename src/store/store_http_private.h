/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_HTTP_PRIVATE_H
#define STORE_STORE_HTTP_PRIVATE_H

#include <stdatomic.h>

#include "base/list.h"
#include "store/http_remote.h"
#include "store/store_backend.h"
#include "store/store_http.h"

/* What store_http_open.c, store_http.c, which reads, and store_s3_write.c,
   which changes objects on servers of S3, share. */

enum {
    HTTP_NAME_MAX = 32, /* of an object, with its NUL */
    S3_DOUBTS_MAX = 4,
};

/* Where a store is.  A store may move, see store_s3_follow(); older places stay
   as long as it, because threads may use them. */
struct http_place {
    struct url url;
    struct store_http_listener *listener; /* NULL: none */
    struct http_place *older;
};

/* A store.  Locking.  `lock` is held over no request.  http_memory.lock may be
   taken while it is held. */
struct http_store {
    struct store store;
    struct http_context *context;     /* constant; a reference */
    struct http_place *_Atomic place; /* the newest */
    bool writable;                    /* constant once the store is shared */
    bool replaces;     /* likewise: see store_s3_allow_changes() */
    atomic_bool final; /* see store_http_set_final() */

    pthread_mutex_t lock;
    struct http_remote *current; /* newest state of "" or of the index; NULL:
                                    none was opened */
    char name[HTTP_NAME_MAX];    /* of that object */
    time_t newest;               /* newest chunk object that was seen */
    struct list chunks;          /* the one used longest ago first */
    size_t nchunks;
    char doubts[S3_DOUBTS_MAX][NET_ID_MAX]; /* ids of drafts whose PUT may have
                                               succeeded */
    unsigned ndoubts;                       /* that there have ever been */
    char own[NET_ETAG_MAX]; /* of the index that was put last; "": none was */
    struct list garbage;    /* objects to delete, the one removed first first */
};

/* An object that is read, or the start of one that is made. */
struct http_object {
    struct store_object object;
    struct http_store *store;   /* a reference */
    struct http_remote *remote; /* a reference */
    char name[HTTP_NAME_MAX];
    bool chunk;
};

/* The URL of a store, which stays valid as long as the store. */
const struct url *http_store_url(const struct http_store *store);

/* Make a place from a URL, which is copied.  Returns 0 or -ENOMEM. */
int http_place_new(const struct url *url, struct http_place **out);

/* Get what is told of the states at the newest place; NULL: nothing. */
struct store_http_listener *http_store_listener(const struct http_store *store);

/* Free a place and the older ones.  Accepts NULL. */
void http_place_free(struct http_place *place);

/* Let a store be at another place, which it takes over, and forget all that is
   known of its objects. */
void http_store_move(struct http_store *store, struct http_place *place);

/* The operations of an http_object. */
int http_object_stat(struct store_object *object, struct store_stat *out);
int http_object_read(struct store_object *object,
                     const struct store_range *ranges, size_t nranges);
void http_object_doubt(struct store_object *object);
void http_object_close(struct store_object *object);

/* The result of store_object_stat() for a state. */
struct store_stat http_store_stat(const struct http_store *store,
                                  const struct http_state *state);

/* Is it a store of store_http_open.c? */
bool http_store_is(const struct store *store);

/* Can an object of the store have this name? */
bool http_store_is_name(const struct http_store *store, const char *name);

/* Make a remote of an object of the store. */
int http_store_remote(struct http_store *store, const char *name,
                      struct http_remote **out);

/* Get a reference to the newest known state of an index, or NULL. */
struct http_remote *http_store_current(struct http_store *store,
                                       const char *name);

/* Make this the newest state.  Chunk objects may be others now. */
void http_store_set_current(struct http_store *store, const char *name,
                            struct http_remote *remote);

/* Open the newest state of "" or of an index.  `cached`: a state that the disk
   has, and that still counts, will do. */
int http_store_load(struct http_store *store, const char *name, bool cached,
                    struct http_remote **out);

/* See struct store_ops. */
int http_open_object(struct store *base, const char *name,
                     struct store_object **out);
int http_dir_stat(struct store *base, const char *name, struct store_stat *out);
void http_expect(struct store *base, uint64_t unit);
uint64_t http_ahead(struct store *base);
uint64_t http_known_size(struct store *base, const char *name);
void http_close(struct store *base);

/*
 * Delete what nothing has referred to for long enough, right after this store
 * has put an index: since then, another program may have removed the frame and
 * made a new one, whose chunks have the same names.  s3_sweep_last() looks
 * first whether the index is still there.  s3_free_garbage() only forgets it.
 */
void s3_sweep(struct http_store *store);
void s3_sweep_last(struct http_store *store);
void s3_free_garbage(struct http_store *store);

/* Set up and release the members for changes. */
void s3_write_init(struct http_store *store);
void s3_write_fini(struct http_store *store);

/* See struct store_ops. */
int s3_create(struct store *base, const char *name, const char *like,
              struct store_object **out);
int s3_draft(struct store *base, const char *name, struct store_object **out);
int s3_check_place(struct store *base);
int s3_publish(struct store *base, const char *name,
               struct store_object *draft);
void s3_discard(struct store *base, struct store_object *draft);
int s3_remove(struct store *base, const char *name);
int s3_remove_unused(struct store *base, const char *name);
unsigned s3_nwriters(const struct store *base);
int s3_sync_name(struct store *base);

#endif
