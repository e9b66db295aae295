/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_STAMP_H
#define BACKING_BACKING_STAMP_H

#include <stdint.h>
#include <sys/stat.h>

#include "store/store.h"

/*
 * A number that changes whenever the identity, size, time of modification or
 * time of change of a file does.  Never 0.
 */
uint64_t backing_stamp(const struct stat *st);

/* Do the same without the time of change, so that changes to metadata alone do
   not count. */
uint64_t backing_content_stamp(const struct stat *st);

/* Return backing_stamp(); or 0 if the file changed a moment ago, because
   another change might not alter its times. */
uint64_t backing_settled_stamp(const struct stat *st);

/* Is an open store the file that `st` describes?  Another program may rename
   files meanwhile.  Returns 0, -ESTALE or an error of the store. */
int backing_check_seen(struct store *store, const struct stat *st);

#endif
