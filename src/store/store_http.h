/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_HTTP_H
#define STORE_STORE_HTTP_H

#include "net/net.h"
#include "store/store.h"

/*
 * Stores of objects on a web server, or on a server of S3, whose objects are
 * read in the same way.  Directories on a server of S3 can be changed.
 *
 * A store shows one state of its object "", or of the object of a directory
 * that was opened last, the index.  Once the server is found to have another
 * state, store_object_stat() and reads return -ESTALE, and the next
 * store_open() opens the new state.  The server is asked for changes when its
 * last answer is older than net_options.revalidate seconds.
 *
 * Objects of a directory whose names end with ".chunk" do not change while the
 * index has one state.  To open one costs no request; its size comes with its
 * first bytes.  If one is missing, or is newer than the index, the server is
 * asked whether the index has changed.
 *
 * Bytes that were fetched are kept on disk if net_options.netcache says where;
 * see http_cached.h.
 *
 * A server knows no owners, so all objects belong to the user of this process,
 * and everyone may read them.  Errors are those of struct net_request.
 */

/* Whoever pays for the memory of stores that share a loop. */
struct store_http_owner {
    size_t limit; /* bytes of objects in memory, and on their way, beyond which
                     nothing is fetched ahead */
    /* Told of each change in the number of those bytes, by any thread, with a
       lock held that is a leaf but for this. */
    void (*count)(void *context, ptrdiff_t change);
    void *context;
};

/* Set the owner, or none, which ends all calls of `count`.  Returns 0 or
   -ENOMEM. */
int store_http_set_owner(struct net *net, const struct store_http_owner *owner);

/*
 * Open the store of one object.  Its start and its end are fetched at once.
 *
 *  net  carries the requests; the store takes a reference
 *  url  with http, https or s3; copied
 */
int store_http_open(struct net *net, const struct url *url, struct store **out);

/* Open the store of the objects below a URL, which has no query.  This makes no
   request, so it succeeds even if there are none.  It can be listed if the URL
   has s3. */
int store_http_open_dir(struct net *net, const struct url *url,
                        struct store **out);

/* The answer of a server about the state of an object. */
struct store_http_tag {
    uint64_t size;           /* bytes */
    time_t modified;         /* 0: unknown */
    char etag[NET_ETAG_MAX]; /* with its quotes; "": unknown */
};

/* Get the state of the object, or the index, that was opened last.  Returns 0,
   or -ESTALE if none was, also of a store of another kind. */
int store_http_get_tag(struct store *store, struct store_http_tag *out);

/* The process itself has removed the object or the frame: take the state that
   is known for the last one, and do not ask for changes; or ask again.  Takes
   no lock.  Does nothing to a store of another kind, or to NULL: a file that
   is only read may have none. */
void store_http_set_final(struct store *store, bool final);

/* Has the disk a state of an object that still counts, so that no request is
   needed to open it? */
bool store_http_is_kept(struct net *net, const struct url *url);

/* The work of the disk for a loop. */
struct store_http_stats {
    uint64_t hits;    /* reads of bytes that it had */
    uint64_t misses;  /* and of those that it did not have */
    uint64_t read;    /* bytes read from it */
    uint64_t written; /* bytes written to it */
    uint64_t wrong;   /* files that were removed because of their checksums */
};

/* Get the statistics, since the loop was made. */
void store_http_get_stats(struct net *net, struct store_http_stats *out);

/* The start of an object, as a server has sent it. */
struct store_http_start {
    const char *name; /* of the object: "", or that of the index of a
                         directory */
    const struct net_reply *reply;
    int64_t known_ns; /* clock_monotonic_ns() when the server told that this is
                         the state of the object */
    const uint8_t *bytes;
    size_t len;
    const uint8_t *tail; /* the last bytes, or NULL */
    size_t tail_len;
};

/*
 * Open the store of one object, or of the objects below a URL, of which the
 * caller has just got the start.  This makes no request.
 *
 *  directory  the URL is that of a directory; as for store_http_open_dir()
 *  start      copied
 */
int store_http_open_start(struct net *net, const struct url *url,
                          bool directory, const struct store_http_start *start,
                          struct store **out);

/* What is in memory of a store that was opened, to open it with another
   loop. */
struct store_http_saved;

/* Copy the state that a store shows, with the start and the end of its object.
   Returns NULL if there is no memory, or nothing that would save a request. */
struct store_http_saved *store_http_save(struct store *store);

/* Open the store again.  This makes no request.  Returns 0 or -ENOMEM. */
int store_http_open_saved(struct net *net, const struct store_http_saved *saved,
                          struct store **out);

/* Accepts NULL. */
void store_http_saved_free(struct store_http_saved *saved);

/*
 * Allow changes, before other threads use the store.  See store_names_once()
 * for how they work.  Each object is kept in memory until it is synced or
 * published, and then put as a whole.
 *
 *  replace  store_publish() of an index that was not opened may replace one
 *
 * Returns 0, or -EROFS if it is not a directory on a server of S3.
 */
int store_s3_allow_changes(struct store *store, bool replace);

/* Is told of the states of the index, or of the object "", of a store. */
struct store_http_listener {
    void (*published)(
        struct store_http_listener *listener);           /* the committer has
                           put a new one */
    void (*stale)(struct store_http_listener *listener); /* the server may have
                       another one than the store has shown.  Any thread may
                       call it, with no lock of this layer */
    void (*free)(struct store_http_listener *listener);
};

/* Set the listener of a store, before other threads use it.  It belongs to the
   store from then on. */
void store_http_set_listener(struct store *store,
                             struct store_http_listener *listener);

/*
 * Open a store for one object "" that is to be made on a server of S3: a draft
 * that is written from start to end, but for its first 8 MiB, which may be
 * written at any time.  The rest is sent in parts while it is written.
 *
 *  url      copied
 *  replace  store_publish() may replace the object that is there now
 *
 * Returns 0, -EEXIST, -ENOMEM or an error of struct net_request.
 */
int store_s3_new_object(struct net *net, const struct url *url, bool replace,
                        struct store **out);

/* List the names of objects that were put more than net_options.grace seconds
   ago, by the server's clock.  As store_list(). */
int store_s3_list_old(struct store *store,
                      int (*visit)(void *context, const char *name),
                      void *context);

/* Delete objects at once, which nobody may need any more.  No object is deleted
   that another writer puts under one of the names once the server has deleted
   the first one.  Returns 0 or an error of struct net_request, and then some
   may have been deleted. */
int store_s3_delete(struct store *store, char *const *names, size_t n);

/* Ask the server for the state of an object; the size is not set.  Returns 0,
   -ENOENT or another error of struct net_request. */
int store_s3_find(struct store *store, const char *name,
                  struct store_http_tag *out);

/* Moving a sparse frame from one directory to another one on a server. */

/* List all names below a store, with the ETags of objects; "": unknown, NULL: it
   is no object.  Errors as store_list(). */
int store_s3_list_tags(struct store *store,
                       int (*visit)(void *context, const char *name,
                                    const char *etag),
                       void *context);

/* An object, and its ETag. */
struct store_s3_tagged {
    const char *name;
    const char *etag;
};

/* Let the server copy objects from one store to another, where no object has
   these names.  Returns as s3_copy_all(). */
int store_s3_copy(struct store *from, struct store *to,
                  const struct store_s3_tagged *objects, size_t n);

/*
 * Put a marker in the place of an index, so that no program takes the frame for
 * one any more, see s3_marker_id().
 *
 *  tag  its state; receives that of the marker
 *
 * Returns 0; -ESTALE if the index is in another state; or another error of
 * struct net_request.
 */
int store_s3_retire(struct store *store, const char *name,
                    struct store_http_tag *tag);

/* Delete the marker in the place of an index, if there is one.  Returns 1 if it
   was deleted, 0 if there is none, or an error of struct net_request. */
int store_s3_delete_marker(struct store *store, const char *name);

/* Have a store follow its frame to the place of another store.  No other thread
   changes objects of it; readers that are at the older state get -ESTALE.
   `listener` is its own from then on, as store_http_set_listener().  Returns 0
   or -ENOMEM. */
int store_s3_follow(struct store *store, const struct store *to,
                    struct store_http_listener *listener);

/* Delete an index.  `expected`: its state; NULL: any.  Returns as
   s3_delete_once(). */
int store_s3_delete_index(struct store *store, const char *name,
                          const struct store_http_tag *expected);

#endif
