/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_ENTRY_H
#define CACHE_ENTRY_H

#include "cache/cache.h"

enum block_state {
    BLOCK_MISSING,
    BLOCK_FILLING, /* some thread decodes or writes it, the lock dropped */
    BLOCK_MOVING,  /* it was ready, and comes into another buffer */
    BLOCK_READY,
};

/* Why a unit, or a chunk, is kept in memory until a commit. */
enum hold {
    HOLD_DIRTY = 1,  /* written, and not gathered since */
    HOLD_TAKEN = 2,  /* gathered to be encoded, and in no commit since */
    HOLD_STAGED = 4, /* in a commit to come */
};

enum {
    CACHE_BUFFER_OVERHEAD = 64, /* struct cache_buffer, as allocated */
};

/* Memory for the blocks of a unit. */
struct cache_buffer {
    uint8_t *bytes;
    size_t size;             /* of the bytes */
    struct cache_unit *unit; /* NULL: the unit has got another one */
    uint32_t npins;          /* of cache_pin(), so that the bytes that were
                                ready must not change */
};

/* Some whole blocks of a chunk in one buffer. */
struct cache_unit {
    struct list node; /* in cache.idle or bare, or alone */
    struct cache_entry *entry;
    struct cache_buffer *buffer; /* NULL: none of its blocks is in memory */
    uint32_t nusers; /* pins of the buffer, and threads at work on it */
    uint32_t nahead; /* blocks decoded ahead that nobody has asked for yet */
    unsigned held;   /* a set of enum hold */
    bool gathering;  /* the thread that gathers the chunk uses it */
};

/*
 * One chunk.  An entry that nobody uses lives as long as one of its units has
 * a buffer; one that never got a buffer is in cache.bare by its first unit.
 *
 * The cache's lock guards it, but for `shape` and what follows from it, which
 * are constant once described, and what is in the buffers.
 */
struct cache_entry {
    struct cache_entry *next; /* in its bucket, or in cache.doomed */
    struct list node;         /* in file->entries */
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t nusers;    /* pins and threads that keep it */
    uint32_t nbuffers;  /* units that have one */
    bool retired;       /* it is in no bucket any more, and goes with its last
                          user */
    bool bare;          /* it is in cache.bare */
    bool passed;        /* it goes with its last user, unless used again */
    unsigned held;      /* a set of enum hold; and below, what goes with it */
    bool encoding;      /* one thread is at it, so that no other takes it */
    bool gathering;     /* writers wait */
    uint32_t nwriters;  /* threads that copy bytes into it */
    uint32_t nwritten;  /* bytes written since it was gathered, and */
    uint32_t nunsaved;  /* not committed; at most as many as it has */
    uint32_t dirty_end; /* behind the last byte written that was not gathered */
    uint32_t taken_end; /* behind those that were gathered last */
    struct list *queue; /* file->dirty, full or due, or NULL */
    struct list queue_node;  /* in that, or alone */
    struct list held_node;   /* in file->held, or alone */
    struct list staged_node; /* in file->staged, or alone */
    bool described; /* else one thread does so, and nothing below is set */
    struct cache_shape shape;
    uint32_t unit_blocks; /* blocks in each unit but the last */
    uint32_t nunits;      /* at least 1 */
    struct cache_unit *units;
    uint8_t *states; /* enum block_state of each block */
    uint8_t *ahead;  /* a bit for each: it is one of cache_unit.nahead */
};

/* Lay a chunk out in units, which are not yet allocated. */
void entry_set_shape(struct cache_entry *entry,
                     const struct cache_shape *shape);

/* Allocate units and block states.  Returns 0 or -ENOMEM. */
int entry_alloc_units(struct cache_entry *entry);

/* Bytes that an entry takes up without its buffers. */
size_t entry_size(const struct cache_entry *entry);

/* Bytes that gathering and encoding a chunk take up besides its units. */
size_t entry_encode_work(const struct cache_entry *entry);

/* The same with the units that are not held; but for what a thread borrows. */
size_t entry_encode_need(const struct cache_entry *entry);

/* Bytes that an entry with all its units, and encoding it, take up; but for
   what can be borrowed. */
size_t entry_total(const struct cache_entry *entry);

/* How many blocks from `first` to below `end` are in one state, in a row. */
uint32_t entry_run(const struct cache_entry *entry, uint32_t first,
                   uint32_t end, enum block_state state);

/* The unit that a block lies in. */
struct cache_unit *entry_unit(const struct cache_entry *entry, uint32_t block);

/* Bytes of the buffer of a unit; and those that it takes up. */
size_t entry_unit_size(const struct cache_unit *unit);
size_t entry_unit_cost(const struct cache_unit *unit);

/* The first block of a unit, and the number behind its last one. */
uint32_t entry_unit_first(const struct cache_unit *unit);
uint32_t entry_unit_end(const struct cache_unit *unit);

/* Note that blocks of a unit were decoded ahead; and that those in [first, end)
   are asked for, or go, which returns how many of them were. */
void entry_mark_ahead(struct cache_unit *unit, uint32_t first, uint32_t n);
uint32_t entry_clear_ahead(struct cache_unit *unit, uint32_t first,
                           uint32_t end);

#endif
