/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_BUNDLE_FORMAT_H
#define BUNDLE_BUNDLE_FORMAT_H

#include "bundle/bundle.h"
#include "frame/frame.h"

/*
 * A format of files that hold frames.  To add one, write a file bundle_NAME.c
 * with a struct bundle_format, declare that here, and add it to the list in
 * bundle_format.c.
 */

enum {
    BUNDLE_START_LEN = FRAME_MAGIC_LEN /* first bytes that show the format */
};

struct bundle_format {
    const char *suffix; /* of the names of such files */
    bool in_directory;  /* the file BUNDLE_EMBED_NAME in a .b2d directory may
                           have this format */

    /*
     * Is a file of this format?
     *
     *  start  its first BUNDLE_START_LEN bytes
     *
     * Returns 1, 0 or an error; -EBADMSG and -ENOTSUP mean 0, too.
     */
    int (*is)(struct store *store, const uint8_t *start);

    /*
     * Read the list of the frames by bundle_add() and bundle_add_embedded().
     *
     *  bundle  has a version, and no entries
     *  object  the file
     */
    int (*read)(struct bundle *bundle, struct store *store,
                struct store_object *object, struct fault *fault);

    /* Open a store of one member.  NULL: there are no members, because the file
       itself is an embed store. */
    int (*open_member)(const struct bundle *bundle, struct store_object *object,
                       const struct bundle_entry *entry, struct store **out,
                       struct fault *fault);
};

/* The formats: bundle_zip.c, bundle_embed.c. */
extern const struct bundle_format bundle_format_zip;
extern const struct bundle_format bundle_format_embed;

#endif
