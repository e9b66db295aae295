/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_source.h"
#include "backing/folder_private.h"
#include "backing/local.h"
#include "bundle/bundle_format.h"
#include "store/store_local.h"
#include "store/store_settling.h"

/* Find the format of a file; NULL if it is no bundle. */
static int find_format(int dirfd, const char *name,
                       const struct bundle_format **out)
{
    struct store *store;
    int r = store_file_open(dirfd, name, 0, &store);

    if (r < 0)
        return r;
    r = bundle_find_format(store, out);
    store_close(store);
    return r;
}

int folder_is_store(int dirfd, const char *name)
{
    int dir = store_local_open(dirfd, name, 0, S_IFDIR);
    const struct bundle_format *format;
    int r;

    if (dir == -EINVAL) {
        r = find_format(dirfd, name, &format);
        return r < 0 ? r : format != NULL;
    }
    if (dir < 0)
        return dir;
    r = find_format(dir, BUNDLE_EMBED_NAME, &format);
    close(dir);
    return r < 0 ? r : format && format->in_directory;
}

/* Open the file that `st` describes.  Returns -ESTALE if another one has its
   name now. */
static int open_seen(int at, const char *file, const struct stat *st,
                     struct store **out)
{
    int r = store_file_open(at, file, 0, out);

    if (r < 0)
        return r;
    r = store_check_self(*out, store_version_of(st));
    if (r < 0)
        store_close(*out);
    return r;
}

/* Find the bundle of a file in the cache, or read it. */
static int get_bundle(struct bundle_cache *bundle_cache, int at,
                      const char *file, struct bundle **out,
                      struct fault *fault)
{
    const struct bundle_format *format;
    struct store_version version;
    struct store *store;
    struct stat st;
    int r;

    if (fstatat(at, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return fault_set(fault, -errno, 0, NULL);
    version = store_version_of(&st);
    *out = bundle_cache_find(bundle_cache, version);
    if (*out)
        return 0;
    r = open_seen(at, file, &st, &store);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = bundle_find_format(store, &format);
    if (r == 0 && !format)
        r = fault_set(fault, -EBADMSG, 0, "not a store any more");
    if (r == 0)
        r = bundle_read(store, format, out, fault);
    store_close(store);
    if (r == 0)
        bundle_cache_add(bundle_cache, version, *out);
    return r;
}

static int get_version(const struct folder *folder, struct store_version *out)
{
    struct stat st;

    if (fstatat(folder->at, folder->file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *out = store_version_of(&st);
    return 0;
}

static int get_settled_bundle(struct bundle_cache *bundle_cache,
                              struct folder *folder, struct fault *fault)
{
    struct store_settling settling;
    struct store_version version;
    int r = get_version(folder, &version);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    settling = store_settling_begin(version);
    do
        r = get_bundle(bundle_cache, folder->at, folder->file, &folder->bundle,
                       fault);
    while ((r == -EBADMSG || r == -ESTALE) &&
           get_version(folder, &version) == 0 &&
           store_settling_wait(&settling, version));
    return r;
}

/* Open the directory of a folder.  Returns 0 or an error; `*out` is -1 if the
   folder has no directory. */
static int open_directory(int top, const char *path, int *out)
{
    int dir = store_local_open(top, path[0] == '\0' ? "." : path, 0, S_IFDIR);

    *out = -1;
    if (dir < 0)
        return dir == -ENOENT || dir == -EINVAL || dir == -EXDEV ? 0 : dir;
    *out = openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(dir);
    return *out < 0 ? -errno : 0;
}

/* Find the file that holds the bundle of a store, and open the directory of the
   folder if it has one. */
static int find_bundle(const struct backing_place *place, struct folder *folder,
                       int *dir)
{
    folder->at = store_local_open(place->dirfd, place->name, 0, S_IFDIR);
    if (folder->at >= 0) {
        strcpy(folder->file, BUNDLE_EMBED_NAME);
        return open_directory(folder->at, folder->path, dir);
    }
    if (folder->at != -EINVAL)
        return folder->at == -ENOENT ? -ESTALE : folder->at;
    folder->at = fcntl(place->dirfd, F_DUPFD_CLOEXEC, 0);
    strcpy(folder->file, place->name);
    return folder->at < 0 ? -errno : 0;
}

static void free_folder(struct folder *folder)
{
    if (folder->at >= 0)
        close(folder->at);
    bundle_put(folder->bundle);
    free(folder);
}

int folder_open(const struct backing_place *place, const char *path,
                struct backing_dir *out, struct fault *fault)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    int dir = -1;
    int r;

    if (!folder)
        return fault_set(fault, -ENOMEM, 0, NULL);
    strcpy(folder->path, path);
    r = find_bundle(place, folder, &dir);
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = get_settled_bundle(&out->source->bundle_cache, folder, fault);
    if (r == 0 && dir < 0 && !bundle_has_folder(folder->bundle, path))
        r = fault_set(fault, -ESTALE, 0, NULL);
    if (r < 0) {
        if (dir >= 0)
            close(dir);
        free_folder(folder);
        return r;
    }
    out->ops = &folder_ops;
    out->fd = dir;
    out->state = folder;
    return 0;
}

static void dir_close(struct backing_dir *dir)
{
    if (dir->fd >= 0)
        close(dir->fd);
    folder_list_free(dir);
    free_folder(dir->state);
}

const struct backing_ops folder_ops = {
    .own = folder_own,
    .release = folder_release,
    .stat = folder_stat,
    .frame_kind = folder_frame_kind,
    .store = folder_store,
    .anchor = local_anchor,
    .dir_close = dir_close,
    .kind = folder_kind,
    .place_in = folder_place_in,
    .list_begin = folder_list_begin,
    .list_next = folder_list_next,
    .layers = folder_layers,
};
