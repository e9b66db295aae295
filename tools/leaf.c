/* SPDX-License-Identifier: BSD-3-Clause */
#include "leaf.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>

#include "backing/names.h"
#include "bundle/bundle.h"
#include "bundle/bundle_format.h"
#include "confine.h"
#include "tree.h"

enum {
    MAGIC_LEN = 16 /* bytes of a member to look at */
};

/* A store of frames that is open. */
struct bundle_file {
    struct store *store; /* of its file, or of the embed store in a directory */
    struct bundle *bundle;
    bool directory;
};

static void close_bundle(struct bundle_file *file)
{
    bundle_put(file->bundle);
    store_close(file->store);
}

/* Open the file that says which frames there are. */
static int open_file(const char *path, struct bundle_file *file)
{
    char embed[PATH_MAX];
    int r = confine_store_open(path, 0, &file->store);

    if (r < 0 || !store_is_directory(file->store))
        return r;
    file->directory = true;
    store_close(file->store);
    file->store = NULL;
    if (snprintf(embed, sizeof(embed), "%s/%s", path, BUNDLE_EMBED_NAME) >=
        PATH_MAX)
        return -ENAMETOOLONG;
    return confine_store_open(embed, 0, &file->store);
}

/* Open a store of frames.  Returns -ENOENT if the path is none. */
static int open_bundle(const char *path, struct bundle_file *out,
                       struct fault *fault)
{
    struct bundle_file file = { .directory = false };
    const struct bundle_format *format;
    int r = open_file(path, &file);

    if (r < 0)
        r = -ENOENT;
    else
        r = bundle_find_format(file.store, &format);
    if (r == 0 && (!format || (file.directory && !format->in_directory)))
        r = -ENOENT;
    if (r == 0)
        r = bundle_read(file.store, format, &file.bundle, fault);
    if (r < 0)
        close_bundle(&file);
    else
        *out = file;
    return r;
}

/* Find a frame by its path or its key. */
static const struct bundle_entry *find(const struct bundle *bundle,
                                       const char *key)
{
    const struct bundle_entry *entry = bundle_find(bundle, key);
    char path[PATH_MAX];

    for (size_t i = 0; i < BUNDLE_NSUFFIXES && !entry; i++)
        if (snprintf(path, sizeof(path), "%s%s", key, bundle_suffixes[i]) <
            PATH_MAX)
            entry = bundle_find(bundle, path);
    return entry;
}

/* Open a frame in the directory of a store by its key, which lacks a suffix.
   It counts before one of that key in the embed store. */
static int open_in_directory(const char *path, struct store **out)
{
    char file[PATH_MAX];
    int r = -ENOENT;

    for (size_t i = 0; i < BUNDLE_NSUFFIXES && r == -ENOENT; i++)
        if (snprintf(file, sizeof(file), "%s%s", path, bundle_suffixes[i]) <
            PATH_MAX)
            r = confine_store_open(file, 0, out);
    return r;
}

/* Open a frame in the store that the first `len` bytes of the path name. */
static int open_in(const char *path, size_t len, struct store **out,
                   struct fault *fault)
{
    const struct bundle_entry *entry;
    struct bundle_file file;
    char top[PATH_MAX];
    int r;

    snprintf(top, sizeof(top), "%.*s", (int)len, path);
    r = open_bundle(top, &file, fault);
    if (r < 0)
        return r;
    entry = find(file.bundle, path + len + 1);
    r = file.directory ? open_in_directory(path, out) : -ENOENT;
    if (r == -ENOENT && entry)
        r = bundle_open(file.bundle, file.store, entry, out, fault);
    close_bundle(&file);
    return r;
}

int leaf_open(const char *path, struct store **out, struct fault *fault)
{
    size_t len = strlen(path);
    int r = -ENOENT;

    *fault = FAULT_NONE;
    if (len >= PATH_MAX)
        return -ENAMETOOLONG;
    /* The longest path that is a store counts. */
    while (r == -ENOENT && len > 1) {
        while (len > 1 && path[len - 1] != '/')
            len--;
        if (len-- > 1)
            r = open_in(path, len, out, fault);
    }
    return r;
}

/* A folder of a store, while its frames are listed. */
struct folder {
    const char *top;
    const char *path; /* in the store; "" for the store itself */
    const struct bundle_file *file;
    int (*visit)(void *context, const char *leaf);
    void *context;
};

static int visit_name(void *context, const char *name);

static int list_folder(const struct folder *folder)
{
    struct folder copy = *folder;

    return bundle_list(folder->file->bundle, folder->path, visit_name, &copy);
}

/* Does a member have the suffix or the first bytes of a frame?  Archives hold
   notes and lock files, too. */
static bool is_frame(const struct folder *folder,
                     const struct bundle_entry *entry, const char *name)
{
    struct store_object *object;
    struct fault fault = FAULT_NONE;
    struct store *store;
    uint8_t bytes[MAGIC_LEN];
    bool magic = false;

    if (names_has_suffix(name))
        return true;
    if (bundle_open(folder->file->bundle, folder->file->store, entry, &store,
                    &fault) < 0)
        return false;
    if (entry->len >= sizeof(bytes) && store_open(store, "", &object) == 0) {
        magic = store_object_read_at(object, 0, bytes, sizeof(bytes)) == 0 &&
                frame_has_magic(bytes, sizeof(bytes));
        store_object_close(object);
    }
    store_close(store);
    return magic;
}

/* Is there a file with the key of an embedded frame?  Then that frame is not
   the one of this key. */
static bool is_covered(const struct folder *folder, const char *path)
{
    size_t len = strlen(path);
    char key[PATH_MAX];
    struct store *store;

    if (len > strlen(BUNDLE_VALUE_SUFFIX))
        len -= strlen(BUNDLE_VALUE_SUFFIX);
    if (!folder->file->directory ||
        snprintf(key, sizeof(key), "%s/%.*s", folder->top, (int)len, path) >=
            PATH_MAX ||
        open_in_directory(key, &store) < 0)
        return false;
    store_close(store);
    return true;
}

static int visit_name(void *context, const char *name)
{
    const struct folder *folder = context;
    const struct bundle_entry *entry;
    struct folder below = *folder;
    char path[PATH_MAX];
    char leaf[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s%s%s", folder->path,
                 folder->path[0] != '\0' ? "/" : "", name) >= PATH_MAX)
        return -ENAMETOOLONG;
    below.path = path;
    entry = bundle_find(folder->file->bundle, path);
    if (!entry)
        return list_folder(&below);
    if (!is_frame(folder, entry, name) || is_covered(folder, path))
        return 0;
    if (snprintf(leaf, sizeof(leaf), "%s/%s", folder->top, path) >= PATH_MAX)
        return -ENAMETOOLONG;
    return folder->visit(folder->context, leaf);
}

/* List the frames that are files in the directory of a store. */
static int list_directory(const struct folder *folder)
{
    static const struct tree_wish wish = { .frames = true };
    struct tree tree = { 0 };
    int r = tree_read(folder->top, &wish, &tree);

    for (size_t i = 0; i < tree.n && r == 0; i++) {
        const struct tree_entry *entry = &tree.entries[i];
        const char *slash = strrchr(entry->path, '/');

        if (entry->kind == TREE_FRAME && slash &&
            strcmp(slash + 1, BUNDLE_EMBED_NAME) != 0)
            r = folder->visit(folder->context, entry->path);
    }
    if (r == 0 && tree.nfailed > 0)
        r = -EIO;
    tree_free(&tree);
    return r;
}

int leaf_list(const char *path, int (*visit)(void *context, const char *leaf),
              void *context, struct fault *fault)
{
    struct folder folder = {
        .top = path, .path = "", .visit = visit, .context = context
    };
    struct bundle_file file;
    char top[PATH_MAX];
    size_t len = strlen(path);
    int r;

    *fault = FAULT_NONE;
    while (len > 1 && path[len - 1] == '/')
        len--;
    if (snprintf(top, sizeof(top), "%.*s", (int)len, path) >= PATH_MAX)
        return -ENAMETOOLONG;
    r = open_bundle(top, &file, fault);
    if (r < 0)
        return r;
    folder.top = top;
    folder.file = &file;
    r = list_folder(&folder);
    if (r == 0 && file.directory)
        r = list_directory(&folder);
    close_bundle(&file);
    return r;
}
