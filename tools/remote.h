/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_REMOTE_H
#define TOOLS_REMOTE_H

#include <stdbool.h>

#include "frame/frame_ticket.h"
#include "net/s3_abort.h"
#include "store/store.h"
#include "verb.h"

/*
 * Take the options `-o OPTION,...` for requests out of the arguments, wherever
 * they stand before `--`.  They come after those of FRAMEFS_REMOTE.
 *
 * Returns 0, or a negative errno, which was reported.
 */
int remote_take_options(int *argc, char **argv);

/*
 * Check the arguments that are URLs, before a verb runs.  The query of a URL is
 * a secret: it is kept here, and cut off the argument, so that no message and
 * no list of processes shows it.
 *
 * Returns 0, or a negative errno, which was reported: a URL is not valid, or
 * the verb takes none.
 */
int remote_take_args(const struct verb *verb, int argc, char **argv);

/* Is the argument of a verb a URL? */
bool remote_is(const char *arg);

/* If an argument that names a frame to be changed, or a file to be made, is a
   URL that allows no changes, report that.  Returns whether it is one. */
bool remote_refuse_change(const char *arg);

/* Open the store of a frame that an argument names by its URL.  Returns 0 or a
   negative errno; -EROFS if it cannot be changed, and then remote_refusal()
   says why. */
int remote_open(const char *arg, bool to_change, struct store **out);
const char *remote_refusal(void);

/* Abort old uploads of the object that an argument names, see s3_abort_old();
   nothing is done for other URLs than those with s3. */
int remote_abort_old(const char *arg, const struct s3_abort *how);

/* Open the store of a sparse frame on a server of S3 whose index is lost.
   Returns 0; -ENOENT if there are no chunks either; or as remote_open(). */
int remote_open_lost(const char *arg, struct store **out);

/* From now on, believe nothing that was known before this process, and ask the
   server each time. */
void remote_ask_always(void);

/* Open the store of a frame that is to be made, and has its name once it is
   committed.  `replace`: another one of the same layout may be there.  Returns
   0; -EEXIST; or a negative errno as remote_open(). */
int remote_create(const char *arg, bool sparse, bool replace,
                  struct store **out);

/* Open the store of the frame that a ticket leads to; takes over the ticket.
   Returns 0 or a negative errno. */
int remote_open_ticket(struct frame_ticket *ticket, struct store **out);

/* Had the argument, which is a URL, a query? */
bool remote_has_query(const char *arg);

#endif
