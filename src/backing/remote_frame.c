/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/remote_frame.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backing/backing_ops.h"
#include "backing/single_frame.h"
#include "base/clock.h"
#include "frame/frame_object.h"
#include "frame/frame_remote.h"
#include "store/store_http.h"
#include "store/store_local.h"

enum {
    STAT_BLOCK = 512,
    STATFS_BLOCK = 4096,
    FRAME_INO = 2 /* of a sparse frame */
};

struct remote_frame {
    char *url;                  /* constant; NULL: `ticket` says where it is */
    struct frame_ticket ticket; /* constant */
    struct file_context *files; /* constant while mounted */
    struct store_http_saved *saved; /* likewise: what is known of the frame, or
                                       NULL */

    /* A leaf, which guards: */
    pthread_mutex_t lock;
    struct store *store; /* NULL: not opened yet */
};

/* The name that an unnamed frame gets, such as that of a whole server. */
static const char default_name[] = "frame.b2frame";

static int hex_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Decode the last name of a path, whose encoding is valid. */
static void decode_name(const char *path, size_t len, char name[NAME_MAX + 1])
{
    size_t start = len;
    size_t n = 0;

    while (start > 0 && path[start - 1] != '/')
        start--;
    for (size_t i = start; i < len && n < NAME_MAX; i++) {
        name[n++] = path[i];
        if (path[i] != '%')
            continue;
        name[n - 1] =
            (char)(hex_value(path[i + 1]) << 4 | hex_value(path[i + 2]));
        i += 2;
    }
    name[n] = '\0';
}

/* Choose the name under which the frame shows. */
static char *choose_name(const char *text)
{
    char name[NAME_MAX + 1];
    const char *why;
    struct url url;
    size_t len;

    if (url_parse(text, &url, &why) < 0)
        return NULL;
    len = strlen(url.path);
    while (len > 0 && url.path[len - 1] == '/')
        len--;
    decode_name(url.path, len, name);
    url_fini(&url);
    if (name[0] == '\0' || strchr(name, '/') || strcmp(name, ".") == 0 ||
        strcmp(name, "..") == 0)
        return strdup(default_name);
    return strdup(name);
}

static int open_store(struct remote_frame *remote,
                      const struct net_options *options)
{
    const char *why;
    struct net *net;
    int r = net_new(options, &net);

    if (r < 0)
        return r;
    if (remote->url)
        r = frame_remote_open(net, remote->url, &remote->store, &why);
    else
        r = frame_ticket_open(net, &remote->ticket, &remote->store);
    net_put(net);
    return r;
}

static void rest(struct remote_frame *remote)
{
    store_close(remote->store);
    remote->store = NULL;
}

bool remote_frame_is_frame(const struct remote_frame *remote)
{
    return frame_remote_is_frame(remote->store);
}

bool remote_frame_can_change(const struct remote_frame *remote)
{
    return remote->url && store_names_once(remote->store);
}

void remote_frame_rest(struct remote_frame *remote)
{
    if (remote->store && remote->url && !remote->saved)
        remote->saved = store_http_save(remote->store);
    rest(remote);
}

void remote_frame_start(struct remote_frame *remote, struct file_context *files)
{
    remote->files = files;
}

void remote_frame_free(struct remote_frame *remote)
{
    if (!remote)
        return;
    rest(remote);
    pthread_mutex_destroy(&remote->lock);
    free(remote->url);
    store_http_saved_free(remote->saved);
    frame_ticket_fini(&remote->ticket);
    free(remote);
}

/* Open the frame in the state that was found before the mount. */
static int open_saved(const struct backing_source *source, struct net *net,
                      struct store **out)
{
    int r = store_http_open_saved(net, source->remote->saved, out);

    if (r < 0 || !source->writable)
        return r;
    r = store_s3_allow_changes(*out, false);
    if (r < 0)
        store_close(*out);
    return r;
}

/* Open the store with what carries the requests of the mount. */
static int open_mounted(const struct backing_source *source, struct store **out,
                        struct fault *fault)
{
    const struct remote_frame *remote = source->remote;
    struct net *net = NULL;
    int r;

    if (remote->url && !remote->saved)
        return file_store_open(remote->files, remote->url,
                               source->writable ? STORE_WRITE : 0, out, fault);
    r = file_context_net(remote->files, &net);
    if (r == 0) {
        r = remote->saved ? open_saved(source, net, out)
                          : frame_ticket_open(net, &remote->ticket, out);
        net_put(net);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

static struct store *find_store(struct remote_frame *remote)
{
    struct store *store = NULL;

    pthread_mutex_lock(&remote->lock);
    if (remote->store)
        store = store_get(remote->store);
    pthread_mutex_unlock(&remote->lock);
    return store;
}

/* Get the store of the frame, which all share.  Two threads may both open one;
   the first wins. */
static int get_store(const struct backing_source *source, struct store **out,
                     struct fault *fault)
{
    struct remote_frame *remote = source->remote;
    struct store *store = find_store(remote);
    int r;

    if (!store) {
        r = open_mounted(source, &store, fault);
        if (r < 0)
            return r;
        pthread_mutex_lock(&remote->lock);
        if (!remote->store)
            remote->store = store_get(store);
        pthread_mutex_unlock(&remote->lock);
    }
    *out = store;
    return 0;
}

/* SOURCE outlives all places, so there are no references. */
static int own(struct backing_place *place __attribute__((unused)))
{
    return 0;
}

static void release(struct backing_place *place __attribute__((unused)))
{
}

static int frame_kind(const struct backing_place *place)
{
    const struct backing_source *source = place->holder;

    return (int)source->only_kind;
}

static void show(const struct store_stat *stat, struct stat *out)
{
    *out = (struct stat){
        .st_dev = stat->version.dev,
        .st_ino = stat->version.ino,
        .st_mode = S_IFREG | stat->mode,
        .st_nlink = 1,
        .st_uid = stat->uid,
        .st_gid = stat->gid,
        .st_size = (off_t)stat->version.size,
        .st_blksize = STATFS_BLOCK,
        .st_blocks = (blkcnt_t)(stat->allocated / STAT_BLOCK),
        .st_atim = stat->version.mtime,
        .st_mtim = stat->version.mtime,
        .st_ctim = stat->version.ctime,
    };
}

/* A sparse frame stays the same file after a commit.  The identity of its index
   shows in the nanoseconds of a time, because other layers compare times to
   find out whether the frame has changed. */
static void show_commit(struct stat *out)
{
    out->st_ctim.tv_nsec = (long)(out->st_ino % CLOCK_SECOND_NS);
    out->st_ino = FRAME_INO;
}

static int stat_frame(const struct backing_place *place,
                      enum entry_kind kind __attribute__((unused)),
                      struct stat *out)
{
    struct fault fault = FAULT_NONE;
    struct store_stat stat;
    struct store *store;
    int r = get_store(place->holder, &store, &fault);

    if (r < 0)
        return r;
    r = frame_object_stat(store, NULL, &stat);
    store_close(store);
    if (r < 0)
        return r;
    show(&stat, out);
    if (place->made_up_ino)
        show_commit(out);
    return 0;
}

static int store_of(const struct backing_place *place,
                    enum entry_kind kind __attribute__((unused)),
                    unsigned flags __attribute__((unused)), struct store **out,
                    struct fault *fault)
{
    return get_store(place->holder, out, fault);
}

static const struct backing_ops remote_frame_ops = {
    .own = own,
    .release = release,
    .stat = stat_frame,
    .frame_kind = frame_kind,
    .store = store_of,
    .pin = remote_pin,
};

void remote_frame_place(const struct backing_source *source,
                        struct backing_place *out)
{
    /* Drop the const: the holder of a place is changed by those who own it. */
    *out = (struct backing_place){
        .ops = &remote_frame_ops,
        .made_up_ino = entry_traits[source->only_kind].sparse,
        .dirfd = -1,
        .holder = (void *)(uintptr_t)source,
    };
    strcpy(out->name, source->only);
}

int remote_statfs(const struct backing_source *source __attribute__((unused)),
                  struct statvfs *out)
{
    *out = (struct statvfs){
        .f_bsize = STATFS_BLOCK,
        .f_frsize = STATFS_BLOCK,
        .f_namemax = NAME_MAX,
    };
    return 0;
}

int remote_pin(const struct backing_place *place __attribute__((unused)),
               enum entry_kind kind __attribute__((unused)),
               struct backing_object *out __attribute__((unused)))
{
    return -ENOTSUP;
}

int remote_sync(const struct backing_source *source __attribute__((unused)))
{
    return 0;
}

static const struct backing_source_ops remote_source_ops = {
    .find = single_frame_find,
    .statfs = remote_statfs,
    .sync = remote_sync,
};

/* Make SOURCE a frame that is yet to be opened. */
static int make(struct backing_source *source, char *name,
                struct remote_frame **out)
{
    struct remote_frame *remote = calloc(1, sizeof(*remote));

    source->only = name;
    if (!remote)
        return -ENOMEM;
    pthread_mutex_init(&remote->lock, NULL);
    source->remote = remote;
    source->ops = &remote_source_ops;
    *out = remote;
    return name ? 0 : -ENOMEM;
}

static int open_first(struct backing_source *source,
                      const struct net_options *options)
{
    struct remote_frame *remote = source->remote;
    int r = open_store(remote, options);

    if (r == 0)
        source->only_kind =
            store_is_directory(remote->store) ? ENTRY_SPARSE : ENTRY_FRAME;
    return r;
}

int remote_frame_open(struct backing_source *source, const char *url,
                      const struct net_options *options)
{
    struct remote_frame *remote;
    int r = make(source, choose_name(url), &remote);

    if (r < 0)
        return r;
    remote->url = strdup(url);
    return remote->url ? open_first(source, options) : -ENOMEM;
}

int remote_frame_open_ticket(struct backing_source *source, const char *path,
                             const struct frame_ticket *ticket,
                             const struct net_options *options)
{
    const char *slash = strrchr(path, '/');
    struct remote_frame *remote;
    int r = make(source, strdup(slash ? slash + 1 : path), &remote);

    if (r == 0)
        r = frame_ticket_copy(ticket, &remote->ticket);
    return r < 0 ? r : open_first(source, options);
}
