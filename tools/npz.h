/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_NPZ_H
#define TOOLS_NPZ_H

#include <stddef.h>

#include "input.h"

/* An archive of .npy files, as numpy.savez() and savez_compressed() write it.
   Functions report their errors. */
struct npz;

/*
 * Open an archive and check its directory.
 *
 * Returns 0 or a negative errno; -EBADMSG if it is no zip archive or is
 * damaged, if members overlap, or if two have the same name, or a name that
 * leads out of a directory; -ENOTSUP if a member is encrypted, or compressed in
 * another way than by deflate.
 */
int npz_open(const char *path, struct npz **out);

/* Accepts NULL. */
void npz_close(struct npz *npz);

/* Number of members, directories not counted. */
size_t npz_nmembers(const struct npz *npz);

/* Return the name of a member: a relative path, without control characters. */
const char *npz_name(const struct npz *npz, size_t i);

/* The archive's file. */
const struct stat *npz_stat(const struct npz *npz);

/*
 * Open a member as input, after its checksum was compared.  If it is
 * compressed, it is decoded to a file as by scratch_open().
 *
 *  name  for messages; remains the caller's until the input is closed
 */
int npz_open_member(const struct npz *npz, size_t i, const char *name,
                    struct input *out);

#endif
