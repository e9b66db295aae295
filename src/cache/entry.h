/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_ENTRY_H
#define CACHE_ENTRY_H

#include "cache/cache.h"

enum block_state {
    BLOCK_MISSING,
    BLOCK_FILLING, /* some thread decodes it with the lock dropped */
    BLOCK_READY,
};

/* Some whole blocks of a chunk in one buffer. */
struct cache_unit {
    struct list node; /* in cache.idle, or alone */
    struct cache_entry *entry;
    uint8_t *buf; /* NULL: none of its blocks is in memory */
    uint32_t npins;
};

/*
 * One chunk.  An entry that nobody uses lives as long as one of its units has
 * a buffer; one that never got a buffer is in cache.idle by its first unit.
 *
 * The cache's lock guards it, but for `shape` and what follows from it, which
 * are constant once described, and what is in the buffers.
 */
struct cache_entry {
    struct cache_entry *next; /* in its bucket, or in cache.doomed */
    struct list node;         /* in file->entries */
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t nusers;   /* pins and threads that keep it */
    uint32_t nbuffers; /* units that have one */
    bool described;    /* else one thread does so, and nothing below is set */
    struct cache_shape shape;
    uint32_t unit_blocks; /* blocks in each unit but the last */
    uint32_t nunits;      /* at least 1 */
    struct cache_unit *units;
    uint8_t *states; /* enum block_state of each block */
};

/* Lay a chunk out in units, which are not yet allocated. */
void entry_set_shape(struct cache_entry *entry,
                     const struct cache_shape *shape);

/* Allocate units and block states.  Returns 0 or -ENOMEM. */
int entry_alloc_units(struct cache_entry *entry);

/* Bytes that an entry takes up without its buffers. */
size_t entry_size(const struct cache_entry *entry);

/* The unit that a block lies in. */
struct cache_unit *entry_unit(const struct cache_entry *entry, uint32_t block);

/* Bytes that the buffer of a unit takes up. */
size_t entry_unit_size(const struct cache_unit *unit);

/* The first block of a unit, and the number behind its last one. */
uint32_t entry_unit_first(const struct cache_unit *unit);
uint32_t entry_unit_end(const struct cache_unit *unit);

#endif
