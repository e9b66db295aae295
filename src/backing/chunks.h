/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_CHUNKS_H
#define BACKING_CHUNKS_H

#include <stdbool.h>

#include "backing/backing.h"
#include "file/file.h"

/*
 * The chunks of a frame, as entries of a directory: two files for each, named
 * by its number, the chunk decoded and the chunk as it is stored.  Both are
 * faces of the frame's own place, for there is nothing else below.
 *
 * What is known of the frame is of one state of it.  Any number of threads may
 * use it.
 */
struct chunks;

enum {
    CHUNKS_NAME_MAX = 32 /* bytes that hold any name */
};

/*
 * Open the frame of a place.
 *
 *  base  byte of its file at which it starts
 *
 * Errors as frame_open().
 */
int chunks_open(const struct backing_place *place, uint64_t base,
                struct chunks **out, struct fault *fault);

/* Take or let go of a reference.  The last accepts NULL. */
struct chunks *chunks_get(struct chunks *chunks);
void chunks_put(struct chunks *chunks);

/* Is the frame's file as it was when it was opened? */
bool chunks_are_current(const struct chunks *chunks);

/* The entries by their number: how many, and what one is called. */
uint64_t chunks_nentries(const struct chunks *chunks);
void chunks_name(uint64_t entry_no, char name[CHUNKS_NAME_MAX]);

/* What the entry of a name is: ENTRY_NONE if there is none. */
enum entry_kind chunks_kind(const struct chunks *chunks, const char *name);

/* backing_place_in() the directory. */
void chunks_place_in(struct chunks *chunks, const char *name,
                     struct backing_place *out);

/* Device, and the inode number of the entry of a name. */
uint64_t chunks_dev(const struct chunks *chunks);
uint64_t chunks_ino(const struct chunks *chunks, const char *name);

/* What shows at a place of such an entry. */
struct file_face chunks_face(const struct backing_place *place,
                             enum entry_kind kind);

/* Its size in bytes.  Errors as file_face_size(), but -ESTALE, and no fault, if
   others have changed the frame meanwhile. */
int chunks_size(const struct backing_place *place, enum entry_kind kind,
                uint64_t *size, struct fault *fault);

/*
 * Turn the attributes of a frame's file into those of a face of it, but for the
 * size of a file, which stays that of the frame's.
 */
void chunks_show(const struct backing_place *place, enum entry_kind kind,
                 struct stat *st);

#endif
