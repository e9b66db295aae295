/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_TICKET_H
#define FRAME_FRAME_TICKET_H

#include <sys/types.h>

#include "base/fault.h"
#include "store/store_http.h"

/*
 * A ticket: the index of a sparse frame in a file of its own, with a
 * vlmetalayer that says where the frame is, and in which state it was.  Whoever
 * gets the file can read the frame.
 *
 * Whoever has written a ticket is not trusted: a URL of S3 leads to the server
 * that the user has configured, and a server of another URL gets no
 * credentials.
 *
 * The vlmetalayer is a map in MessagePack: url, etag, size and modified, the
 * latter two of the index, in bytes and in seconds since 1970.
 */
#define FRAME_TICKET_LAYER "framefs.origin"

/* The content of a ticket. */
struct frame_ticket {
    char *url;
    struct store_http_tag tag; /* of the index when the ticket was made */
};

/*
 * Can there be a ticket for the frame behind this URL?
 *
 *  why  receives a static text if not
 *
 * Returns 0; -EINVAL if the URL is not valid, is one that no other user can
 * have, or has a query, which is a secret; or -ENOMEM.
 */
int frame_ticket_check(const char *url, const char **why);

/*
 * Write the content of the vlmetalayer of a ticket.
 *
 *  out  receives bytes that the caller frees
 *
 * Returns their number or -ENOMEM.
 */
ssize_t frame_ticket_encode(const struct frame_ticket *ticket, uint8_t **out);

/*
 * Read a ticket.
 *
 *  store  of one object, which may be anything
 *  out    to be freed with frame_ticket_fini() if this returns 1
 *
 * Returns 1; 0 if the object is no ticket; -EBADMSG with a fault if the ticket
 * is damaged or leads nowhere; or another error.
 */
int frame_ticket_read(struct store *store, struct frame_ticket *out,
                      struct fault *fault);

/* Accepts a zeroed ticket. */
void frame_ticket_fini(struct frame_ticket *ticket);

/* Copy a ticket.  Returns 0 or -ENOMEM. */
int frame_ticket_copy(const struct frame_ticket *ticket,
                      struct frame_ticket *out);

/*
 * Open the store of the frame that a ticket leads to.  This makes no request.
 * The store fails with -ESTALE if the frame is in another state than the ticket
 * says, and that is reported by net_options.report; unless
 * net_options.newest_tickets is set.
 *
 * Returns 0, -EINVAL or -ENOMEM.
 */
int frame_ticket_open(struct net *net, const struct frame_ticket *ticket,
                      struct store **out);

#endif
