/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_KNOWN_FRAMES_H
#define BACKING_KNOWN_FRAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Which files were found to be frames, so that looking up a name again does not
 * open and read the file.
 *
 * A stamp is the store_version_stamp() of a file from before it was read, or
 * the hash of its version from after it was written, so a file that has changed
 * since is not known.  The table has a fixed size: a new stamp may push out
 * another one.  All functions may run at the same time.
 */
struct known_frames {
    atomic_uint_least64_t *stamps; /* 0: none; NULL if there was no memory */
};

/* Set up a zeroed struct, and free what it has. */
void known_frames_init(struct known_frames *known);
void known_frames_fini(struct known_frames *known);

/* The stamp 0, of a version that is not settled, is never known. */
bool known_frames_has(const struct known_frames *known, uint64_t stamp);
void known_frames_add(struct known_frames *known, uint64_t stamp);

#endif
