/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_H
#define NET_NET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "net/url.h"

/*
 * Requests over HTTP.  One thread, the loop, carries all of them, so a request
 * in flight costs no thread.
 *
 * A request is tried again after a random pause when the connection was lost,
 * when the server is busy or fails, and when the reply is not the one that was
 * asked for.  It ends at its deadline at the latest.  Fewer requests are in
 * flight at a time after the server has said that it is busy.
 */
struct net;

/* Bytes in the values of options, with their NULs. */
enum {
    NET_CACERT_MAX = 1024,
    NET_CACHE_MAX = 1024,
    NET_ENDPOINT_MAX = 1024,
    NET_NAME_MAX = 128,
};

/* Options for requests. */
struct net_options {
    unsigned timeout;     /* seconds after which a request fails */
    unsigned retries;     /* tries after the first one */
    unsigned connections; /* requests in flight */
    unsigned revalidate;  /* seconds for which the state of an object counts as
                             known; NET_FOREVER */
    bool newest_tickets;  /* a ticket leads to the newest state of its frame */
    char cacert[NET_CACERT_MAX]; /* file with the certificates that are trusted;
                                    "": those of the system */
    char netcache[NET_CACHE_MAX]; /* directory that keeps what was fetched, see
                                     store/disk_cache.h; "": none */
    uint64_t netcache_size;       /* bytes that it may have */

    /* For URLs with s3; "": as the environment and the files of AWS say, see
       net/aws_settings.h. */
    char endpoint[NET_ENDPOINT_MAX];
    char region[NET_NAME_MAX];
    char profile[NET_NAME_MAX];
    bool anonymous; /* requests are not signed */

    bool no_core; /* this process must leave no core file, because it may have
                     secrets once there is a loop */

    /* For changes on servers of S3. */
    unsigned grace;     /* seconds before an object that nothing refers to is
                           deleted */
    bool single_writer; /* nobody else changes the frames, so a server need not
                           check conditions */

    /* Called with one line for each request that has failed with -EIO, or with
       -EACCES for an unusual reason; mostly by the loop.  NULL: nobody is
       told. */
    void (*report)(const char *line);
};

#define NET_FOREVER UINT_MAX

/* The options that hold if the user sets none. */
#define NET_DEFAULT_OPTIONS                                               \
    {                                                                     \
        .timeout = 30, .retries = 10, .connections = 32, .revalidate = 1, \
        .netcache_size = UINT64_C(10) << 30, .grace = 86400,              \
    }
extern const struct net_options net_default_options;

/*
 * Set an option from text.
 *
 *  name   timeout, retries, connections, revalidate, cacert, netcache,
 *         netcache_size, ticket, endpoint, region, profile, anonymous, grace or
 *         single_writer
 *  value  "" for anonymous and single_writer
 *
 * Returns 0, -EINVAL if the value is not valid for the option, or -ENOENT if
 * there is no such option.
 */
int net_options_set(struct net_options *options, const char *name,
                    const char *value);

/* Get one reference to a new loop.  Returns 0, -ENOMEM, or -EPROTONOSUPPORT
   if net_is_supported() says no. */
int net_new(const struct net_options *options, struct net **out);

/* The process is about to end: from now on, once a server has sent nothing in
   the whole time of a request, all requests fail at once. */
void net_end(struct net *net);

/* Can this build make requests, and are the libraries there that it needs? */
bool net_is_supported(void);

/* Take one more reference; net_put() gives it back. */
struct net *net_get(struct net *net);

/* Drop a reference; accepts NULL.  With the last one, requests that are still
   in flight end with -ECANCELED.  Callbacks must not drop the last one. */
void net_put(struct net *net);

/* How a server treats the conditions of a PUT. */
enum net_conditions {
    NET_CONDITIONS_UNKNOWN,
    NET_CONDITIONS_IGNORED,
    NET_CONDITIONS_QUOTED, /* If-Match has the ETag as the server sends it */
    NET_CONDITIONS_BARE,   /* or without its quotes */
};

/* Get or set the place of the server that has a bucket of S3. */
enum net_conditions net_get_conditions(struct net *net, const char *bucket);
void net_set_conditions(struct net *net, const char *bucket,
                        enum net_conditions conditions);

/* Get the options that the loop was made with. */
const struct net_options *net_get_options(const struct net *net);

/*
 * Find out which URL is asked for one with s3; another URL is copied.  Returns
 * 0, and then the caller releases `out`, or a negative errno.
 */
int net_map(struct net *net, const struct url *url, struct url *out);

/* Memory that a layer above keeps with a loop. */
struct net_extra {
    void (*free)(struct net_extra *extra); /* called when the loop has ended */
};

/* Get the result of `make` for this loop, which may be NULL.  It is called
   once. */
struct net_extra *net_get_extra(
    struct net *net,
    struct net_extra *(*make)(const struct net_options *options));

/* The kind of a request. */
enum net_method {
    NET_GET,    /* bytes */
    NET_HEAD,   /* only size, tag and time */
    NET_PUT,    /* send `body`; for `whole` */
    NET_POST,   /* likewise */
    NET_DELETE, /* for `whole` */
};

/* The longest tag and request id that are kept, with the NUL; and the header
   that gives an object an id when it is PUT, and shows it later. */
enum {
    NET_ETAG_MAX = 128,
    NET_ID_MAX = 64
};
#define NET_PUT_ID "x-amz-meta-framefs-commit"

/* The answer of a server about an object. */
struct net_reply {
    uint64_t size;           /* bytes in the object */
    uint64_t off;            /* of the first byte that was stored */
    size_t len;              /* bytes that were stored: as many as were asked
                                for, except at the end of the object */
    time_t modified;         /* Last-Modified; 0: unknown */
    time_t date;             /* the server's clock; 0: unknown */
    char etag[NET_ETAG_MAX]; /* with its quotes; "": unknown */
    char put_id[NET_ID_MAX]; /* of the object, see NET_PUT_ID; "": none */
    bool redirected;         /* another URL has answered */
};

/*
 * One request.  The caller owns it, and everything that it points to, and
 * keeps both until the request is done.
 */
struct net_request {
    enum net_method method;
    const struct url
        *url;             /* one with s3 is mapped to the URL of its server, and
                              the request is signed */
    bool from_end;        /* get the last `len` bytes, not those at `off` */
    uint64_t off;         /* range to get; ignored for HEAD */
    size_t len;           /* never 0 for GET */
    uint8_t *buf;         /* room for `len` bytes */
    const char *if_match; /* ETag that the object must have; NULL: any */
    unsigned timeout;     /* seconds; 0: as the options say */
    bool ahead;           /* nobody waits for it yet, see net_want() */

    /* For requests that are not for a range of an object. */
    bool whole;               /* get all of an answer, which has up to `len`
                                 bytes, in any reply with a status of 2xx; `off`
                                 and `if_match` are ignored.  Without `buf` the
                                 answer is dropped */
    bool direct;              /* ask no proxy */
    bool once;                /* it may be sent again only if the server cannot
                                 have got it, or has refused it */
    const void *body;         /* of NET_PUT and NET_POST; it may be sent several
                                 times */
    size_t body_len;          /* bytes */
    const char *const *lines; /* headers, "Name: value"; ends in NULL.  They may
                                 be secrets */

    /* Called by the loop when the request is done.  It must not block, and may
       free the request and submit others. */
    void (*done)(struct net_request *request);
    void *context; /* the caller's own */

    /*
     * The result, of a request that is done:
     *
     *  0           `reply` is set
     *  -ENOENT     there is no such object
     *  -EACCES     the server refuses it
     *  -ESTALE     the object has another ETag, or a condition among `lines`
     *              does not hold.  An earlier try may have changed the object
     *              itself, see `ntries`
     *  -ENOSPC     the server is full
     *  -EDQUOT     a quota is used up
     *  -ENOTSUP    the server sends whole objects, not ranges, or does not know
     *              what it is asked for
     *  -ECANCELED  see net_cancel()
     *  -ENOMEM
     *  -EIO        anything else, after all tries.  A change may have been made
     */
    int error;
    unsigned ntries; /* requests that may have reached the server */
    struct net_reply reply;

    struct net_transfer *transfer; /* used by the loop */
};

/*
 * Begin a request.  `done` is called later, even if it fails at once.
 *
 * If the thread is in an operation (base/operation.h), the request also ends
 * when none of its changes was answered for the time `net_options.timeout`, and
 * since the operation has begun.
 *
 * Returns 0; -EIO if that time is over; or another negative errno.  Then `done`
 * is not called.
 */
int net_submit(struct net *net, struct net_request *request);

/*
 * Ask for the end of a request, which soon calls `done` with -ECANCELED, unless
 * it is done before.  The caller sees to it that `request` still exists.
 */
void net_cancel(struct net *net, struct net_request *request);

/*
 * Somebody waits for a request now that was made ahead.  Until then it is sent
 * after all others, and nobody is told if it fails.  The caller sees to it that
 * `request` still exists.
 */
void net_want(struct net *net, struct net_request *request);

/*
 * Make requests at the same time, and wait until all are done.  Uses their
 * `done` and `context`.  The result of each is in its `error`.  If the program
 * that this thread serves is told to end (base/killed.h), they are cancelled.
 * Must not be called by a callback.
 */
void net_run(struct net *net, struct net_request *requests, size_t n);

/* Reasons for which requests are tried again. */
enum net_cause {
    NET_BUSY,       /* 429 or 503 */
    NET_FAILING,    /* another 5xx, 408, or 409 of requests that meet */
    NET_CONNECTION, /* none was possible, or it was lost */
    NET_SLOW,       /* nothing came for a long time */
    NET_WRONG,      /* a reply that is too short or not the one asked for */
    NET_NCAUSES
};

/* Statistics, since the loop was made. */
struct net_stats {
    uint64_t gets;                 /* requests that were sent, with those that
                                      were tried again */
    uint64_t heads;                /* likewise */
    uint64_t puts;                 /* likewise, those that change something */
    uint64_t redirects;            /* replies that named another URL */
    uint64_t retries[NET_NCAUSES]; /* by enum net_cause */
    uint64_t failed;               /* requests that ended with -EIO */
    uint64_t received;             /* bytes of objects */
    uint64_t used;                 /* of these, see net_count_used() */
    uint64_t running;              /* requests in flight at this moment */
    uint64_t p50_us; /* time from a request to the first byte of */
    uint64_t p99_us; /* its reply, in microseconds: percentiles,
                                      rounded up by at most a fifth */
};

/* Count bytes that were received and that somebody has read. */
void net_count_used(struct net *net, uint64_t nbytes);
/* How fast the servers of a loop are. */
struct net_speed {
    uint64_t rtt_us; /* time to the first byte of a reply, without the time that
                        requests waited for others; 0: unknown */
    uint64_t single; /* bytes that one reply brings in a second; 0: unknown */
    uint64_t all;    /* the same of all replies together */
};

/* Get the speed as it was lately, at its best; all zero until there were some
   replies. */
void net_get_speed(struct net *net, struct net_speed *out);

/* Get the statistics. */
void net_get_stats(struct net *net, struct net_stats *out);

#endif
