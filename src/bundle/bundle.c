/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/bundle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle_format.h"
#include "bundle/bundle_private.h"
#include "bundle/store_embedded.h"

const char *const bundle_suffixes[BUNDLE_NSUFFIXES] = { ".b2nd", ".b2b",
                                                        ".b2f" };

struct bundle *bundle_get(struct bundle *bundle)
{
    atomic_fetch_add(&bundle->nrefs, 1);
    return bundle;
}

void bundle_put(struct bundle *bundle)
{
    if (!bundle || atomic_fetch_sub(&bundle->nrefs, 1) > 1)
        return;
    for (size_t i = 0; i < bundle->nentries; i++)
        free((char *)bundle->entries[i].path);
    free(bundle->entries);
    free(bundle->state);
    free(bundle);
}

size_t bundle_footprint(const struct bundle *bundle)
{
    return bundle->footprint;
}

/* Rank of a byte in a path: a slash sorts before all other bytes but the end,
   so the entries of a folder are contiguous. */
static int rank_of(char byte)
{
    if (byte == '\0')
        return 0;
    return byte == '/' ? 1 : 1 + (unsigned char)byte;
}

int bundle_compare(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return rank_of(*a) - rank_of(*b);
}

/* Compare a path with the entries of a folder: is it before them (-1), one of
   them (0), or after them (1)? */
static int compare_folder(const char *path, const char *folder, size_t len)
{
    size_t i = 0;

    while (i < len && path[i] == folder[i])
        i++;
    if (i < len)
        return rank_of(path[i]) < rank_of(folder[i]) ? -1 : 1;
    if (len == 0)
        return 0;
    return path[len] == '\0' ? -1 : path[len] != '/';
}

/*
 * Index of the first entry that is in a folder, or after all of them.
 *
 *  folder, len  path of the folder
 *  past         skip the entries in the folder
 */
static size_t find_folder(const struct bundle *bundle, const char *folder,
                          size_t len, bool past)
{
    size_t low = 0;
    size_t high = bundle->nentries;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_folder(bundle->entries[mid].path, folder, len);

        if (order < 0 || (past && order == 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_in(const struct bundle *bundle, size_t i, const char *folder,
                  size_t len)
{
    return i < bundle->nentries &&
           compare_folder(bundle->entries[i].path, folder, len) == 0;
}

bool bundle_has_folder(const struct bundle *bundle, const char *path)
{
    size_t len = strlen(path);

    return len == 0 ||
           is_in(bundle, find_folder(bundle, path, len, false), path, len);
}

static int compare_entry(const void *key, const void *entry)
{
    return bundle_compare(key, ((const struct bundle_entry *)entry)->path);
}

const struct bundle_entry *bundle_find_among(const struct bundle *bundle,
                                             size_t nentries, const char *path)
{
    if (nentries == 0)
        return NULL;
    return bsearch(path, bundle->entries, nentries, sizeof(bundle->entries[0]),
                   compare_entry);
}

const struct bundle_entry *bundle_find(const struct bundle *bundle,
                                       const char *path)
{
    return bundle_find_among(bundle, bundle->nentries, path);
}

int bundle_list(const struct bundle *bundle, const char *folder,
                int (*visit)(void *context, const char *name), void *context)
{
    size_t len = strlen(folder);
    size_t skip = len > 0 ? len + 1 : 0;
    size_t i = find_folder(bundle, folder, len, false);
    int r = 0;

    while (r == 0 && is_in(bundle, i, folder, len)) {
        const char *path = bundle->entries[i].path;
        size_t name_len = strcspn(path + skip, "/");
        char name[NAME_MAX + 1];

        memcpy(name, path + skip, name_len);
        name[name_len] = '\0';
        r = visit(context, name);
        if (path[skip + name_len] == '\0')
            i++;
        else
            i = find_folder(bundle, path, skip + name_len, true);
    }
    return r;
}

/* Check that a file is still the one that was read. */
static int check_unchanged(const struct bundle *bundle,
                           struct store_object *object)
{
    struct store_stat now;
    int r = store_object_stat(object, &now);

    if (r == 0 &&
        store_version_compare(bundle->version, now.version) != VERSION_SAME)
        r = -ESTALE;
    return r;
}

/* Open the file of a bundle; -ESTALE if it has changed since it was read. */
static int open_unchanged(const struct bundle *bundle, struct store *store,
                          struct store_object **out, struct fault *fault)
{
    int r = store_open(store, "", out);

    if (r == 0) {
        r = check_unchanged(bundle, *out);
        if (r < 0)
            store_object_close(*out);
    }
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int bundle_open_member(const struct bundle *bundle, struct store *store,
                       const struct bundle_entry *entry, struct store **out,
                       struct fault *fault)
{
    struct store_object *object;
    int r = open_unchanged(bundle, store, &object, fault);

    if (r < 0)
        return r;
    r = bundle->format->open_member(bundle, object, entry, out, fault);
    store_object_close(object);
    return r;
}

/* Open the store of the embed store. */
static int open_embed(const struct bundle *bundle, struct store *store,
                      struct store **out, struct fault *fault)
{
    struct store_object *object;
    int r;

    if (!bundle->has_embed)
        return fault_set(fault, -ENOENT, 0, NULL);
    if (bundle->format->open_member)
        return bundle_open_member(bundle, store, &bundle->embed, out, fault);
    r = open_unchanged(bundle, store, &object, fault);
    if (r < 0)
        return r;
    store_object_close(object);
    *out = store_get(store);
    return 0;
}

static int open_value(const struct bundle *bundle, struct store *store,
                      const struct bundle_entry *entry, struct store **out,
                      struct fault *fault)
{
    struct store *embed;
    int r = open_embed(bundle, store, &embed, fault);

    if (r < 0)
        return r;
    r = store_embedded_open(embed, entry->off, entry->len, out, fault);
    store_close(embed);
    return r;
}

int bundle_open(const struct bundle *bundle, struct store *store,
                const struct bundle_entry *entry, struct store **out,
                struct fault *fault)
{
    if (!entry)
        return open_embed(bundle, store, out, fault);
    return entry->embedded
               ? open_value(bundle, store, entry, out, fault)
               : bundle_open_member(bundle, store, entry, out, fault);
}
