/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_BUNDLE_H
#define BUNDLE_BUNDLE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "store/store.h"

/*
 * A bundle is what python-blosc2 calls a store, as this word means something
 * else here: frames under keys, in one file.  That is an embed store (.b2e), a
 * frame whose decoded bytes hold others; or a zip archive (.b2z) of frames, one
 * of which is an embed store.  A .b2d directory is a bundle in its embed.b2e,
 * besides files.
 *
 * In a bundle each frame has a path of names between slashes.  That of a member
 * of an archive is its own; that of an embedded frame is its key, with the
 * suffix .b2f, as if it were a file.  A bundle knows where the frames are, and
 * does not keep its file open; it is constant.
 *
 * Format: stores.md.
 */
struct bundle;

enum bundle_kind {
    BUNDLE_NONE,  /* the file is none */
    BUNDLE_EMBED, /* a frame that is an embed store */
    BUNDLE_ZIP,   /* a zip archive */
};

enum {
    BUNDLE_DIRECTORY_MAX = 32 << 20, /* bytes that tell what is in a bundle */
};

/* The embed store of a directory or archive. */
#define BUNDLE_EMBED_NAME "embed.b2e"

/* Suffix under which an embedded frame has its path. */
#define BUNDLE_VALUE_SUFFIX ".b2f"

/* Suffixes that a frame in a file may have over its key. */
enum {
    BUNDLE_NSUFFIXES = 3
};
extern const char *const bundle_suffixes[BUNDLE_NSUFFIXES];

/*
 * What a file is, by its first bytes, and in a frame by its metalayers.
 *
 * Returns a bundle_kind, or an error of the store.  What is damaged is none.
 */
int bundle_kind_of(struct store *store);

/*
 * Read what is in a bundle.
 *
 *  store  stays the caller's
 *  kind   what it is; BUNDLE_EMBED if it is to be an embed store
 *
 * Returns 0; -EBADMSG, also for a name that leads out of the bundle or that two
 * frames have; -ENOTSUP, also if BUNDLE_DIRECTORY_MAX is not enough or the
 * embed store of an archive is compressed; -ENOMEM; or an error of the store.
 */
int bundle_read(struct store *store, enum bundle_kind kind, struct bundle **out,
                struct fault *fault);

/* Take one more reference, to be given back by bundle_put(). */
struct bundle *bundle_get(struct bundle *bundle);

/* Accepts NULL. */
void bundle_put(struct bundle *bundle);

/* Bytes of memory that it takes up, about. */
size_t bundle_footprint(const struct bundle *bundle);

/* A frame in a bundle; lives as long as that. */
struct bundle_entry {
    const char *path; /* "group/array.b2nd" */
    uint64_t off;     /* of its header in an archive, or of its bytes among the
                         decoded ones of the embed store */
    uint64_t len;     /* bytes of it */
    bool embedded;
    bool packed; /* it is compressed, or encrypted, and can't be read */
};

/* Returns NULL if there is none of that path. */
const struct bundle_entry *bundle_find(const struct bundle *bundle,
                                       const char *path);

/* Is there a folder of that path?  The top one, "", is there always. */
bool bundle_has_folder(const struct bundle *bundle, const char *path);

/*
 * Name what is in a folder, in order: frames and folders.
 *
 *  visit  called for each name, which is terminated; returns 0 to go on, else
 *         its result ends the list and is returned
 */
int bundle_list(const struct bundle *bundle, const char *folder,
                int (*visit)(void *context, const char *name), void *context);

/*
 * Open the store of a frame.
 *
 *  store  of the bundle; stays the caller's
 *  entry  NULL: that of the embed store itself
 *
 * Returns 0; -ENOENT if there is no embed store; -ESTALE if others have changed
 * the bundle since it was read; -EBADMSG, -ENOTSUP, or an error of the store.
 * Offsets of faults count from the start of the bundle.
 */
int bundle_open(const struct bundle *bundle, struct store *store,
                const struct bundle_entry *entry, struct store **out,
                struct fault *fault);

#endif
