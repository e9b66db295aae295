/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/*
 * A place of named byte objects: the only way to the bytes of a frame.
 *
 * A contiguous frame is the object "" of a store; a sparse frame is a store
 * with an object for each chunk.  Objects may be far away, so a caller asks
 * for all the ranges that it needs in one call, a store may fetch them side by
 * side, and no lock is held meanwhile.
 */
struct store;

/* One object, open for reading.  Any number of threads may read it. */
struct store_object;

struct store_stat {
    uint64_t size;      /* bytes in the object */
    uint64_t allocated; /* bytes that it takes up where it is kept */
    uint64_t dev;       /* device and inode, or another lasting identity */
    uint64_t ino;
    struct timespec mtime;
    struct timespec ctime;
};

/* Bytes to read from an object. */
struct store_range {
    uint64_t off;
    size_t len;
    uint8_t *buf; /* room for `len` bytes */
};

/*
 * How local stores open what lies below a directory.
 */
enum store_flags {
    STORE_FOLLOW = 1 << 0, /* symbolic links are followed: for a path that a
                              user typed; never for names found in a tree */
};

/*
 * A store of one local file, which is its object "".
 *
 *  dirfd, path  as for openat(); without STORE_FOLLOW the path must stay below
 *               dirfd and pass through no symbolic link
 *
 * Both copy `path` and need `dirfd` only until they return, since they open
 * the file or directory.  Returns 0 or a negative errno; -EINVAL if it is
 * not a regular file, or no directory.
 */
int store_file_open(int dirfd, const char *path, unsigned flags,
                    struct store **out);

/* A store of the regular files in one local directory.  Links in it are never
   followed. */
int store_dir_open(int dirfd, const char *path, unsigned flags,
                   struct store **out);

/*
 * A store of one object "" in memory.
 *
 *  bytes, len  not copied; must outlive the store
 */
int store_mem_open(const uint8_t *bytes, size_t len, struct store **out);

/* A named object in memory. */
struct store_mem_file {
    const char *name;
    const uint8_t *bytes;
    size_t len;
};

/*
 * A store of named objects in memory.  The array is copied; names and bytes
 * are not, and must outlive the store.
 */
int store_mem_open_dir(const struct store_mem_file *files, size_t nfiles,
                       struct store **out);

/* Accepts NULL.  Objects must be closed first. */
void store_close(struct store *store);

/* Does the store hold named objects (true) or the one object "" (false)? */
bool store_is_directory(const struct store *store);

/*
 * Open an object.  Returns 0, -ENOENT, -EINVAL (no regular file; a link) or
 * another negative errno.
 */
int store_open(struct store *store, const char *name,
               struct store_object **out);

/* Accepts NULL. */
void store_object_close(struct store_object *object);

int store_object_stat(struct store_object *object, struct store_stat *out);

/*
 * Read ranges, all of them or none that counts.  Returns 0, -ENODATA if a
 * range that is not empty passes the end of the object, or another negative
 * errno.
 */
int store_object_read(struct store_object *object,
                      const struct store_range *ranges, size_t nranges);

/* Read one range. */
int store_object_read_at(struct store_object *object, uint64_t off, void *buf,
                         size_t len);

#endif
