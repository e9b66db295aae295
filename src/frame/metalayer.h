/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_METALAYER_H
#define FRAME_METALAYER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fault.h"

struct frame;

/* Where a frame keeps a metalayer. */
enum metalayer_kind {
    METALAYER_FIXED,    /* in the header */
    METALAYER_VL,       /* in the trailer; each is a chunk */
    METALAYER_USERMETA, /* the single, nameless one of frames before 2021 */
};

/* The name of a kind: "metalayer", "vlmetalayer" or "usermeta". */
const char *metalayer_kind_name(enum metalayer_kind kind);

enum {
    METALAYER_NAME_MAX = 31
};

/* The name of a metalayer and the place of its content. */
struct metalayer {
    enum metalayer_kind kind;
    char name[METALAYER_NAME_MAX + 1]; /* opaque bytes without NUL */
    uint16_t no;                       /* number in its kind */
    uint64_t off;                      /* of the content, in the file */
    uint32_t len;                      /* of the content as stored */
};

/* The metalayers of a frame: fixed ones first, each kind in stored order. */
struct metalayer_list {
    struct metalayer *layers;
    size_t nlayers;
};

/*
 * Read the names of all metalayers.  The frame does not keep them, so a
 * metalayer that no caller asks for costs nothing.
 *
 * Returns 0, -EBADMSG, -ENOMEM or an error of the store.
 */
int metalayer_list_read(struct frame *frame, struct metalayer_list *out,
                        struct fault *fault);

/* Do the same for the fixed ones alone, without reading the trailer. */
int metalayer_list_read_fixed(struct frame *frame, struct metalayer_list *out,
                              struct fault *fault);

/* Accepts an empty list. */
void metalayer_list_free(struct metalayer_list *list);

/* The metalayer of a kind and name, or NULL. */
const struct metalayer *metalayer_find(const struct metalayer_list *list,
                                       enum metalayer_kind kind,
                                       const char *name);

/* Users refer to a metalayer by a label: "meta.NAME", "vlmeta.NAME", or
   "usermeta". */

/* The part of the label before the name. */
const char *metalayer_prefix(enum metalayer_kind kind);

/* Get the kind and name from a label; NULL if it is not a label. */
const char *metalayer_parse_label(const char *label, enum metalayer_kind *kind);

/* Find the metalayer with a label; NULL if there is none. */
const struct metalayer *metalayer_find_label(const struct metalayer_list *list,
                                             const char *label);

/*
 * Find the decoded length of the content.
 *
 * Returns 0 or an error as above.
 */
int metalayer_size(struct frame *frame, const struct metalayer *layer,
                   uint32_t *out, struct fault *fault);

/*
 * Read the content, decoded.
 *
 *  max      if the content is longer, return -E2BIG and allocate nothing
 *  content  receives bytes that the caller frees; never NULL
 *
 * Returns their number, -E2BIG, an error as above, or -ENOTSUP.
 */
ssize_t metalayer_read(struct frame *frame, const struct metalayer *layer,
                       size_t max, uint8_t **content, struct fault *fault);

#endif
