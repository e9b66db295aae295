/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_WATCH_H
#define FRAME_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/frame_format.h"
#include "store/store.h"

/*
 * A watch knows one state of a frame and tells whether that is still the stored
 * one.
 *
 * It recognizes a state by the fixed part of its header; by a stamp, the last
 * 16 bytes before the trailer, which differ in each commit of framefs, because
 * a header may repeat when index and chunks return to places where they once
 * were; and in a sparse frame by the identity of the index file, because each
 * commit replaces that file.
 *
 * Any number of threads may use a watch.
 */
struct watch;

/* The bytes by which a state is recognized. */
struct watch_state {
    const uint8_t *header; /* the first bytes of the header */
    size_t len;            /* their number; a watch ignores those from
                              FRAME_E_METALAYERS_OFF on */
    uint64_t stamp_off;    /* of the stamp in the frame; 0: it has none */
    const uint8_t *stamp;  /* FRAME_STAMP_LEN bytes */
};

/*
 * Watch a frame.  Until the first watch_set(), any stored state counts as
 * current.
 *
 *  object  the frame's file; NULL: the index file, looked up by name each time
 *  name    of the index file; constant
 *  base    of the frame in its file
 *
 * The watch takes references to `store` and `object`.  Returns 0 or -ENOMEM.
 */
int watch_new(struct store *store, struct store_object *object,
              const char *name, uint64_t base, struct watch **out);

/* Accepts NULL. */
void watch_free(struct watch *watch);

/*
 * Make the state that this process has just read or committed the known one.
 *
 *  stat  of the file before the header was read, or after it was written
 */
void watch_set(struct watch *watch, const struct watch_state *state,
               const struct store_stat *stat);

/*
 * Announce that this process is about to write a header: from here on, until
 * watch_set(), either state counts as current.
 *
 *  stat  of the file that will have the header
 */
void watch_expect(struct watch *watch, const struct watch_state *state,
                  const struct store_stat *stat);

/* Forget the known state, because this process does not know which state is
   stored.  Until watch_set(), any state counts as current. */
void watch_forget(struct watch *watch);

/*
 * Is the known state the stored one at this moment?  If so, everything that was
 * read from the store before this call belongs to it.
 *
 * Returns 0, -ESTALE, or an error of the store.  After -ESTALE, every call
 * returns that until watch_set() or watch_forget().
 */
int watch_check(struct watch *watch);

/* Do the same, whatever the times of the file are.  A writer calls this before
   it changes something that must not belong to another program. */
int watch_verify(struct watch *watch);

/* A number that tells the known state from others, as frame_mark() returns; 0
   if no state is known. */
uint64_t watch_mark(struct watch *watch);

#endif
