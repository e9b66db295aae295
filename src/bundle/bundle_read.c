/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle_private.h"
#include "bundle/estore.h"
#include "frame/frame.h"
#include "frame/metalayer.h"

/*
 * Is this a safe path?  It contains no NUL, its names are not empty, "." or
 * "..", and neither a name nor the path is too long.
 */
static bool is_path(const char *path, size_t len)
{
    size_t name_len;

    if (len == 0 || len >= PATH_MAX || memchr(path, '\0', len))
        return false;
    for (size_t at = 0; at <= len; at += name_len + 1) {
        const char *name = path + at;
        const char *slash = memchr(name, '/', len - at);

        name_len = slash ? (size_t)(slash - name) : len - at;
        if (name_len == 0 || name_len > NAME_MAX ||
            (name[0] == '.' &&
             (name_len == 1 || (name_len == 2 && name[1] == '.'))))
            return false;
    }
    return true;
}

static int reserve(struct bundle *bundle)
{
    size_t n = bundle->nallocated ? 2 * bundle->nallocated : 16;
    struct bundle_entry *entries;

    if (bundle->nentries < bundle->nallocated)
        return 0;
    entries = realloc(bundle->entries, n * sizeof(entries[0]));
    if (!entries)
        return -ENOMEM;
    bundle->footprint += (n - bundle->nallocated) * sizeof(entries[0]);
    bundle->entries = entries;
    bundle->nallocated = n;
    return 0;
}

/* The name of a frame, and the suffix that makes it a path. */
struct key {
    const char *name; /* not terminated */
    size_t len;
    const char *suffix;
};

static int add(struct bundle *bundle, const struct bundle_entry *entry,
               const struct key *key, struct fault *fault)
{
    size_t len = key->len;
    size_t path_len = len + strlen(key->suffix);
    char *path;
    int r = reserve(bundle);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    path = malloc(path_len + 1);
    if (!path)
        return fault_set(fault, -ENOMEM, 0, NULL);
    memcpy(path, key->name, len);
    memcpy(path + len, key->suffix, path_len - len + 1);
    if (!is_path(key->name, len) || !is_path(path, path_len)) {
        free(path);
        return fault_set(fault, -EBADMSG, 0,
                         "a name in a store leads out of it, or is too long");
    }
    bundle->footprint += path_len + 1 + sizeof(max_align_t);
    bundle->entries[bundle->nentries] = *entry;
    bundle->entries[bundle->nentries].path = path;
    bundle->nentries++;
    return 0;
}

/* Where add_value() puts the values of an embed store. */
struct adding {
    struct bundle *bundle;
    size_t nmembers; /* the first entries, members of the archive, sorted */
    uint64_t nbytes; /* decoded size of the embed store */
    struct fault *fault;
};

/* Is there a member with this key?  It takes precedence over the value. */
static bool is_covered(const struct adding *adding, const char *key, size_t len)
{
    char path[PATH_MAX + sizeof(".b2nd")];

    if (len >= PATH_MAX || memchr(key, '\0', len))
        return false;
    memcpy(path, key, len);
    for (size_t i = 0; i < BUNDLE_NSUFFIXES; i++) {
        strcpy(path + len, bundle_suffixes[i]);
        if (bundle_find_among(adding->bundle, adding->nmembers, path))
            return true;
    }
    return false;
}

static int add_value(void *context, const struct estore_value *value)
{
    struct adding *adding = context;
    const struct bundle_entry entry = { .off = value->off,
                                        .len = value->len,
                                        .embedded = true };

    if (value->remote)
        return 0;
    if (value->key_len == 0 || value->key[0] != '/')
        return fault_set(adding->fault, -EBADMSG, 0,
                         "a key in a store starts with no slash");
    if (value->off + value->len > adding->nbytes)
        return fault_set(adding->fault, -EBADMSG, 0,
                         "a value of an embed store passes its end");
    if (is_covered(adding, value->key + 1, value->key_len - 1))
        return 0;
    return add(adding->bundle, &entry,
               &(struct key){ value->key + 1, value->key_len - 1,
                              BUNDLE_VALUE_SUFFIX },
               adding->fault);
}

/* Add the frames in a frame's map.  The embed store is empty if it has no
   map. */
static int read_map(struct bundle *bundle, struct frame *frame,
                    struct fault *fault)
{
    struct adding adding = { .bundle = bundle,
                             .nmembers = bundle->nentries,
                             .nbytes = frame_get_info(frame)->nbytes,
                             .fault = fault };
    const struct metalayer *layer;
    struct metalayer_list list;
    uint8_t *bytes;
    ssize_t len;
    int r = metalayer_list_read(frame, &list, fault);

    if (r < 0)
        return r;
    layer = metalayer_find(&list, METALAYER_VL, ESTORE_MAP_LAYER);
    if (layer) {
        len = metalayer_read(frame, layer, BUNDLE_DIRECTORY_MAX, &bytes, fault);
        r = len < 0 ? (int)len : 0;
        if (r == -E2BIG)
            r = fault_set(fault, -ENOTSUP, layer->off,
                          "the map of an embed store is too large");
        if (r == 0) {
            r = estore_parse(bytes, (size_t)len, add_value, &adding, fault);
            free(bytes);
        }
    }
    metalayer_list_free(&list);
    return r;
}

/*
 * Add the values of an embed store.
 *
 *  store  of its frame
 */
static int read_embed(struct bundle *bundle, struct store *store,
                      struct fault *fault)
{
    struct frame *frame;
    int r = frame_open(store, 0, &frame, fault);

    if (r < 0)
        return r;
    bundle->has_embed = true;
    r = read_map(bundle, frame, fault);
    frame_close(frame);
    return r;
}

static bool is_embed(const struct zip_member *member)
{
    return member->name_len == strlen(BUNDLE_EMBED_NAME) &&
           memcmp(member->name, BUNDLE_EMBED_NAME, member->name_len) == 0;
}

static int add_member(struct bundle *bundle, const struct zip_member *member,
                      struct fault *fault)
{
    const struct bundle_entry entry = { .off = member->local_off,
                                        .len = member->nbytes,
                                        .packed = !member->stored };

    if (is_embed(member) && bundle->has_embed)
        return fault_set(fault, -EBADMSG, member->local_off,
                         "a store has two frames of one name");
    if (is_embed(member)) {
        bundle->embed = entry;
        bundle->has_embed = true;
        return 0;
    }
    /* Other programs also write entries for folders. */
    if (member->name_len > 0 && member->name[member->name_len - 1] == '/')
        return 0;
    return add(bundle, &entry,
               &(struct key){ member->name, member->name_len, "" }, fault);
}

static int read_members(struct bundle *bundle, const uint8_t *bytes,
                        struct fault *fault)
{
    const struct zip_directory *archive = &bundle->archive;
    struct zip_member member;
    uint64_t pos = 0;
    int r = 0;

    for (uint64_t i = 0; i < archive->nentries && r == 0; i++) {
        uint64_t off = archive->off + pos;

        r = zip_read_entry(archive, bytes, &pos, &member, fault);
        if (r == 0) {
            r = add_member(bundle, &member, fault);
            if (r < 0)
                fault->off = off;
        }
    }
    if (r == 0 && pos != archive->len)
        r = fault_set(fault, -EBADMSG, archive->off + pos,
                      "a zip directory goes on behind its last entry");
    return r;
}

/* Read a range into memory. */
static int read_bytes(struct store_object *object, uint64_t off, size_t len,
                      uint8_t **out, struct fault *fault)
{
    uint8_t *bytes = malloc(len > 0 ? len : 1);
    int r;

    *out = NULL;
    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = store_object_read_at(object, off, bytes, len);
    if (r < 0) {
        free(bytes);
        return fault_set(fault, r == -ENODATA ? -EBADMSG : r, off,
                         r == -ENODATA ? "file is cut short" : NULL);
    }
    *out = bytes;
    return 0;
}

/* Find the directory of an archive. */
static int find_archive(struct bundle *bundle, struct store_object *object,
                        struct fault *fault)
{
    uint64_t size = bundle->version.size;
    size_t len = size < ZIP_TAIL_MAX ? (size_t)size : ZIP_TAIL_MAX;
    uint8_t *tail;
    int r = read_bytes(object, size - len, len, &tail, fault);

    if (r < 0)
        return r;
    r = zip_find_directory(tail, len, size - len, &bundle->archive, fault);
    free(tail);
    if (r == 0 && bundle->archive.len > BUNDLE_DIRECTORY_MAX)
        r = fault_set(fault, -ENOTSUP, bundle->archive.off,
                      "the directory of a zip archive is too large");
    return r;
}

static int read_archive(struct bundle *bundle, struct store_object *object,
                        struct fault *fault)
{
    uint8_t *bytes;
    int r = find_archive(bundle, object, fault);

    if (r == 0)
        r = read_bytes(object, bundle->archive.off, (size_t)bundle->archive.len,
                       &bytes, fault);
    if (r < 0)
        return r;
    r = read_members(bundle, bytes, fault);
    free(bytes);
    return r;
}

/* Add the values of the embed store in an archive. */
static int read_archived_embed(struct bundle *bundle, struct store *store,
                               struct fault *fault)
{
    struct store *embed;
    int r;

    if (!bundle->has_embed)
        return 0;
    r = bundle_open_member(bundle, store, &bundle->embed, &embed, fault);
    if (r < 0)
        return r;
    r = read_embed(bundle, embed, fault);
    store_close(embed);
    return r;
}

static int compare(const void *a, const void *b)
{
    return bundle_compare(((const struct bundle_entry *)a)->path,
                          ((const struct bundle_entry *)b)->path);
}

static bool is_folder_of(const char *path, const char *other)
{
    size_t len = strlen(path);

    return strncmp(path, other, len) == 0 && other[len] == '/';
}

/* Sort the entries.  Fail if two frames have the same path, or a frame and a
   folder. */
static int arrange(struct bundle *bundle, struct fault *fault)
{
    if (bundle->nentries > 0)
        qsort(bundle->entries, bundle->nentries, sizeof(bundle->entries[0]),
              compare);
    for (size_t i = 1; i < bundle->nentries; i++) {
        const struct bundle_entry *a = &bundle->entries[i - 1];
        const struct bundle_entry *b = &bundle->entries[i];

        if (strcmp(a->path, b->path) == 0)
            return fault_set(fault, -EBADMSG, b->embedded ? 0 : b->off,
                             "a store has two frames of one name");
        if (is_folder_of(a->path, b->path))
            return fault_set(fault, -EBADMSG, b->embedded ? 0 : b->off,
                             "a store has a frame and a folder of one name");
    }
    return 0;
}

static int read_all(struct bundle *bundle, struct store *store,
                    struct fault *fault)
{
    struct store_object *object;
    struct store_stat stat = { 0 };
    int r = store_open(store, "", &object);

    if (r == 0) {
        r = store_object_stat(object, &stat);
        bundle->version = stat.version;
        if (r < 0)
            fault_set(fault, r, 0, NULL);
        else if (bundle->kind == BUNDLE_ZIP)
            r = read_archive(bundle, object, fault);
        store_object_close(object);
    } else {
        fault_set(fault, r, 0, NULL);
    }
    if (r == 0)
        r = arrange(bundle, fault);
    if (r == 0 && bundle->kind == BUNDLE_ZIP)
        r = read_archived_embed(bundle, store, fault);
    else if (r == 0)
        r = read_embed(bundle, store, fault);
    return r < 0 ? r : arrange(bundle, fault);
}

int bundle_read(struct store *store, enum bundle_kind kind, struct bundle **out,
                struct fault *fault)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    int r;

    if (!bundle)
        return fault_set(fault, -ENOMEM, 0, NULL);
    atomic_init(&bundle->nrefs, 1);
    bundle->kind = kind;
    bundle->footprint = sizeof(*bundle);
    r = read_all(bundle, store, fault);
    if (r < 0) {
        bundle_put(bundle);
        return r;
    }
    *out = bundle;
    return 0;
}
