/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BUNDLE_ESTORE_H
#define BUNDLE_ESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

/*
 * The map of an embed store: which of the decoded bytes of its frame are a
 * frame of their own, and what that is called.
 *
 * Format: stores.md, 2.
 */

/* The fixed metalayer that makes a frame an embed store, and the vlmetalayer
   that holds the map. */
#define ESTORE_LAYER     "b2embed"
#define ESTORE_MAP_LAYER "estore_metadata"

/* The metalayers by which a frame is the embed store of a directory. */
#define ESTORE_DICT_LAYER "b2dict"
#define ESTORE_TREE_LAYER "b2tree"

struct estore_value {
    const char *key; /* in the map, not terminated */
    size_t key_len;
    bool remote;  /* it is elsewhere; what follows says nothing */
    uint64_t off; /* of its bytes, among the decoded ones */
    uint64_t len;
};

/*
 * Parse the map.
 *
 *  visit  called for each value; returns 0 to go on, else its result ends the
 *         parse and is returned
 *
 * Returns 0; -EBADMSG, with a fault whose offset counts from the start of the
 * map; or what `visit` returned.
 */
int estore_parse(const uint8_t *bytes, size_t len,
                 int (*visit)(void *context, const struct estore_value *value),
                 void *context, struct fault *fault);

#endif
