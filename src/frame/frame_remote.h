/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_REMOTE_H
#define FRAME_FRAME_REMOTE_H

#include "net/net.h"
#include "store/store.h"

/*
 * Can frames be read at this URL?
 *
 *  why  receives a static text if not
 *
 * Returns 0; -EINVAL if the URL is not valid; -EPROTONOSUPPORT if this build
 * cannot read frames by URL; or -ENOMEM.
 */
int frame_remote_check(const char *text, const char **why);

/*
 * Open the store of a frame that a user named by its URL: that of a contiguous
 * frame, or of the directory of a sparse one.  If it ends with '/', it is a
 * directory; if it has a query, it is not.  Otherwise the server is asked.
 *
 *  why  as for frame_remote_check(); NULL if the server is the reason
 *
 * Returns 0, or an error as above or of struct net_request.
 */
int frame_remote_open(struct net *net, const char *text, struct store **out,
                      const char **why);

/* Open the store of a sparse frame on a server of S3 whose index is lost.
   Returns as frame_remote_open(); -ENOENT if there is no list, or no chunk in
   it. */
int frame_remote_open_lost(struct net *net, const char *text,
                           struct store **out, const char **why);

/* Does a store that this has opened have a frame, as far as the magic tells?
   This costs no request. */
bool frame_remote_is_frame(struct store *store);

/*
 * Open the store of a sparse frame that is to be made on a server of S3.  The
 * frame is there once it is committed.
 *
 *  replace  another sparse frame may be there
 *
 * Returns as frame_remote_open(); -EROFS if the URL has not s3; or -EEXIST.
 */
int frame_remote_create(struct net *net, const char *text, bool replace,
                        struct store **out, const char **why);

/* Open the store of a contiguous frame that is to be made on a server of S3, in
   one piece: the first commit must be the last.  `replace` and errors as above,
   for contiguous frames. */
int frame_remote_create_whole(struct net *net, const char *text, bool replace,
                              struct store **out, const char **why);

/* Why a contiguous frame is not changed. */
extern const char frame_remote_whole[];

/* Open the store of a frame that is to be changed: a sparse one on a server of
   S3.  Returns as frame_remote_open(), or -EROFS with `why`. */
int frame_remote_open_to_change(struct net *net, const char *text,
                                struct store **out, const char **why);

#endif
