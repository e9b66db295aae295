/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BACKING_LOCAL_CHANGE_H
#define BACKING_LOCAL_CHANGE_H

#include "backing/backing_change.h"

/*
 * Changes of the entries of local directories.
 *
 * A sparse frame is a directory, but shows as a file.  It is made in a private
 * directory, see private_dir.h, and gets its name in one step when it is whole.
 * It also leaves its place in one step: it is renamed to a private directory in
 * SOURCE.  If that is on another file system, or cannot be made, the frame gets
 * a temporary name where it is.  There it is removed, at once or when it is
 * closed.  The directory in either place is locked while its daemon needs it.
 */
extern const struct backing_change_ops local_change_ops;

/* The functions of `local_change_ops` in files of their own. */
int local_check_name(const struct backing_dir *dir, const char *name,
                     enum entry_kind kind, mode_t mode);
int local_check_rename(const struct backing_entry *entry, const char *name);
int local_remove(const struct backing_dir *dir, const char *name,
                 enum entry_kind kind, const struct backing_removal *how);
void local_finish_removal(const struct backing_dir *dir, enum entry_kind kind,
                          const struct stat *st);
int local_rename(const struct backing_move *move,
                 const struct backing_entry **left);
int local_exchange(const struct backing_move *move);
int local_reform_begin(struct backing_reform *reform);
void local_reform_place(const struct backing_reform *reform,
                        struct backing_place *out);
int local_reform_swap(const struct backing_reform *reform,
                      const struct backing_giving_way *how);
void local_reform_end(struct backing_reform *reform);

#endif
