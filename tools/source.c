/* SPDX-License-Identifier: BSD-3-Clause */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#include "array/array.h"
#include "base/log.h"
#include "base/retry.h"
#include "behind.h"
#include "confine.h"
#include "frame/frame_object.h"
#include "frame/metalayer.h"
#include "leaf.h"
#include "lock.h"
#include "piped.h"
#include "remote.h"
#include "store/store_local.h"

/* Does the path still lead to the frame in `store`?  While this program waited
   for the lock, another program may have put a new frame there, which may have
   a lock file of its own. */
static bool is_there(const char *path, struct store *store)
{
    struct store_stat ours;
    struct store_stat theirs;
    struct store *other;
    bool same;

    if (frame_object_stat(store, NULL, &ours) < 0 ||
        confine_store_open(path, 0, &other) < 0)
        return true; /* reading the frame will report the error */
    same = frame_object_stat(other, NULL, &theirs) == 0 &&
           store_version_compare(ours.version, theirs.version) >=
               VERSION_SAME_OBJECT;
    store_close(other);
    return same;
}

static int try_locked(const char *path, unsigned flags, struct store **out)
{
    struct store *store;
    int r = confine_store_open(path, flags | STORE_LOCK, &store);

    if (r < 0)
        return r;
    r = lock_store(store, flags & STORE_WRITE);
    if (r == 0 && !is_there(path, store))
        r = -ESTALE;
    if (r < 0) {
        store_close(store);
        return r;
    }
    *out = store;
    return 0;
}

static int open_locked(const char *path, unsigned flags, struct store **out)
{
    struct retry retry = RETRY_REPLACED_IN_LINE;
    int r;

    do
        r = try_locked(path, flags, out);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

/* If a file is a ticket, open the store of the frame that it leads to in its
   place. */
static int follow(unsigned flags, struct store **store)
{
    struct fault fault = FAULT_NONE;
    struct frame_ticket ticket;
    int r = frame_ticket_read(*store, &ticket, &fault);

    /* If it cannot be read, it is opened as a frame, which tells why. */
    if (r <= 0)
        return 0;
    store_close(*store);
    if (!(flags & STORE_WRITE))
        return remote_open_ticket(&ticket, store);
    frame_ticket_fini(&ticket);
    return -EROFS;
}

/* Open a frame in a store of python-blosc2.  Returns `error` if the path does
   not lead to one. */
static int open_leaf(const char *path, int error, struct store **out,
                     struct fault *fault)
{
    int r = leaf_open(path, out, fault);

    return r == -ENOENT ? error : r;
}

static int open_named(const char *path, unsigned flags, struct store **out)
{
    return lock_is_wanted() ? open_locked(path, flags, out)
                            : confine_store_open(path, flags, out);
}

/* Open a frame to change it.  A frame in a store is never changed. */
static int open_to_change(const char *path, unsigned flags, struct store **out)
{
    struct fault fault;
    int r = open_named(path, flags, out);

    if ((r == -ENOTDIR || r == -ENOENT || r == -EINVAL) &&
        leaf_open(path, out, &fault) == 0) {
        store_close(*out);
        r = -EROFS;
    }
    return r;
}

/* Open what a path stands for when the frame is only read. */
static int open_to_read(const char *path, unsigned flags, struct store **out,
                        struct fault *fault)
{
    char behind[PATH_MAX];
    char piped[PIPED_PATH_LEN];
    int r;

    if (strcmp(path, "-") == 0) {
        r = piped_path(piped);
        return r < 0 ? r : confine_store_open(piped, flags, out);
    }
    if (!confine_has(path) && behind_find(path, behind))
        return open_named(behind, flags, out);
    r = open_named(path, flags, out);
    if (r == -ENOTDIR || r == -ENOENT || r == -EINVAL)
        r = open_leaf(path, r, out, fault);
    return r;
}

int source_open(const char *path, uint64_t frame_offset, unsigned flags,
                struct store **out, struct fault *fault)
{
    struct store *store;
    int r;

    *fault = FAULT_NONE;
    if (remote_is(path))
        r = remote_open(path, flags & STORE_WRITE, &store);
    else if (flags & STORE_WRITE)
        r = open_to_change(path, flags, &store);
    else
        r = open_to_read(path, flags, &store, fault);
    if (r == 0 && frame_offset == 0)
        r = follow(flags, &store);
    if (r < 0)
        return r;
    if (store_is_directory(store) && frame_offset != 0) {
        store_close(store);
        return -EISDIR;
    }
    *out = store;
    return 0;
}

static enum file_sums sums = FILE_SUMS_ON;

int source_set_sums(const char *value)
{
    struct file_options options = file_default_options;
    int r = file_options_set(&options, "sums", value);

    if (r == 0)
        sums = options.sums;
    return r;
}

enum file_sums source_sums(void)
{
    return sums;
}

int source_read_frame(struct store *store, uint64_t frame_offset,
                      struct frame **out, struct fault *fault)
{
    return sums == FILE_SUMS_OFF
               ? frame_open_unchecked(store, frame_offset, out, fault)
               : frame_open(store, frame_offset, out, fault);
}

static int try_frame(const char *path, uint64_t frame_offset,
                     struct frame **out, struct fault *fault)
{
    struct store *store;
    int r = source_open(path, frame_offset, 0, &store, fault);

    if (r == 0) {
        r = source_read_frame(store, frame_offset, out, fault);
        store_close(store);
    }
    return r;
}

int source_open_frame(const char *path, uint64_t frame_offset,
                      struct frame **out)
{
    struct retry retry = RETRY_REPLACED_REMOTE;
    struct fault fault;
    int r;

    do
        r = try_frame(path, frame_offset, out, &fault);
    while (r == -ESTALE && remote_is(path) && retry_wait(&retry));
    if (r < 0)
        source_report(path, r, &fault);
    return r;
}

int source_check_no_array(const char *path, struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct metalayer_list layers;
    bool is_array = false;
    int r = metalayer_list_read_fixed(frame, &layers, &fault);

    if (r < 0) {
        source_report(path, r, &fault);
        return r;
    }
    for (size_t i = 0; i < layers.nlayers; i++)
        is_array |= array_is_layer(layers.layers[i].name);
    metalayer_list_free(&layers);
    if (!is_array)
        return 0;
    log_error("%s: is an array, whose chunks go with its shape", path);
    return -EPERM;
}

/* A directory in which an index file is looked for. */
struct index_look {
    int dir;
    struct stat *stat;
};

static int stat_index(void *context, const char *name)
{
    const struct index_look *look = context;

    return fstatat(look->dir, name, look->stat, 0) < 0 ? -errno : 0;
}

int source_stat_quietly(const char *path, struct stat *out)
{
    int dir = confine_open_path(path);
    struct index_look look = { .dir = dir, .stat = out };
    int r = dir < 0 ? dir : 0;

    if (r == 0 && fstat(dir, out) < 0)
        r = -errno;
    if (r == 0 && S_ISDIR(out->st_mode)) {
        r = frame_object_find_index(stat_index, &look, NULL);
        if (r == -ENOENT) {
            out->st_mode &= ~(mode_t)0111;
            r = 0;
        }
    }
    if (dir >= 0)
        close(dir);
    return r;
}

int source_stat(const char *path, struct stat *out)
{
    int r = source_stat_quietly(path, out);

    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

void source_report(const char *path, int error, const struct fault *fault)
{
    char text[256];

    if (error == -EINTR)
        return;
    fault_format(fault, error, text, sizeof(text));
    log_error("%s: %s", path,
              error == -EROFS && remote_refusal() ? remote_refusal() : text);
}
