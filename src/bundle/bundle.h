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
 * A bundle is a file that holds frames under keys.  python-blosc2 calls it a
 * store, but that word has another meaning here.  A bundle is an embed store
 * (.b2e), which is a frame whose decoded bytes hold other frames; or a zip
 * archive (.b2z) of frames, one of which is an embed store.  A .b2d directory
 * is a bundle in its embed.b2e, besides files.
 *
 * Each frame in a bundle has a path of names between slashes.  A member of an
 * archive has its own path; an embedded frame has its key and the suffix .b2f,
 * as if it were a file.  A bundle knows where the frames are, and does not keep
 * its file open.  It is constant.
 *
 * Format: stores.md.
 */
struct bundle;
struct bundle_format;

enum {
    BUNDLE_DIRECTORY_MAX = 32 << 20, /* maximum bytes of a zip directory or a
                                        map */
};

/* The embed store of a directory or archive. */
#define BUNDLE_EMBED_NAME "embed.b2e"

/* Suffix in the path of an embedded frame. */
#define BUNDLE_VALUE_SUFFIX ".b2f"

/* Suffixes that the file of a frame may add to its key. */
enum {
    BUNDLE_NSUFFIXES = 3
};
extern const char *const bundle_suffixes[BUNDLE_NSUFFIXES];

/*
 * Find the format of a file, by its first bytes, and for a frame by its
 * metalayers.
 *
 *  out  receives the format; NULL if the file is no bundle, is damaged, or
 *       cannot be read by this build
 *
 * Returns 0 or an error of the store.
 */
int bundle_find_format(struct store *store, const struct bundle_format **out);

/* Does a name have a suffix of bundles? */
bool bundle_has_suffix(const char *name);

/*
 * Read the list of the frames in a bundle.
 *
 *  store   stays the caller's
 *  format  its format
 *
 * Returns 0; -EBADMSG, also if a name leads out of the bundle or two frames
 * have the same name; -ENOTSUP, also if BUNDLE_DIRECTORY_MAX is exceeded or the
 * embed store of an archive is compressed; -ENOMEM; or an error of the store.
 */
int bundle_read(struct store *store, const struct bundle_format *format,
                struct bundle **out, struct fault *fault);

/* Take one more reference; bundle_put() gives it back. */
struct bundle *bundle_get(struct bundle *bundle);

/* Drop a reference.  Accepts NULL. */
void bundle_put(struct bundle *bundle);

/* Memory that it occupies, in bytes, approximately. */
size_t bundle_footprint(const struct bundle *bundle);

/* A frame in a bundle.  It lives as long as the bundle. */
struct bundle_entry {
    const char *path; /* "group/array.b2nd" */
    uint64_t off;     /* of its header in an archive, or of its bytes among
                         the decoded bytes of the embed store */
    uint64_t len;     /* its length in bytes */
    bool embedded;
    bool packed; /* compressed or encrypted, so it cannot be read */
};

/* Find a frame by its path; NULL if there is none. */
const struct bundle_entry *bundle_find(const struct bundle *bundle,
                                       const char *path);

/* Is there a folder with this path?  The top folder "" always exists. */
bool bundle_has_folder(const struct bundle *bundle, const char *path);

/*
 * List the names of the frames and folders in a folder, in order.
 *
 *  visit  called for each name, which is terminated; returns 0 to go on; any
 *         other result ends the list and is returned
 */
int bundle_list(const struct bundle *bundle, const char *folder,
                int (*visit)(void *context, const char *name), void *context);

/*
 * Open a store of one frame.
 *
 *  store  of the bundle; stays the caller's
 *  entry  the frame; NULL for the embed store itself
 *
 * Returns 0; -ENOENT if there is no embed store; -ESTALE if another program has
 * changed the bundle since it was read; -EBADMSG, -ENOTSUP, or an error of the
 * store.  Offsets of faults count from the start of the bundle.
 */
int bundle_open(const struct bundle *bundle, struct store *store,
                const struct bundle_entry *entry, struct store **out,
                struct fault *fault);

#endif
