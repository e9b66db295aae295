/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DISK_CACHE_H
#define STORE_DISK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"

/*
 * A directory in which bytes of objects on servers are kept, so that the next
 * program need not ask for them.  Any number of threads and processes use one
 * without locks, because a file never changes once it has its name.
 *
 * A file has a run of up to DISK_FILE_MAX bytes of one object.  Its name is a
 * key, which the user of this module makes of everything that the bytes depend
 * on.  Checksums tell torn and wrong files, which are removed.  Files are not
 * synced: a crash may cost some of them.
 *
 * Nothing here fails a read: what cannot be written or read is not there.
 */
struct disk_cache;

enum {
    DISK_KEY_LEN = 32,
    DISK_BLOCK = 64 << 10, /* unit of checksums */
    DISK_FILE_MAX = 1 << 20,
    DISK_NBLOCKS = DISK_FILE_MAX / DISK_BLOCK,
};

/* The least limit of a cache, in bytes. */
#define DISK_CACHE_MIN (UINT64_C(16) << 20)

/* Which bytes a file has. */
struct disk_key {
    uint8_t id[DISK_KEY_LEN];
};

/* Facts about the object that the bytes of a file belong to. */
struct disk_note {
    uint64_t size;    /* of the object */
    int64_t modified; /* seconds since 1970; 0: unknown */
    int64_t checked;  /* when the server was asked, likewise */
    bool settled;     /* see http_cached.h */
    char etag[NET_ETAG_MAX];
};

/*
 * Open a cache, and make its directory unless it exists.
 *
 *  dir   a directory of this user, to which nobody else may write; its last
 *        name is not that of a symbolic link
 *  size  bytes that all its files may have, at least DISK_CACHE_MIN
 *
 * Returns 0, -EPERM if others could change the directory, or another negative
 * errno.
 */
int disk_cache_open(const char *dir, uint64_t size, struct disk_cache **out);

/* Close a cache that nobody uses; accepts NULL. */
void disk_cache_close(struct disk_cache *cache);

/* A file that is open. */
struct disk_file {
    int fd;
    struct disk_key key;
    struct disk_note note;
    size_t len; /* bytes of the object in it */
    uint64_t sums[DISK_NBLOCKS];
};

/* Find the file with a key.  Returns 0, and then the caller closes it, or
   -ENOENT. */
int disk_cache_find(struct disk_cache *cache, const struct disk_key *key,
                    struct disk_file *out);
void disk_file_close(struct disk_file *file);

/*
 * Read bytes of a file.
 *
 *  off  a multiple of DISK_BLOCK
 *  len  ends at another multiple, or at the end of the file
 *
 * Returns 0, or -ENOENT if the bytes are wrong; the file is removed then.
 */
int disk_file_read(struct disk_cache *cache, const struct disk_file *file,
                   size_t off, size_t len, uint8_t *buf);

/* Keep bytes, at most DISK_FILE_MAX, in place of those that the key had; or
   only a note, if `len` is 0. */
void disk_cache_put(struct disk_cache *cache, const struct disk_key *key,
                    const struct disk_note *note, const uint8_t *bytes,
                    size_t len);

/* Remove the file with a key, if there is one. */
void disk_cache_remove(struct disk_cache *cache, const struct disk_key *key);

/* Statistics of this process. */
struct disk_stats {
    uint64_t read;    /* bytes read */
    uint64_t written; /* bytes written */
    uint64_t wrong;   /* files removed because of their checksums */
};

/* Get the statistics. */
void disk_cache_get_stats(const struct disk_cache *cache,
                          struct disk_stats *out);

#endif
