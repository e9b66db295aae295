/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FUSE_MOUNT_TABLE_H
#define FUSE_MOUNT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* One line of a mountinfo file, see proc_pid_mountinfo(5). */
struct mount_entry {
    dev_t dev;        /* of the mounted file system */
    const char *path; /* where it is mounted */
    bool is_framefs;
    uid_t user;   /* the user who mounted it, if it is framefs */
    uint16_t tag; /* a hash of the name under which framefs has mounted it */
};

/* The mounts of a mount namespace, one after the other. */
struct mount_table {
    FILE *file;
    char *line;
    size_t size; /* of `line` */
};

/*
 * Open the list of mounts that a process sees.
 *
 *  pid  the process; 0: this one
 *
 * Returns 0 or a negative errno, -EACCES if that process belongs to another
 * user.  This asks no file system for anything, so none can block it.
 */
int mount_table_open(pid_t pid, struct mount_table *out);

/* Read the next mount.  Returns false after the last one.  The strings live
   until the next call. */
bool mount_table_next(struct mount_table *table, struct mount_entry *out);

/* Close the table and free its memory.  Accepts a zeroed table. */
void mount_table_close(struct mount_table *table);

/*
 * Find the topmost mount at a path without symbolic links, if it is framefs.
 *
 * Returns 0; -ENOENT if there is none, or another file system is on top; or
 * another error.  `out->path` is NULL.
 */
int mount_table_find(const char *path, struct mount_entry *out);

/* Does the process see a mount of framefs with this device number and tag?
   Returns 1, 0 or an error. */
int mount_table_has(pid_t pid, dev_t dev, uint16_t tag);

/*
 * Does any process see it, as far as this one may look?  Processes in other
 * mount namespaces, as in containers, keep copies of mounts that are gone here.
 *
 *  except  in this process's own namespace, the mount at this path does not
 *          count; may be NULL
 */
bool mount_table_any_has(dev_t dev, uint16_t tag, const char *except);

#endif
