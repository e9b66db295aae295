/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_LOCAL_SEEN_H
#define BACKING_LOCAL_SEEN_H

#include "backing/backing.h"

/*
 * The frame of a local directory that local_kind() opened last, to see whether
 * it is one.  A look-up reads its header next, and takes it then instead of
 * opening the file again.
 *
 * It is the `state` of the directory, and the `holder` of the places in it.
 */
struct local_seen;

/* Returns NULL if there is no memory; the other functions accept that. */
struct local_seen *local_seen_new(void);
void local_seen_free(struct local_seen *seen);

/* Keep the store of a frame, in place of what was kept. */
void local_seen_keep(struct local_seen *seen, const char *name,
                     struct store *store);

/* Take the store of the frame at a place; returns NULL if it is not kept.
   Another file may have taken its name, see backing_check_store(). */
struct store *local_seen_take(const struct backing_place *place);

#endif
