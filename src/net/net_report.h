/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_REPORT_H
#define NET_NET_REPORT_H

#include "net/net_transfer.h"

/* Report which request has failed and why: its URL without the query, its
   range, and what the last reply has told.  Does nothing if nobody is told. */
void net_report(const struct net_options *options,
                const struct net_transfer *transfer, const char *why);

/* Report that the server refuses access for an unusual reason, if it does: one
   that may not tell whether an object exists says AccessDenied; all else is a
   mistake that the user should know of. */
void net_report_refusal(const struct net_options *options,
                        const struct net_transfer *transfer);

#endif
