/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_CHUNK_TABLE_H
#define FRAME_CHUNK_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "frame/index.h"
#include "store/store.h"

/*
 * The index of a frame that is being changed: for each chunk its index entry
 * and the space that it takes up.
 *
 * The table consists of pieces of CHUNK_TABLE_PIECE chunks.  A piece whose
 * chunks are all one special value takes no memory.  A piece that is unchanged
 * since the commit keeps 4 bytes for each stored chunk of a contiguous frame,
 * and is read from the committed index when it is needed.  Only changed pieces,
 * and a few others, are in memory whole.
 *
 * Not safe for threads.
 */
struct chunk_table;

enum {
    CHUNK_TABLE_PIECE = 1024
};

/* A chunk in the table. */
struct table_chunk {
    int64_t entry;   /* as in the index; below 0 if the chunk is special */
    uint32_t nbytes; /* if chunks may differ in size, else 0 */
    uint32_t cbytes; /* bytes that a stored chunk takes up in the file; 1 if it
                        is a chunk file; 0 if the chunk is special */
};

/*
 * Make a table without chunks.
 *
 *  sparse  each stored chunk is a file of its own
 *
 * Returns 0 or -ENOMEM.
 */
int chunk_table_new(bool sparse, struct chunk_table **out);

/* Accepts NULL. */
void chunk_table_free(struct chunk_table *table);

/*
 * From now on keep all pieces in memory whole, because the index does not
 * contain everything about them: chunks differ in size, or entries have an old
 * form.  Errors as chunk_table_get().
 */
int chunk_table_keep_all(struct chunk_table *table);

/* The number of chunks. */
uint64_t chunk_table_count(const struct chunk_table *table);

/* The sum of `cbytes` over all chunks. */
uint64_t chunk_table_cbytes(const struct chunk_table *table);

/* The end of the highest stored chunk, as an offset like those in the entries;
   0 if no chunk is stored. */
uint64_t chunk_table_end(const struct chunk_table *table);

/* Bytes of memory that the table takes up. */
size_t chunk_table_footprint(const struct chunk_table *table);

/*
 * All functions below return 0, -ENOMEM, -ESTALE if another program has changed
 * the committed index, or an error of index_read().  A change that fails
 * changes nothing.
 */

/* Look up a chunk that exists. */
int chunk_table_get(struct chunk_table *table, uint64_t chunk_no,
                    struct table_chunk *out);

/* Do the same.  If the chunk is special, `n` receives how many chunks from
   there on are known without reading to be the same special value; else 1. */
int chunk_table_get_run(struct chunk_table *table, uint64_t chunk_no,
                        struct table_chunk *out, uint64_t *n);

/* Replace a chunk that exists. */
int chunk_table_set(struct chunk_table *table, uint64_t chunk_no,
                    const struct table_chunk *chunk);

/* Append `n` equal chunks. */
int chunk_table_append(struct chunk_table *table,
                       const struct table_chunk *chunk, uint64_t n);

/*
 * Replace a range of chunks, which exist, by `nadded` equal ones.
 *
 *  chunk  NULL if `nadded` is 0
 */
int chunk_table_splice(struct chunk_table *table, uint64_t first,
                       uint64_t nremoved, const struct table_chunk *chunk,
                       uint64_t nadded);

/* Load the whole table, so that no look-up fails until the next commit. */
int chunk_table_load_all(struct chunk_table *table);

/* Count the stored chunks in a range that exists. */
int chunk_table_count_stored(struct chunk_table *table, uint64_t first,
                             uint64_t n, uint64_t *out);

/*
 * Find the next stored chunk.
 *
 *  chunk_no  where to start looking; receives its number
 *
 * Returns 1, 0 if there is none, or an error as above.
 */
int chunk_table_next_stored(struct chunk_table *table, uint64_t *chunk_no,
                            struct table_chunk *out);

/* Read entries `first` to `first + n - 1`, which exist. */
int chunk_table_read(struct chunk_table *table, uint64_t first, size_t n,
                     int64_t *entries);

/* Are these chunks, n > 0, known to be the same special value?  Reads nothing.
   `entry` is meaningless if not. */
bool chunk_table_is_uniform(const struct chunk_table *table, uint64_t first,
                            uint64_t n, int64_t *entry);

/* Are these chunks, n > 0, known to be unchanged since the commit? */
bool chunk_table_is_clean(const struct chunk_table *table, uint64_t first,
                          uint64_t n);

/*
 * Append the chunks of one piece as the committed index has them.  Before that,
 * the table must consist of whole pieces.
 *
 *  chunks, n  0 < n <= CHUNK_TABLE_PIECE
 */
int chunk_table_append_clean(struct chunk_table *table,
                             const struct table_chunk *chunks, size_t n);

/* Do the same with `n` > 0 chunks of one special value, which may fill several
   pieces. */
int chunk_table_append_clean_run(struct chunk_table *table, int64_t entry,
                                 uint64_t n);

/*
 * Tell the table that an index on disk holds all of it.
 *
 *  object, index  both belong to the table from now on; NULL if there are no
 *                 chunks
 */
void chunk_table_commit(struct chunk_table *table, struct store_object *object,
                        struct index *index);

/*
 * Keep a checksum for each block of an index that may be committed, so that the
 * next commit recognizes blocks with the same bytes.
 *
 *  sums  belongs to the table from now on
 */
void chunk_table_keep_sums(struct chunk_table *table, uint64_t *sums,
                           uint32_t nblocks);

/* The checksum that was kept last for a block; 0 if there is none. */
uint64_t chunk_table_sum(const struct chunk_table *table, uint32_t block_no);

/* The committed index; NULL if there is none. */
struct index *chunk_table_index(const struct chunk_table *table);

#endif
