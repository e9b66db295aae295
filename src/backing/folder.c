/* SPDX-License-Identifier: BSD-3-Clause */
#include "backing/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_start.h"
#include "backing/shelf.h"
#include "base/hash.h"
#include "base/retry.h"
#include "frame/frame.h"
#include "store/store_local.h"

/* FOLDER_LAYERS without its suffix. */
static const char layers_stem[] = "__vlmeta__";

static bool ends_in(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);

    return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

/* Does a name have a suffix of frames in a store? */
static bool has_leaf_suffix(const char *name)
{
    for (size_t i = 0; i < BUNDLE_NSUFFIXES; i++) {
        if (ends_in(name, bundle_suffixes[i]))
            return true;
    }
    return false;
}

static int kind_of_file(int dirfd, const char *name)
{
    struct store *store;
    int r = store_file_open(dirfd, name, 0, &store);

    if (r < 0)
        return r;
    r = bundle_kind_of(store);
    store_close(store);
    return r;
}

int folder_is_store(int dirfd, const char *name)
{
    int dir = store_local_open(dirfd, name, 0, S_IFDIR);
    int r;

    if (dir == -EINVAL) {
        r = kind_of_file(dirfd, name);
        return r < 0 ? r : r != BUNDLE_NONE;
    }
    if (dir < 0)
        return dir;
    r = kind_of_file(dir, BUNDLE_EMBED_NAME);
    close(dir);
    return r < 0 ? r : r == BUNDLE_EMBED;
}

/* Open the file that `st` describes.  Returns -ESTALE if another one has its
   name now. */
static int open_seen(int at, const char *file, const struct stat *st,
                     struct store **out)
{
    int r = store_file_open(at, file, 0, out);

    if (r < 0)
        return r;
    r = backing_check_store(*out, st);
    if (r < 0)
        store_close(*out);
    return r;
}

/* Find the bundle of a file in the cache, or read it. */
static int get_bundle(struct shelf *shelf, int at, const char *file,
                      struct bundle **out, struct fault *fault)
{
    struct store *store;
    struct stat st;
    int r;

    if (fstatat(at, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return fault_set(fault, -errno, 0, NULL);
    *out = shelf_find(shelf, &st);
    if (*out)
        return 0;
    r = open_seen(at, file, &st, &store);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = bundle_kind_of(store);
    if (r == BUNDLE_NONE)
        r = fault_set(fault, -EBADMSG, 0, "not a store any more");
    if (r > 0)
        r = bundle_read(store, (enum bundle_kind)r, out, fault);
    store_close(store);
    if (r == 0)
        shelf_keep(shelf, &st, *out);
    return r;
}

/* Was a file written so lately that a program may be half-way through a
   change? */
static bool may_settle(int at, const char *file)
{
    struct stat st;

    return fstatat(at, file, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           retry_is_recent(st.st_mtim);
}

static int get_settled_bundle(struct shelf *shelf, struct folder *folder,
                              struct fault *fault)
{
    struct retry retry = RETRY_SETTLE;
    int r;

    do
        r = get_bundle(shelf, folder->at, folder->file, &folder->bundle, fault);
    while ((r == -EBADMSG || r == -ESTALE) &&
           may_settle(folder->at, folder->file) && retry_wait(&retry));
    return r;
}

/* Open the directory of a folder.  Returns 0 or an error; `*out` is -1 if the
   folder has no directory. */
static int open_directory(int top, const char *path, int flags, int *out)
{
    int dir = store_local_open(top, path[0] == '\0' ? "." : path, 0, S_IFDIR);

    *out = -1;
    if (dir < 0)
        return dir == -ENOENT || dir == -EINVAL || dir == -EXDEV ? 0 : dir;
    *out = openat(dir, ".", flags | O_DIRECTORY | O_CLOEXEC);
    close(dir);
    return *out < 0 ? -errno : 0;
}

/* Find the file that holds the bundle of a store, and open the directory of the
   folder if it has one. */
static int find_bundle(const struct backing_place *place, int flags,
                       struct folder *folder, int *dir)
{
    folder->at = store_local_open(place->dirfd, place->name, 0, S_IFDIR);
    if (folder->at >= 0) {
        strcpy(folder->file, BUNDLE_EMBED_NAME);
        return open_directory(folder->at, folder->path, flags, dir);
    }
    if (folder->at != -EINVAL)
        return folder->at == -ENOENT ? -ESTALE : folder->at;
    folder->at = fcntl(place->dirfd, F_DUPFD_CLOEXEC, 0);
    strcpy(folder->file, place->name);
    return folder->at < 0 ? -errno : 0;
}

int folder_open(struct shelf *shelf, const struct backing_place *place,
                const char *path, int flags, struct backing_dir *out,
                struct fault *fault)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    int dir = -1;
    int r;

    if (!folder)
        return fault_set(fault, -ENOMEM, 0, NULL);
    strcpy(folder->path, path);
    r = find_bundle(place, flags, folder, &dir);
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = get_settled_bundle(shelf, folder, fault);
    if (r == 0 && dir < 0 && !bundle_has_folder(folder->bundle, path))
        r = fault_set(fault, -ESTALE, 0, NULL);
    if (r < 0) {
        if (dir >= 0)
            close(dir);
        folder_close(folder);
        return r;
    }
    out->fd = dir;
    out->folder = folder;
    return 0;
}

void folder_close(struct folder *folder)
{
    if (!folder)
        return;
    if (folder->at >= 0)
        close(folder->at);
    bundle_put(folder->bundle);
    free(folder);
}

/* Get the path of an entry in the store.  Returns false if it is too long. */
static bool join(const struct folder *folder, const char *name,
                 char out[PATH_MAX])
{
    size_t len = strlen(folder->path);
    size_t name_len = strlen(name);

    if (len + 1 + name_len >= PATH_MAX)
        return false;
    memcpy(out, folder->path, len);
    if (len > 0)
        out[len++] = '/';
    memcpy(out + len, name, name_len + 1);
    return true;
}

/* Open the store of a frame in a bundle. */
static int open_entry(int at, const char *file, const struct bundle *bundle,
                      const struct bundle_entry *entry, struct store **out,
                      struct fault *fault)
{
    struct store *store;
    int r = store_file_open(at, file, 0, &store);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = bundle_open(bundle, store, entry, out, fault);
    store_close(store);
    return r;
}

int folder_store(const struct backing_place *place, struct store **out,
                 struct fault *fault)
{
    return open_entry(place->dirfd, place->name, place->bundle, place->entry,
                      out, fault);
}

/* Does a member of an archive start as a frame does? */
static int is_frame(const struct folder *folder,
                    const struct bundle_entry *entry)
{
    struct fault fault = FAULT_NONE;
    uint8_t bytes[FRAME_MAGIC_LEN];
    struct store_object *object;
    struct store *store;
    int r = open_entry(folder->at, folder->file, folder->bundle, entry, &store,
                       &fault);

    if (r < 0)
        return r;
    r = store_open(store, "", &object);
    if (r == 0) {
        r = store_object_read_at(object, 0, bytes, sizeof(bytes));
        store_object_close(object);
    }
    store_close(store);
    return r < 0 ? r : frame_has_magic(bytes, sizeof(bytes));
}

/* Is there a file with the key of an embedded frame?  If so, the file shows
   instead. */
static bool is_covered(int dir, const char *name)
{
    size_t len = strlen(name) - strlen(BUNDLE_VALUE_SUFFIX);
    char file[NAME_MAX + sizeof(".b2nd")];
    struct stat st;

    memcpy(file, name, len);
    for (size_t i = 0; dir >= 0 && i < BUNDLE_NSUFFIXES; i++) {
        strcpy(file + len, bundle_suffixes[i]);
        if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

/* The kind of an entry that is in the bundle. */
static int kind_in_bundle(const struct backing_dir *dir, const char *name)
{
    const struct bundle *bundle = dir->folder->bundle;
    const struct bundle_entry *entry;
    char path[PATH_MAX];
    bool leaf;

    if (!join(dir->folder, name, path))
        return ENTRY_NONE;
    entry = bundle_find(bundle, path);
    if (!entry)
        return bundle_has_folder(bundle, path) ? ENTRY_GROUP : ENTRY_NONE;
    if (entry->embedded)
        leaf = !is_covered(dir->fd, name);
    else
        leaf = has_leaf_suffix(name) || is_frame(dir->folder, entry) > 0;
    return leaf ? ENTRY_LEAF : ENTRY_NONE;
}

/* The kind of an entry that is in the directory. */
static int kind_in_directory(int dir, const char *name, unsigned char type)
{
    struct stat st;
    int r;

    if (type == DT_UNKNOWN) {
        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return errno == ENOENT || errno == ENAMETOOLONG ? ENTRY_NONE
                                                            : -errno;
        type = (unsigned char)IFTODT(st.st_mode);
    }
    if (type == DT_DIR)
        return ENTRY_GROUP;
    if (type != DT_REG)
        return ENTRY_NONE;
    r = has_leaf_suffix(name) ? 1 : backing_has_magic(dir, name);
    if (r == -EACCES)
        r = 0;
    if (r < 0)
        return r;
    return r ? ENTRY_LEAF : ENTRY_NONE;
}

/* Is an entry never shown, because it is metadata of the store or a file left
   over from writing it? */
static bool is_ignored(const struct folder *folder, const char *name)
{
    size_t len = strlen(layers_stem);

    if (folder->path[0] == '\0' && strcmp(name, BUNDLE_EMBED_NAME) == 0)
        return true;
    return ends_in(name, ".tmp") || (strncmp(name, layers_stem, len) == 0 &&
                                     (name[len] == '.' || name[len] == '\0'));
}

int folder_kind(const struct backing_dir *dir, const char *name,
                unsigned char type)
{
    int r = ENTRY_NONE;

    if (is_ignored(dir->folder, name))
        return ENTRY_NONE;
    if (dir->fd >= 0)
        r = kind_in_directory(dir->fd, name, type);
    return r == ENTRY_NONE ? kind_in_bundle(dir, name) : r;
}

void folder_place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out)
{
    const struct folder *folder = dir->folder;
    mode_t type = kind == ENTRY_GROUP ? S_IFDIR : S_IFREG;
    char path[PATH_MAX] = "";
    struct stat st;

    *out = (struct backing_place){ .dirfd = dir->fd };
    if (dir->fd >= 0 && fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (st.st_mode & S_IFMT) == type) {
        strcpy(out->name, name);
        return;
    }
    join(folder, name, path);
    out->dirfd = folder->at;
    strcpy(out->name, folder->file);
    out->bundle = folder->bundle;
    out->entry = bundle_find(folder->bundle, path);
    out->inner = hash_text(path);
}

int folder_layers(const struct backing_dir *dir, struct store **out,
                  struct fault *fault)
{
    const struct folder *folder = dir->folder;
    const struct bundle_entry *entry;
    char path[PATH_MAX];
    int r = -ENOENT;

    if (dir->fd >= 0)
        r = store_file_open(dir->fd, FOLDER_LAYERS, 0, out);
    if (r != -ENOENT)
        return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
    entry = join(folder, FOLDER_LAYERS, path)
                ? bundle_find(folder->bundle, path)
                : NULL;
    if (!entry && folder->path[0] != '\0')
        return -ENOENT;
    return open_entry(folder->at, folder->file, folder->bundle, entry, out,
                      fault);
}
