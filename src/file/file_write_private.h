/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_WRITE_PRIVATE_H
#define FILE_FILE_WRITE_PRIVATE_H

#include <sys/types.h>

#include "file/view.h"

/* Write the first bytes of a piece that lies in a chunk; zeros if `src` is
   NULL.  The caller is a writer at the gate.  See cache_write(). */
ssize_t file_put_piece(struct file *file, const struct view_piece *piece,
                       const uint8_t *src, struct fault *fault);

/* If a write found no memory (-EAGAIN), report the error because of which
   earlier bytes are not committed, or -ENOSPC. */
int file_explain(struct file *file, int error, struct fault *fault);

#endif
