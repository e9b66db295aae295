/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_METALAYER_H
#define FRAME_METALAYER_H

#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"

struct frame;

enum metalayer_kind {
    METALAYER_FIXED,    /* in the header */
    METALAYER_VL,       /* in the trailer, each a chunk */
    METALAYER_USERMETA, /* the one, nameless, of frames before 2021 */
};

/* The word for a kind: "metalayer", "vlmetalayer" or "usermeta". */
const char *metalayer_kind_name(enum metalayer_kind kind);

enum {
    METALAYER_NAME_MAX = 31
};

/* One metalayer: its name and where its content lies. */
struct metalayer {
    enum metalayer_kind kind;
    char name[METALAYER_NAME_MAX + 1]; /* opaque bytes without NUL */
    uint64_t off;                      /* of the content, in the file */
    uint32_t len;                      /* of the content as stored */
};

/* The metalayers of a frame: fixed ones first, each kind in its order. */
struct metalayer_list {
    struct metalayer *layers;
    size_t nlayers;
};

/*
 * Read the names of all metalayers.  They are not kept: an unopened metalayer
 * costs nothing.
 *
 * Returns 0, -EBADMSG, -ENOMEM or an error of the store.
 */
int metalayer_list_read(struct frame *frame, struct metalayer_list *out,
                        struct fault *fault);

/* The same for the fixed ones alone: the trailer is not looked at. */
int metalayer_list_read_fixed(struct frame *frame, struct metalayer_list *out,
                              struct fault *fault);

/* Accepts an empty list. */
void metalayer_list_free(struct metalayer_list *list);

/* The metalayer of a kind and name, or NULL. */
const struct metalayer *metalayer_find(const struct metalayer_list *list,
                                       enum metalayer_kind kind,
                                       const char *name);

/*
 * How users name a metalayer: "meta.NAME", "vlmeta.NAME", or "usermeta".
 */

/* What comes before its name. */
const char *metalayer_prefix(enum metalayer_kind kind);

/* The kind and name that are meant, or NULL if the label is none. */
const char *metalayer_parse_label(const char *label, enum metalayer_kind *kind);

/* The metalayer that is meant, or NULL. */
const struct metalayer *metalayer_find_label(const struct metalayer_list *list,
                                             const char *label);

/*
 * Find out how long the content is when decoded.
 *
 * Returns 0 or an error as above.
 */
int metalayer_size(struct frame *frame, const struct metalayer *layer,
                   uint32_t *out, struct fault *fault);

/*
 * Read the content, decoded.
 *
 *  max      refuse with -E2BIG what is longer; nothing is then allocated
 *  content  receives `len` bytes that the caller frees; never NULL
 *
 * Returns 0, -E2BIG, or an error as above, or -ENOTSUP.
 */
int metalayer_read(struct frame *frame, const struct metalayer *layer,
                   size_t max, uint8_t **content, size_t *len,
                   struct fault *fault);

#endif
