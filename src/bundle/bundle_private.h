/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_BUNDLE_PRIVATE_H
#define BUNDLE_BUNDLE_PRIVATE_H

#include <stdatomic.h>

#include "bundle/bundle.h"

/* A bundle, for the files of this layer.  Constant but for `nrefs`. */
struct bundle {
    atomic_uint nrefs;
    const struct bundle_format *format;
    struct store_version version; /* of the file, before it was read */
    void *state;               /* of the format; owned, and freed by free() */
    bool has_embed;            /* there is an embed store; */
    struct bundle_entry embed; /* if there are members, it is this one */
    struct bundle_entry *entries; /* in the order of bundle_compare() */
    size_t nentries;
    size_t nallocated;
    size_t footprint; /* bytes of memory */
};

/* Compare paths.  A folder sorts immediately before its entries. */
int bundle_compare(const char *a, const char *b);

/* Like bundle_find(), among the first `nentries` entries, which are sorted. */
const struct bundle_entry *bundle_find_among(const struct bundle *bundle,
                                             size_t nentries, const char *path);

/* The name of a frame, and the suffix that makes it a path. */
struct bundle_key {
    const char *name; /* not terminated */
    size_t len;
    const char *suffix;
};

/* Add an entry.  Its `path` is made from the key. */
int bundle_add(struct bundle *bundle, const struct bundle_entry *entry,
               const struct bundle_key *key, struct fault *fault);

/* Add the values of an embed store, except those that members cover, which are
   arranged.  `store` is that of its frame. */
int bundle_add_embedded(struct bundle *bundle, struct store *store,
                        struct fault *fault);

/* Sort the entries.  Fails if two frames have the same path, or a frame and a
   folder. */
int bundle_arrange(struct bundle *bundle, struct fault *fault);

/*
 * Open a store of one member.
 *
 *  store  of the bundle
 */
int bundle_open_member(const struct bundle *bundle, struct store *store,
                       const struct bundle_entry *entry, struct store **out,
                       struct fault *fault);

#endif
