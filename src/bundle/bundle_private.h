/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_BUNDLE_PRIVATE_H
#define BUNDLE_BUNDLE_PRIVATE_H

#include <stdatomic.h>

#include "bundle/bundle.h"
#include "bundle/zip.h"

/* A bundle, for the files of this layer.  Constant but for `nrefs`. */
struct bundle {
    atomic_uint nrefs;
    enum bundle_kind kind;
    struct store_version version; /* of the file, before it was read */
    struct zip_directory archive; /* its directory, if it is an archive */
    bool has_embed;               /* there is an embed store; */
    struct bundle_entry embed;    /* in an archive it is this member */
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

/*
 * Open a store of one member of an archive.
 *
 *  store  of the archive
 */
int bundle_open_member(const struct bundle *bundle, struct store *store,
                       const struct bundle_entry *entry, struct store **out,
                       struct fault *fault);

#endif
