/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame_remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "frame/frame_source.h"
#include "store/store_http.h"

const char frame_remote_whole[] =
    "a contiguous frame behind a URL can only be read; b2frame convert --layout "
    "sparse makes one on s3 that can be changed";
static const char only_read[] = "frames on web servers can only be read";

static bool ends_with_slash(const struct url *url)
{
    return url->path[strlen(url->path) - 1] == '/';
}

static const char *refuse(const struct url *url)
{
    if (url->query && ends_with_slash(url))
        return "the URL of a sparse frame cannot have a query";
    return NULL;
}

static int parse(const char *text, struct url *out, const char **why)
{
    int r = url_parse(text, out, why);

    if (r < 0)
        return r;
    *why = refuse(out);
    r = *why ? -EINVAL : 0;
    if (r == 0 && !net_is_supported()) {
        *why = "frames are not read by URL, because this build was made "
               "without libcurl and libcrypto, or they are not installed";
        r = -EPROTONOSUPPORT;
    }
    if (r < 0)
        url_fini(out);
    return r;
}

int frame_remote_check(const char *text, const char **why)
{
    struct url url;
    int r = parse(text, &url, why);

    if (r == 0)
        url_fini(&url);
    return r;
}

bool frame_remote_is_frame(struct store *store)
{
    uint8_t bytes[FRAME_MAGIC_LEN];
    struct store_object *object;
    bool looks;

    /* The directory of a sparse frame was found by its index. */
    if (store_is_directory(store))
        return true;
    if (store_open(store, "", &object) < 0)
        return false;
    looks = store_object_read_at(object, 0, bytes, sizeof(bytes)) == 0 &&
            frame_has_magic(bytes, sizeof(bytes));
    store_object_close(object);
    return looks;
}

/* Open the directory of a sparse frame.  Returns -ENOENT if it has no index. */
static int open_dir(struct net *net, const struct url *url, struct store **out)
{
    struct store_stat stat;
    struct store *store;
    int r = store_http_open_dir(net, url, &store);

    if (r < 0)
        return r;
    r = frame_object_stat(store, NULL, &stat);
    if (r < 0) {
        store_close(store);
        return r;
    }
    *out = store;
    return 0;
}

/* Is the index of a sparse frame kept on disk? */
static bool has_kept_index(struct net *net, const struct url *url)
{
    struct url index;
    bool kept;

    if (url->query || url_join(url, FRAME_OBJECT_INDEX, &index) < 0)
        return false;
    kept = store_http_is_kept(net, &index);
    url_fini(&index);
    return kept;
}

/*
 * Servers answer a directory's URL with an error, with a list of its files, or
 * with a redirect; S3 has no directories, and says that there is no such
 * object, or that access is denied.  So if this is no frame, look for an index
 * below it; if there is none, it is what it seemed to be.  A server that has
 * not answered in time is not asked again.
 */
static int open_either(struct net *net, const struct url *url,
                       struct store **out)
{
    int64_t until_ns =
        clock_monotonic_ns() + net_get_options(net)->timeout * CLOCK_SECOND_NS;
    struct store *file = NULL;
    int r = store_http_open(net, url, &file);
    bool late = r == -EIO && clock_monotonic_ns() >= until_ns;
    int dir_error = -ENOENT;

    if (r != -ENOMEM && !late && !url->query &&
        !(r == 0 && frame_remote_is_frame(file)))
        dir_error = open_dir(net, url, out);
    if (dir_error == 0) {
        store_close(file);
        return 0;
    }
    if (r == 0)
        *out = file;
    return r == 0 || dir_error == -ENOENT || dir_error == -EACCES ? r
                                                                  : dir_error;
}

int frame_remote_open(struct net *net, const char *text, struct store **out,
                      const char **why)
{
    struct url url;
    int r = parse(text, &url, why);

    if (r < 0)
        return r;
    if (ends_with_slash(&url) || has_kept_index(net, &url))
        r = open_dir(net, &url, out);
    else
        r = open_either(net, &url, out);
    url_fini(&url);
    return r;
}

static int find_chunk(void *context __attribute__((unused)), const char *name)
{
    char same[FRAME_SOURCE_NAME_LEN];
    uint32_t id;

    if (sscanf(name, "%8" SCNx32, &id) != 1)
        return 0;
    frame_source_name(id, same);
    return strcmp(name, same) == 0;
}

int frame_remote_open_lost(struct net *net, const char *text,
                           struct store **out, const char **why)
{
    struct store *store;
    struct url url;
    int r = parse(text, &url, why);

    if (r < 0)
        return r;
    r = url.scheme == URL_S3 && !url.query
            ? store_http_open_dir(net, &url, &store)
            : -ENOENT;
    url_fini(&url);
    if (r < 0)
        return r;
    r = store_list(store, find_chunk, NULL);
    if (r <= 0) {
        store_close(store);
        return r < 0 ? r : -ENOENT;
    }
    *out = store;
    return 0;
}

int frame_remote_open_to_change(struct net *net, const char *text,
                                struct store **out, const char **why)
{
    struct store *store;
    int r;

    if (!url_has_list(text)) {
        *why = only_read;
        return -EROFS;
    }
    r = frame_remote_open(net, text, &store, why);
    if (r < 0)
        return r;
    r = store_s3_allow_changes(store, false);
    if (r < 0) {
        *why = frame_remote_whole;
        store_close(store);
        return r;
    }
    *out = store;
    return 0;
}

/* Parse the URL of a frame that is to be made. */
static int parse_new(const char *text, struct url *out, const char **why)
{
    int r = parse(text, out, why);

    if (r < 0)
        return r;
    if (out->query) {
        *why = "the URL of a frame to be made cannot have a query";
        r = -EINVAL;
    } else if (out->scheme != URL_S3) {
        *why = only_read;
        r = -EROFS;
    }
    if (r < 0)
        url_fini(out);
    return r;
}

/*
 * Open the store of the frame that is there now.  Returns 0, with NULL if there
 * is none; -EEXIST if it must not be replaced, or has the other layout.
 */
static int open_old(struct net *net, const char *text, bool replace,
                    bool sparse, struct store **out)
{
    const char *why;
    int r = frame_remote_open(net, text, out, &why);

    if (r == -ENOENT) {
        *out = NULL;
        return 0;
    }
    if (r < 0 || (replace && store_is_directory(*out) == sparse))
        return r;
    store_close(*out);
    return -EEXIST;
}

int frame_remote_create(struct net *net, const char *text, bool replace,
                        struct store **out, const char **why)
{
    struct store *store = NULL;
    struct url url;
    int r = parse_new(text, &url, why);

    if (r < 0)
        return r;
    r = open_old(net, text, replace, true, &store);
    if (r == 0 && !store)
        r = store_http_open_dir(net, &url, &store);
    url_fini(&url);
    if (r < 0)
        return r;
    *out = store;
    return store_s3_allow_changes(store, false);
}

int frame_remote_create_whole(struct net *net, const char *text, bool replace,
                              struct store **out, const char **why)
{
    struct store *old = NULL;
    struct url url;
    int r = parse_new(text, &url, why);

    if (r < 0)
        return r;
    if (ends_with_slash(&url)) {
        *why = "the URL of a contiguous frame does not end with a slash";
        r = -EROFS;
    } else {
        r = open_old(net, text, replace, false, &old);
    }
    if (r == 0) {
        store_close(old);
        r = store_s3_new_object(net, &url, replace, out);
    }
    url_fini(&url);
    return r;
}
