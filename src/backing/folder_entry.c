/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "backing/backing_start.h"
#include "backing/folder_private.h"
#include "backing/local.h"
#include "base/hash.h"
#include "base/size.h"
#include "frame/frame.h"
#include "store/store_local.h"

enum {
    STAT_BLOCK = 512 /* bytes */
};

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

/* The place of an entry in the bundle of a folder.  `entry` may be NULL. */
static void place_in_bundle(const struct folder *folder,
                            const struct bundle_entry *entry,
                            struct backing_place *out)
{
    local_place(folder->at, folder->file, out);
    out->ops = &folder_ops;
    out->made_up_ino = true;
    out->holder = folder->bundle;
    out->item = entry;
}

/* Open the store of a frame in a bundle. */
static int open_entry(const struct backing_place *place, struct store **out,
                      struct fault *fault)
{
    struct store *store;
    int r = store_file_open(place->dirfd, place->name, 0, &store);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = bundle_open(place->holder, store, place->item, out, fault);
    store_close(store);
    return r;
}

/* Is it the place of a frame that is neither in the directory nor in the bundle
   any more? */
static bool is_missing(const struct backing_place *place, enum entry_kind kind)
{
    return place->holder && !place->item && kind == ENTRY_BUNDLE_FRAME;
}

int folder_store(const struct backing_place *place, enum entry_kind kind,
                 unsigned flags, struct store **out, struct fault *fault)
{
    int r;

    if (is_missing(place, kind))
        return fault_set(fault, -ESTALE, 0, NULL);
    if (place->holder)
        return open_entry(place, out, fault);
    r = store_file_open(place->dirfd, place->name, flags, out);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Does a member of an archive start as a frame does? */
static int is_frame(const struct folder *folder,
                    const struct bundle_entry *entry)
{
    struct fault fault = FAULT_NONE;
    uint8_t bytes[FRAME_MAGIC_LEN];
    struct backing_place place;
    struct store_object *object;
    struct store *store;
    int r;

    place_in_bundle(folder, entry, &place);
    r = open_entry(&place, &store, &fault);
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
    const struct bundle *bundle = folder_of(dir)->bundle;
    const struct bundle_entry *entry;
    char path[PATH_MAX];
    bool leaf;

    if (!join(folder_of(dir), name, path))
        return ENTRY_NONE;
    entry = bundle_find(bundle, path);
    if (!entry)
        return bundle_has_folder(bundle, path) ? ENTRY_BUNDLE_DIR : ENTRY_NONE;
    if (entry->embedded)
        leaf = !is_covered(dir->fd, name);
    else
        leaf = has_leaf_suffix(name) || is_frame(folder_of(dir), entry) > 0;
    return leaf ? ENTRY_BUNDLE_FRAME : ENTRY_NONE;
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
        return ENTRY_BUNDLE_DIR;
    if (type != DT_REG)
        return ENTRY_NONE;
    r = has_leaf_suffix(name) ? 1 : backing_has_magic(dir, name);
    if (backing_is_unreadable(r))
        r = 0;
    if (r < 0)
        return r;
    return r ? ENTRY_BUNDLE_FRAME : ENTRY_NONE;
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

    if (is_ignored(folder_of(dir), name))
        return ENTRY_NONE;
    if (dir->fd >= 0)
        r = kind_in_directory(dir->fd, name, type);
    return r == ENTRY_NONE ? kind_in_bundle(dir, name) : r;
}

void folder_place_in(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, struct backing_place *out)
{
    const struct folder *folder = folder_of(dir);
    mode_t type = kind == ENTRY_BUNDLE_DIR ? S_IFDIR : S_IFREG;
    char path[PATH_MAX] = "";
    struct stat st;

    local_place(dir->fd, name, out);
    out->ops = &folder_ops;
    if (dir->fd >= 0 && fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        (st.st_mode & S_IFMT) == type)
        return;
    join(folder, name, path);
    place_in_bundle(folder, bundle_find(folder->bundle, path), out);
    out->number = hash_text(path);
}

int folder_own(struct backing_place *place)
{
    int r = local_own(place);

    if (r == 0 && place->holder)
        bundle_get(place->holder);
    return r;
}

void folder_release(struct backing_place *place)
{
    local_release(place);
    bundle_put(place->holder);
}

/* Turn the attributes of a bundle's file into those of an entry of it. */
static void show_in_bundle(const struct backing_place *place, struct stat *st)
{
    const struct bundle_entry *entry = place->item;
    uint64_t len = entry ? entry->len : 0;

    st->st_ino = hash_mix(st->st_ino, place->number);
    st->st_nlink = 1;
    st->st_size = (off_t)len;
    st->st_blocks = (blkcnt_t)size_pieces(len, STAT_BLOCK);
}

int folder_stat(const struct backing_place *place, enum entry_kind kind,
                struct stat *out)
{
    bool folder = kind == ENTRY_BUNDLE_DIR;
    mode_t read;
    struct stat st;
    int r = is_missing(place, kind) ? -ESTALE : local_stat_file(place, &st);

    if (r < 0)
        return r;
    if (folder && !place->holder ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
        return -ESTALE;
    read = st.st_mode & 0444;
    st.st_mode = folder ? S_IFDIR | read | read >> 2 : S_IFREG | read;
    if (place->holder)
        show_in_bundle(place, &st);
    *out = st;
    return 0;
}

int folder_frame_kind(const struct backing_place *place __attribute__((unused)))
{
    return ENTRY_BUNDLE_FRAME;
}

int folder_layers(const struct backing_dir *dir, struct store **out,
                  struct fault *fault)
{
    const struct folder *folder = folder_of(dir);
    const struct bundle_entry *entry;
    struct backing_place place;
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
    place_in_bundle(folder, entry, &place);
    return open_entry(&place, out, fault);
}
