/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_BACKING_STAMP_H
#define BACKING_BACKING_STAMP_H

#include <stdint.h>
#include <sys/stat.h>

/*
 * A number that differs between states of a file that differ in what stat()
 * says of them: identity, size, time of modification and of change.  Never 0.
 */
uint64_t backing_stamp(const struct stat *st);

/* The same, but for what only the metadata of the file make differ. */
uint64_t backing_content_stamp(const struct stat *st);

/* backing_stamp(); or 0 if another change may leave no trace in it, because the
   file changed a moment ago. */
uint64_t backing_settled_stamp(const struct stat *st);

#endif
