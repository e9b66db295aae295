/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_PLUGIN_FILE_H
#define CHUNK_PLUGIN_FILE_H

/*
 * Shared objects that only root or the user of this process can change.  The
 * file that was checked is the one that is loaded, whatever happens to its
 * name.
 */

/*
 * Open a directory.
 *
 * Returns a descriptor; -EPERM, after a line in the log, if others could change
 * it or one of those above it; or another negative errno.
 */
int plugin_dir_open(const char *dir);

/*
 * Load a file of such a directory.  It stays loaded.
 *
 *  symbol  what it must define
 *
 * Returns the address of that; or NULL, after a line in the log unless there is
 * no such file.
 */
const void *plugin_file_load(int dirfd, const char *name, const char *symbol);

#endif
