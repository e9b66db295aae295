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

/* Why a group or a chunk is uncommitted, and so kept in memory. */
enum uncommitted {
    UNCOMMITTED_DIRTY = 1,     /* written, and not in writeback since */
    UNCOMMITTED_WRITEBACK = 2, /* being encoded, or encoded */
    UNCOMMITTED_STAGED = 4,    /* in the next commit */
    UNCOMMITTED_ORPHANED = 8,  /* never to be committed; alone in a set, and
                                  not counted as uncommitted */
};

enum {
    CACHE_BUFFER_OVERHEAD = 64, /* for struct cache_buffer, as allocated */
};

/* Memory for the blocks of a group. */
struct cache_buffer {
    uint8_t *bytes;
    size_t size;                /* of `bytes` */
    struct buffer_group *group; /* NULL: the group has another buffer now */
    uint32_t npins; /* by cache_pin() and cache_pin_chunk(); while there are
                       any, ready bytes must not change */
};

/* Some whole blocks of a chunk, which share a buffer. */
struct buffer_group {
    struct list node; /* in cache.idle or cache.bare, or alone */
    struct cache_entry *entry;
    struct cache_buffer *buffer; /* NULL: none of the blocks is in memory */
    uint32_t nusers;      /* pins of the buffer, and threads that work on it */
    uint32_t nahead;      /* blocks decoded ahead that no caller has used yet */
    unsigned uncommitted; /* a set of enum uncommitted */
    bool pinning;         /* the thread that pins the chunk keeps it */
    bool once;            /* the buffer goes with its last user, unless used
                             again */
    uint64_t gone_at;     /* cache.gone_nbytes when a buffer last went so; 0:
                             none did */
};

/*
 * One chunk.  An unused entry is evicted with its last buffer, unless there is
 * memory for it.  One without buffers is in cache.bare, through its first
 * group.
 *
 * The cache's lock guards it, except for `shape` and the fields that follow
 * from it, which are constant once described, and the content of the buffers.
 */
struct cache_entry {
    struct cache_entry *next; /* in its bucket, or in cache.to_free */
    struct list node;         /* in file->entries */
    struct cache_file *file;
    uint64_t chunk_no;
    uint32_t nusers;   /* pins, and threads that keep it */
    uint32_t nbuffers; /* groups that have a buffer */
    bool invalidated;  /* it was invalidated: it is in no bucket, and is freed
                          with its last user */
    bool bare;         /* it is in cache.bare */
    bool drop_behind;  /* it goes with its last user, unless used again */
    unsigned uncommitted; /* a set of enum uncommitted */
    bool encoding;        /* a thread encodes it, so no other thread may */
    bool pinning;         /* being pinned for encoding: writers wait */
    uint32_t nwriters;    /* threads that copy bytes into it */
    uint32_t nwritten;    /* bytes written since its writeback began, and */
    uint32_t nunsaved;    /* since it was committed; both at most its size */
    uint32_t dirty_end; /* end of the written bytes that are not in writeback */
    uint32_t writeback_end;       /* end of the bytes in the last writeback */
    struct list *queue;           /* file->dirty, full or tagged, or NULL */
    struct list queue_node;       /* in `queue`, or alone */
    struct list uncommitted_node; /* in file->uncommitted, or alone */
    struct list staged_node;      /* in file->staged, or alone */
    bool described; /* if not, a thread describes it, and the rest is not set */
    struct cache_shape shape;
    uint32_t group_blocks; /* blocks in each group but the last */
    uint32_t ngroups;      /* at least 1 */
    struct buffer_group *groups;
    uint8_t *states; /* enum block_state of each block */
    uint8_t *ahead;  /* a bit per block: it counts in buffer_group.nahead */
};

/*
 * Divide a chunk into groups, which are allocated later.
 *
 *  len  bytes that the first caller wants of it, because others of the same
 *       file will want as many
 */
void entry_set_shape(struct cache_entry *entry, const struct cache_shape *shape,
                     size_t len);

/* Allocate groups and block states.  Returns 0 or -ENOMEM. */
int entry_alloc_groups(struct cache_entry *entry);

/* Return the bytes that an entry takes up without its buffers. */
size_t entry_size(const struct cache_entry *entry);

/* Return the bytes that pinning and encoding a chunk take up besides its
   groups. */
size_t entry_encode_work(const struct cache_entry *entry);

/* Return the bytes for encoding a chunk, with its groups that are not
   uncommitted, but without the bytes that a thread can borrow. */
size_t entry_encode_need(const struct cache_entry *entry);

/* Return the bytes that an entry with all its groups, and encoding it, take up,
   without the bytes that a thread can borrow. */
size_t entry_total(const struct cache_entry *entry);

/* Count the blocks from `first` on, below `end`, that are all in one state. */
uint32_t entry_run(const struct cache_entry *entry, uint32_t first,
                   uint32_t end, enum block_state state);

/* Return the group that contains a block. */
struct buffer_group *entry_group(const struct cache_entry *entry,
                                 uint32_t block);

/* Return the size of the buffer of a group; or the bytes that it takes up with
   its overhead. */
size_t entry_group_size(const struct buffer_group *group);
size_t entry_group_cost(const struct buffer_group *group);

/* Return the first block of a group; or the number after its last one. */
uint32_t entry_group_first(const struct buffer_group *group);
uint32_t entry_group_end(const struct buffer_group *group);

/* Note that `n` blocks of a group from `first` on were decoded ahead; or that
   blocks in [first, end) are used or evicted, and return how many of them had
   been decoded ahead. */
void entry_mark_ahead(struct buffer_group *group, uint32_t first, uint32_t n);
uint32_t entry_clear_ahead(struct buffer_group *group, uint32_t first,
                           uint32_t end);

#endif
