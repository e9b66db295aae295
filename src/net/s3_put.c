/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/s3_put.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"

enum {
    CONFLICT_TRIES = 3, /* while the server says that there is a conflict, but
                           has the object that is expected */
    DELETE_TRIES = 3,

    /* Seconds in the life of a marker, see s3_is_young_marker(). */
    MARKER_FRESH = 1,   /* age up to which it may be deleted */
    MARKER_TIMEOUT = 2, /* of the request for that */
    MARKER_YOUNG = 5,   /* age up to which it is not replaced */
};

static const char marker_prefix[] = "moved-";

const char s3_marker[] = "framefs has moved the frame that was here\n";

int s3_put_id(char id[NET_ID_MAX])
{
    struct timespec now;
    uint64_t random;

    if (getrandom(&random, sizeof(random), 0) < 0)
        return -errno;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(id, NET_ID_MAX, "%016" PRIx64 "%016" PRIx64,
             (uint64_t)now.tv_sec * CLOCK_SECOND_NS + (uint64_t)now.tv_nsec,
             random);
    return 0;
}

int s3_marker_id(char id[NET_ID_MAX])
{
    char unique[NET_ID_MAX];
    int r = s3_put_id(unique);

    if (r == 0)
        snprintf(id, NET_ID_MAX, "%s%.32s", marker_prefix, unique);
    return r;
}

bool s3_is_marker(const char *id)
{
    return strncmp(id, marker_prefix, strlen(marker_prefix)) == 0;
}

bool s3_is_young_marker(const struct s3_found *found)
{
    return s3_is_marker(found->id) && found->date > 0 && found->modified > 0 &&
           found->date - found->modified < MARKER_YOUNG;
}

int64_t s3_put_id_time(const char *id)
{
    char digits[16 + 1] = "";
    uint64_t ns;

    if (strlen(id) != 2 * 16 || strspn(id, "0123456789abcdef") != 2 * 16)
        return 0;
    memcpy(digits, id, 16);
    ns = strtoull(digits, NULL, 16);
    return ns <= INT64_MAX ? (int64_t)ns : 0;
}

bool s3_put_condition(enum net_conditions conditions, const char *expected,
                      char line[S3_CONDITION_LEN])
{
    const char *etag = expected;
    int len;

    if (!etag || conditions == NET_CONDITIONS_IGNORED)
        return false;
    if (etag[0] == '\0') {
        strcpy(line, "If-None-Match: *");
        return true;
    }
    len = (int)strlen(etag);
    if (conditions == NET_CONDITIONS_BARE && len >= 2 && etag[0] == '"') {
        etag++;
        len -= 2;
    }
    snprintf(line, S3_CONDITION_LEN, "If-Match: %.*s", len, etag);
    return true;
}

static int try_put(struct net *net, const struct s3_put *put,
                   struct s3_found *found, unsigned *ntries)
{
    char id[sizeof(NET_PUT_ID) + 2 + NET_ID_MAX];
    char condition[S3_CONDITION_LEN];
    const char *lines[] = { id, NULL, NULL };
    struct net_request request = {
        .method = NET_PUT,
        .url = put->url,
        .whole = true,
        .body = put->body,
        .body_len = put->len,
        .lines = lines,
    };

    snprintf(id, sizeof(id), NET_PUT_ID ": %s", put->id);
    if (s3_put_condition(put->conditions, put->expected, condition))
        lines[1] = condition;
    net_run(net, &request, 1);
    *ntries = request.ntries;
    if (request.error < 0)
        return request.error;
    memcpy(found->etag, request.reply.etag, sizeof(found->etag));
    snprintf(found->id, sizeof(found->id), "%s", put->id);
    found->modified = request.reply.date;
    return 0;
}

int s3_find(struct net *net, const struct url *url, struct s3_found *out)
{
    struct net_request request = { .method = NET_HEAD, .url = url };

    net_run(net, &request, 1);
    if (request.error < 0)
        return request.error;
    memcpy(out->etag, request.reply.etag, sizeof(out->etag));
    memcpy(out->id, request.reply.put_id, sizeof(out->id));
    out->modified = request.reply.modified;
    out->date = request.reply.date;
    return 0;
}

/* Must there be no object? */
static bool must_be_new(const struct s3_put *put)
{
    return put->expected && put->expected[0] == '\0';
}

/*
 * Find out the effect of a PUT that has failed.  Returns 0 if it has
 * succeeded after all, -EAGAIN if it may be tried again, or its error.
 */
static int ask(struct net *net, const struct s3_put *put, int error,
               struct s3_found *found)
{
    int r;

    *found = (struct s3_found){ 0 };
    r = s3_find(net, put->url, found);
    if (r == 0 && strcmp(found->id, put->id) == 0)
        return 0;
    if (r < 0 && r != -ENOENT)
        return error == -ESTALE ? r : error;
    if (error != -ESTALE)
        return error;
    if (must_be_new(put))
        return r == -ENOENT ? -EAGAIN : -EEXIST;
    return put->expected && strcmp(found->etag, put->expected) == 0 ? -EAGAIN
                                                                    : -ESTALE;
}

int s3_put(struct net *net, const struct s3_put *put, struct s3_found *found)
{
    int r = -EAGAIN;

    for (int i = 0; i < CONFLICT_TRIES && r == -EAGAIN; i++) {
        unsigned ntries;

        *found = (struct s3_found){ 0 };
        r = try_put(net, put, found, &ntries);
        if (r == 0 && found->etag[0] == '\0')
            r = s3_find(net, put->url, found);
        else if (r == -ESTALE && must_be_new(put) && ntries == 1)
            r = -EEXIST;
        else if (r == -ESTALE || r == -EIO)
            r = ask(net, put, r, found);
    }
    return r == -EAGAIN ? -ESTALE : r;
}

int s3_delete(struct net *net, const struct url *url)
{
    struct net_request request = {
        .method = NET_DELETE,
        .url = url,
        .whole = true,
    };

    net_run(net, &request, 1);
    return request.error == -ENOENT ? 0 : request.error;
}

/* Ask the server to delete an object, under the condition that it still is the
   one that was found, if the server is known to heed that. */
static int try_delete(struct net *net, const struct url *url,
                      const struct s3_found *found, bool conditional)
{
    enum net_conditions conditions = net_get_conditions(net, url->host);
    char condition[S3_CONDITION_LEN];
    const char *lines[] = { NULL, NULL };
    struct net_request request = {
        .method = NET_DELETE,
        .url = url,
        .whole = true,
        .once = true,
        .timeout = s3_is_marker(found->id) ? MARKER_TIMEOUT : 0,
        .lines = lines,
    };

    if (conditional && conditions != NET_CONDITIONS_UNKNOWN &&
        found->etag[0] != '\0' &&
        s3_put_condition(conditions, found->etag, condition))
        lines[0] = condition;
    if (!lines[0])
        request.lines = NULL;
    net_run(net, &request, 1);
    return request.error;
}

/* May the object have been the same all the time between two looks? */
static bool is_same(const struct s3_found *a, const struct s3_found *b)
{
    return strcmp(a->etag, b->etag) == 0 && strcmp(a->id, b->id) == 0 &&
           a->modified == b->modified;
}

/* Find out the effect of a request that has failed.  Returns 0 if the object is
   gone, -EAGAIN if it is still there, or an error. */
static int ask_deleted(struct net *net, const struct url *url,
                       struct s3_found *first, int error)
{
    struct s3_found now;
    int r = s3_find(net, url, &now);

    if (r == -ENOENT)
        return 0;
    if (r < 0)
        return error;
    if (is_same(first, &now)) {
        *first = now;
        return -EAGAIN;
    }
    return error == -EIO ? -EEXIST : -ESTALE;
}

/* Put a marker again that is too old to be deleted.  Returns -ESTALE if another
   object has taken its place. */
static int renew_marker(struct net *net, const struct url *url,
                        struct s3_found *marker)
{
    char id[NET_ID_MAX];
    struct s3_found found;
    const struct s3_put put = {
        .url = url,
        .body = s3_marker,
        .len = strlen(s3_marker),
        .id = id,
        .conditions = net_get_conditions(net, url->host),
        .expected = marker->etag,
    };
    int r;

    if (!s3_is_marker(marker->id) || put.conditions == NET_CONDITIONS_UNKNOWN ||
        put.conditions == NET_CONDITIONS_IGNORED ||
        (marker->date > 0 && marker->modified > 0 &&
         marker->date - marker->modified <= MARKER_FRESH))
        return 0;
    r = s3_marker_id(id);
    if (r == 0)
        r = s3_put(net, &put, &found);
    if (r == 0)
        r = s3_find(net, url, &found);
    if (r == 0 && strcmp(found.id, id) != 0)
        r = -ESTALE;
    if (r == 0)
        *marker = found;
    return r == -ENOENT ? -ESTALE : r;
}

int s3_delete_once(struct net *net, const struct url *url, const char *expected)
{
    struct s3_found first = { 0 };
    bool conditional = true;
    bool doubt = false;
    int r = s3_find(net, url, &first);

    if (r == 0 && expected && strcmp(first.etag, expected) != 0)
        r = -ESTALE;
    /* Some servers do not tell of objects whose keys end with a slash. */
    if (r < 0 && (r != -ENOENT || expected))
        return r;
    r = -EAGAIN;
    for (int i = 0; i < DELETE_TRIES && r == -EAGAIN; i++) {
        int error = renew_marker(net, url, &first);

        if (error < 0)
            return error == -ESTALE && doubt ? -EEXIST : error;
        error = try_delete(net, url, &first, conditional);
        if (error == 0 || error == -ENOENT)
            return 0;
        if (error != -EIO && error != -ESTALE && error != -ENOTSUP)
            return error;
        doubt = doubt || error == -EIO;
        conditional = error == -EIO; /* or else it is what is refused */
        r = ask_deleted(net, url, &first, doubt ? -EIO : error);
    }
    return r == -EAGAIN ? -EIO : r;
}
