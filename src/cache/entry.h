/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CACHE_ENTRY_H
#define CACHE_ENTRY_H

#include "cache/cache.h"

/* The state of one block of a chunk that is in the cache. */
enum block_state {
    BLOCK_MISSING,
    BLOCK_FILLING, /* a thread decodes or writes it without the lock */
    BLOCK_MOVING,  /* it was ready, and is copied to another buffer */
    BLOCK_READY,
};

/* Why a unit or a chunk is uncommitted, and so kept in memory. */
enum hold {
    HOLD_DIRTY = 1,  /* written, and not gathered since */
    HOLD_TAKEN = 2,  /* gathered to be encoded, and not staged since */
    HOLD_STAGED = 4, /* in the next commit */
};

enum {
    CACHE_BUFFER_OVERHEAD = 64, /* for struct cache_buffer, as allocated */
};

/* Memory for the blocks of a unit. */
struct cache_buffer {
    uint8_t *bytes;
    size_t size;             /* of `bytes` */
    struct cache_unit *unit; /* NULL: the unit has another buffer now */
    uint32_t npins;          /* by cache_pin() and cache_gather(); while there
                                are any, ready bytes must not change */
};

/* A group of whole blocks of a chunk that share a buffer. */
struct cache_unit {
    struct list node; /* in cache.idle or cache.bare, or alone */
    struct cache_entry *entry;
    struct cache_buffer *buffer; /* NULL: none of the blocks is in memory */
    uint32_t nusers; /* pins of the buffer, and threads that work on it */
    uint32_t nahead; /* blocks decoded ahead that no caller has used yet */
    unsigned held;   /* a set of enum hold */
    bool gathering;  /* the thread that gathers the chunk keeps it */
};

/*
 * One chunk.  An unused entry is evicted with its last buffer, unless it is
 * small.  One without buffers is in cache.bare, through its first unit.
 *
 * The cache's lock guards it, except for `shape` and the fields that follow
 * from it, which are constant once described, and the content of the buffers.
 */
struct cache_entry {
    struct cache_entry *next; /* in its bucket, or in cache.doomed */
    struct list node;         /* in file->entries */
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t nusers;    /* pins, and threads that keep it */
    uint32_t nbuffers;  /* units that have a buffer */
    bool retired;       /* it was invalidated: it is in no bucket, and is freed
                           with its last user */
    bool bare;          /* it is in cache.bare */
    bool passed;        /* it goes with its last user, unless used again */
    unsigned held;      /* a set of enum hold */
    bool encoding;      /* a thread has taken it, so no other thread may */
    bool gathering;     /* being gathered: writers wait */
    uint32_t nwriters;  /* threads that copy bytes into it */
    uint32_t nwritten;  /* bytes written since it was gathered, and */
    uint32_t nunsaved;  /* since it was committed; both at most its size */
    uint32_t dirty_end; /* end of the written bytes not yet gathered */
    uint32_t taken_end; /* end of the bytes that were gathered last */
    struct list *queue; /* file->dirty, full or due, or NULL */
    struct list queue_node;  /* in `queue`, or alone */
    struct list held_node;   /* in file->held, or alone */
    struct list staged_node; /* in file->staged, or alone */
    bool described; /* if not, a thread describes it, and the rest is not set */
    struct cache_shape shape;
    uint32_t unit_blocks; /* blocks in each unit but the last */
    uint32_t nunits;      /* at least 1 */
    struct cache_unit *units;
    uint8_t *states; /* enum block_state of each block */
    uint8_t *ahead;  /* a bit per block: it counts in cache_unit.nahead */
};

/* Divide a chunk into units, which are allocated later. */
void entry_set_shape(struct cache_entry *entry,
                     const struct cache_shape *shape);

/* Allocate units and block states.  Returns 0 or -ENOMEM. */
int entry_alloc_units(struct cache_entry *entry);

/* Return the bytes that an entry takes up without its buffers. */
size_t entry_size(const struct cache_entry *entry);

/* Return the bytes that gathering and encoding a chunk take up besides its
   units. */
size_t entry_encode_work(const struct cache_entry *entry);

/* Return the bytes for encoding a chunk, with its units that are not held, but
   without the bytes that a thread can borrow. */
size_t entry_encode_need(const struct cache_entry *entry);

/* Return the bytes that an entry with all its units, and encoding it, take up,
   without the bytes that a thread can borrow. */
size_t entry_total(const struct cache_entry *entry);

/* Count the blocks from `first` on, below `end`, that are all in one state. */
uint32_t entry_run(const struct cache_entry *entry, uint32_t first,
                   uint32_t end, enum block_state state);

/* Return the unit that contains a block. */
struct cache_unit *entry_unit(const struct cache_entry *entry, uint32_t block);

/* Return the size of the buffer of a unit; or the bytes that it takes up with
   its overhead. */
size_t entry_unit_size(const struct cache_unit *unit);
size_t entry_unit_cost(const struct cache_unit *unit);

/* Return the first block of a unit; or the number after its last one. */
uint32_t entry_unit_first(const struct cache_unit *unit);
uint32_t entry_unit_end(const struct cache_unit *unit);

/* Note that `n` blocks of a unit from `first` on were decoded ahead; or that
   blocks in [first, end) are used or evicted, and return how many of them had
   been decoded ahead. */
void entry_mark_ahead(struct cache_unit *unit, uint32_t first, uint32_t n);
uint32_t entry_clear_ahead(struct cache_unit *unit, uint32_t first,
                           uint32_t end);

#endif
