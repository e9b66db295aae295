/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_CHUNKS_H
#define BACKING_CHUNKS_H

#include "backing/backing_ops.h"

/*
 * The chunks of a frame, as entries of a directory.  Each chunk has two files,
 * which are named by its number: the chunk decoded, and the chunk as it is
 * stored.  Both, and the directory, are views of the frame and share its place,
 * because they have no files of their own: `below` in that place is the
 * implementation of the frame.
 *
 * A struct chunks describes one state of the frame.  Any number of threads may
 * use it.  A view has the device, owner and times of the frame, no write
 * permissions, and an inode number derived from that of the frame.
 */
extern const struct backing_ops chunks_ops;

#endif
