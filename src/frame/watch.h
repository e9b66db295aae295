/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_WATCH_H
#define FRAME_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/frame_format.h"
#include "store/store.h"

/*
 * Is the state of a frame that somebody knows still the one that is stored?
 *
 * A state is known by the fixed part of its header; by a stamp, 16 bytes right
 * before the trailer, which are different in each commit of ours, since a
 * header may come back when index and chunks lie again where they once were;
 * and in a sparse frame by the identity of its index file, which each commit
 * replaces.
 *
 * Any number of threads may use a watch.
 */
struct watch;

/* What a state is known by. */
struct watch_state {
    const uint8_t *header; /* its start; bytes behind FRAME_E_METALAYERS_OFF */
    size_t len;            /* are not looked at */
    uint64_t stamp_off;    /* of the stamp in the frame; 0: there is none */
    const uint8_t *stamp;  /* FRAME_STAMP_LEN bytes */
};

/*
 * Watch a frame of which no state is known yet: it counts as current.
 *
 *  object  the frame's file; NULL: the index file, looked up by name each time
 *  name    of the index file; constant
 *  base    of the frame in its file
 *
 * Both get a reference more.  Returns 0 or -ENOMEM.
 */
int watch_new(struct store *store, struct store_object *object,
              const char *name, uint64_t base, struct watch **out);

/* Accepts NULL. */
void watch_free(struct watch *watch);

/*
 * The state that was just read, or committed, is the one that is known.
 *
 *  stat  of the file before the header was read, or after it was written
 */
void watch_set(struct watch *watch, const struct watch_state *state,
               const struct store_stat *stat);

/*
 * A header is about to be written: from here on, until watch_set(), either
 * state is taken for current.
 *
 *  stat  of the file that will have it
 */
void watch_expect(struct watch *watch, const struct watch_state *state,
                  const struct store_stat *stat);

/* Nobody knows what is stored, until watch_set(): it counts as current. */
void watch_forget(struct watch *watch);

/*
 * Is the state that is known stored at this moment?  What was read from the
 * store before this is called then belongs to it.
 *
 * Returns 0, -ESTALE, or an error of the store.  Once it was -ESTALE, it stays
 * so until watch_set().
 */
int watch_check(struct watch *watch);

/* The same, whatever the times of the file say: before something is changed
   that must not be anybody else's. */
int watch_verify(struct watch *watch);

/* A number by which the state that is known differs from others, as
   frame_mark(); 0 if none is. */
uint64_t watch_mark(struct watch *watch);

#endif
