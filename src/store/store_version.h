/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_VERSION_H
#define STORE_STORE_VERSION_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct stat;

/*
 * A version of an object: everything that a store tells at no cost about which
 * object this is and when it changed.  Two versions are compared to find out
 * whether bytes that were read earlier are still those of the object.
 *
 * A local file gets another version by
 *
 *                                       object   size   mtime   ctime
 *  writing, truncating, punching holes    -        x      x       x
 *  utimens()                              -        -      x       x
 *  chmod(), chown(), xattrs, links,
 *   renaming, removing a name             -        -      -       x
 *  renaming another file over it          x        x      x       x
 *
 * So a program that writes to a file and then sets the old mtime shows only in
 * the ctime.  On the other hand, a process that gives free space of a frame
 * back changes the mtime, but no byte that anybody reads; frame/watch.h tells
 * the two apart.
 */
struct store_version {
    uint64_t dev; /* device and inode, or another lasting identity */
    uint64_t ino;
    uint64_t size; /* bytes in the object */
    struct timespec mtime;
    struct timespec ctime;
    bool settled; /* the times were so old when the store was asked for them
                     that any later change gets other ones; not compared */
};

/* How two versions are related.  Each relation includes those before it. */
enum store_relation {
    VERSION_OTHER_OBJECT,
    VERSION_SAME_OBJECT,  /* but its content may have changed */
    VERSION_SAME_CONTENT, /* but its attributes or names may have changed */
    VERSION_SAME,
};

/*
 * Find the closest relation of two versions.
 *
 * If the older one was not settled, a change between the two may not show,
 * whatever the result is.
 */
enum store_relation store_version_compare(struct store_version a,
                                          struct store_version b);

/*
 * Hash a version, where it must be kept in 64 bits.  The hashes of two versions
 * differ unless store_version_compare() returns at least `relation`.  Never 0.
 */
uint64_t store_version_hash(struct store_version version,
                            enum store_relation relation);

/* Return the hash of a settled version, with VERSION_SAME; or 0 for another
   one, because an equal hash would prove nothing. */
uint64_t store_version_stamp(struct store_version version);

/* Get the version of a local file from its attributes.  Because of `settled`,
   the caller does this before it reads the content of the file. */
struct store_version store_version_of(const struct stat *st);

/* Are these the attributes of one file, perhaps at different times? */
bool store_version_same_object(const struct stat *a, const struct stat *b);

#endif
