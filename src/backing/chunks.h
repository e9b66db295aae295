/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_CHUNKS_H
#define BACKING_CHUNKS_H

#include <stdbool.h>

#include "backing/backing.h"
#include "file/file.h"

/*
 * The chunks of a frame, as entries of a directory.  Each chunk has two files,
 * which are named by its number: the chunk decoded, and the chunk as it is
 * stored.  Both are views of the frame and share its place, because they have
 * no files of their own.
 *
 * A struct chunks describes one state of the frame.  Any number of threads may
 * use it.
 */
struct chunks;

enum {
    CHUNKS_NAME_MAX = 32 /* bytes that hold any name */
};

/*
 * Open the frame at a place.
 *
 *  base  byte of its file at which it starts
 *
 * Returns errors like frame_open(), or those of backing_stat().
 */
int chunks_open(const struct backing_place *place, uint64_t base,
                struct chunks **out, struct fault *fault);

/* Take and drop a reference.  chunks_put() accepts NULL. */
struct chunks *chunks_get(struct chunks *chunks);
void chunks_put(struct chunks *chunks);

/* Is the frame's file unchanged since it was opened? */
bool chunks_are_current(const struct chunks *chunks);

/* Entries are numbered: get their count, and the name of one. */
uint64_t chunks_nentries(const struct chunks *chunks);
void chunks_name(uint64_t entry_no, char name[CHUNKS_NAME_MAX]);

/* The kind of the entry with this name, or ENTRY_NONE. */
enum entry_kind chunks_kind(const struct chunks *chunks, const char *name);

/* backing_place_in() for this directory. */
void chunks_place_in(struct chunks *chunks, const char *name,
                     struct backing_place *out);

/* The device, and the inode number of the entry with this name. */
uint64_t chunks_dev(const struct chunks *chunks);
uint64_t chunks_ino(const struct chunks *chunks, const char *name);

/* The view of the frame that an entry at a place shows. */
struct file_face chunks_face(const struct backing_place *place,
                             enum entry_kind kind);

/*
 * Get the size of an entry in bytes.  Returns errors like file_face_size(),
 * except -ESTALE if another program has changed the frame meanwhile; `fault`
 * then means nothing.
 */
int chunks_size(const struct backing_place *place, enum entry_kind kind,
                uint64_t *size, struct fault *fault);

/*
 * Turn the attributes of a frame's file into those of a view of it.  A chunk
 * keeps the size of the frame's file, because the caller sets it.
 */
void chunks_show(const struct backing_place *place, enum entry_kind kind,
                 struct stat *st);

#endif
