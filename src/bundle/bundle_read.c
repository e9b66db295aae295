/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle_format.h"
#include "bundle/bundle_private.h"

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

int bundle_add(struct bundle *bundle, const struct bundle_entry *entry,
               const struct bundle_key *key, struct fault *fault)
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

int bundle_arrange(struct bundle *bundle, struct fault *fault)
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

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = store_object_stat(object, &stat);
    bundle->version = stat.version;
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = bundle->format->read(bundle, store, object, fault);
    store_object_close(object);
    return r < 0 ? r : bundle_arrange(bundle, fault);
}

int bundle_read(struct store *store, const struct bundle_format *format,
                struct bundle **out, struct fault *fault)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));
    int r;

    if (!bundle)
        return fault_set(fault, -ENOMEM, 0, NULL);
    atomic_init(&bundle->nrefs, 1);
    bundle->format = format;
    bundle->footprint = sizeof(*bundle);
    r = read_all(bundle, store, fault);
    if (r < 0) {
        bundle_put(bundle);
        return r;
    }
    *out = bundle;
    return 0;
}
