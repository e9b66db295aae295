/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_PLUGIN_H
#define CHUNK_PLUGIN_H

#include "chunk/codec.h"
#include "chunk/filter.h"

/*
 * Codecs and filters of others, from shared objects.  See framefs-codec.h,
 * which is what their authors read.
 *
 * Each is looked for once, by its number.  The directory is that of
 * plugin_set_dir(), else the one that the environment names in FRAMEFS_PLUGINS,
 * else PLUGIN_DIR of the build.  Failures are logged, but not that there is no
 * plug-in.
 */

/*
 * Set the directory.  No plug-in may have been asked for yet.
 *
 * Returns 0; -ENOENT; -EPERM if others than root and this user could change
 * what is in it; or another negative errno.
 */
int plugin_set_dir(const char *dir);

/* Return the codec, or the filter, of a number, or NULL if there is none. */
const struct codec *plugin_codec(unsigned id);
const struct filter *plugin_filter(unsigned id);

/*
 * Is what a plug-in tells of itself valid?  Returns false after a line in the
 * log.
 *
 *  file  its name, for that line
 *  name  NULL: it has none
 */
bool plugin_is_valid(const char *file, uint32_t abi, uint32_t flags,
                     const char *name);

#endif
