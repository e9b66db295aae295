/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_HTTP_PINNED_H
#define STORE_STORE_HTTP_PINNED_H

#include "store/store_http.h"

/*
 * Open a store that shows another one as long as the index there is in one
 * state.  Once it is found in another state, store_open() and store_stat()
 * return -ESTALE, without further requests.
 *
 *  store   of store_http_open_dir(); the new one takes over the reference, even
 *          after an error
 *  tag     of the state; times and sizes count only if tags are not known
 *  report  called once, with a line, when another state was found; or NULL
 *  name    of the frame, for that line; copied
 *
 * Returns 0 or -ENOMEM.
 */
int store_http_pinned_open(struct store *store,
                           const struct store_http_tag *tag,
                           void (*report)(const char *line), const char *name,
                           struct store **out);

#endif
