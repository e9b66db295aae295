/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_SINGLE_FRAME_H
#define BACKING_SINGLE_FRAME_H

#include "backing/backing_ops.h"

/*
 * The virtual directory that holds only the frame SOURCE, see `only` in
 * backing_source.h.  It has the owner and times of the frame, and mode 0555.
 * The frame itself is a local one, or one behind a URL, and is found here even
 * if the directory does not show, because the frame is mounted on a file.
 */
extern const struct backing_ops single_frame_ops;
extern const struct backing_source_ops single_frame_source_ops;

/* Find the directory, or the frame.  See backing_find(). */
int single_frame_find(struct backing_source *source, const char *dir,
                      const char *name, enum entry_kind kind,
                      struct backing_place *out);

#endif
