/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_ESTORE_H
#define BUNDLE_ESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * The map of an embed store.  It names the frames that are stored in the
 * decoded bytes of the embed store's own frame, and their places.
 *
 * Format: stores.md, 2.
 */

/* The fixed metalayer of an embed store's frame, and the vlmetalayer that holds
   the map. */
#define ESTORE_LAYER     "b2embed"
#define ESTORE_MAP_LAYER "estore_metadata"

/* Metalayers of the embed store of a directory. */
#define ESTORE_DICT_LAYER "b2dict"
#define ESTORE_TREE_LAYER "b2tree"

/* One entry of the map, which leads to a frame. */
struct estore_value {
    const char *key; /* in the map, not terminated */
    size_t key_len;
    bool remote;  /* the frame is elsewhere; ignore `off` and `len` */
    uint64_t off; /* among the decoded bytes */
    uint64_t len;
};

/*
 * Parse the map.
 *
 *  visit  called for each value; returns 0 to go on; any other result ends the
 *         parse and is returned
 *
 * Returns 0; -EBADMSG, with a fault whose offset counts from the start of the
 * map; or the result of `visit`.
 */
int estore_parse(const uint8_t *bytes, size_t len,
                 int (*visit)(void *context, const struct estore_value *value),
                 void *context, struct fault *fault);

#endif
