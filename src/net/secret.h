/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_SECRET_H
#define NET_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A text that grows and may contain secrets: its memory is wiped before it is
 * given back.  A struct of zeros is an empty text.  The first addition that
 * finds no memory makes the text fail, and all later ones fail too, so a run of
 * calls needs only one check at its end.
 */
struct secret {
    char *text; /* ends in a NUL; NULL: empty */
    size_t len;
    size_t size; /* bytes of memory */
    bool failed;
};

/* Add some bytes, or a text. */
void secret_add_bytes(struct secret *secret, const void *bytes, size_t len);
void secret_add(struct secret *secret, const char *text);

/* Wipe and free; the text is empty again. */
void secret_fini(struct secret *secret);

/* Give the text to the caller, who frees it with secret_free(); NULL if it has
   failed.  `secret` is empty again. */
char *secret_take(struct secret *secret);

/* Wipe a text and free it; accepts NULL. */
void secret_free(char *text);

/* Wipe what functions that have returned left on the stack of this thread,
   which is about to end: the memory of the stack outlives it. */
void secret_wipe_stack(void);

#endif
