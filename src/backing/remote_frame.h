/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_REMOTE_FRAME_H
#define BACKING_REMOTE_FRAME_H

#include "backing/backing_source.h"
#include "file/file.h"
#include "frame/frame_ticket.h"

/*
 * SOURCE as a frame behind a URL.  It shows like a local one, by the virtual
 * directory of single_frame.h or on a file.  It belongs to the daemon's user,
 * and everyone may read it who may use the mount.
 */
struct remote_frame;
struct backing_object;

/*
 * Open the frame behind a URL as SOURCE, to find out what it is.  The thread
 * that carries requests runs until remote_frame_rest(), and again from the
 * first request after remote_frame_start() on, because a daemon forks in
 * between.
 *
 *  url      frame_remote_check() accepts it; copied
 *  options  constant until remote_frame_start()
 *
 * Returns 0 or a negative errno.
 */
int remote_frame_open(struct backing_source *source, const char *url,
                      const struct net_options *options);

/* Do the same for the frame that a ticket leads to.  `path` is that of the
   ticket, under whose name the frame shows.  Also returns -ESTALE. */
int remote_frame_open_ticket(struct backing_source *source, const char *path,
                             const struct frame_ticket *ticket,
                             const struct net_options *options);
void remote_frame_rest(struct remote_frame *remote);
void remote_frame_start(struct remote_frame *remote,
                        struct file_context *files);

/* Does the frame that was just opened begin as one does, or is it something
   else?  This costs no request. */
bool remote_frame_is_frame(const struct remote_frame *remote);

/* Can the frame that was just opened be changed?  This costs no request, so the
   server may still refuse. */
bool remote_frame_can_change(const struct remote_frame *remote);

/* Accepts NULL. */
void remote_frame_free(struct remote_frame *remote);

/* Make the place of the frame. */
void remote_frame_place(const struct backing_source *source,
                        struct backing_place *out);

/* Functions of struct backing_source_ops for any SOURCE behind a URL: a server
   does not tell how much space it has, and there is nothing to sync. */
int remote_statfs(const struct backing_source *source, struct statvfs *out);
int remote_sync(const struct backing_source *source);

/* Refuse to change attributes, which servers do not keep: -ENOTSUP. */
int remote_pin(const struct backing_place *place, enum entry_kind kind,
               struct backing_object *out);

#endif
