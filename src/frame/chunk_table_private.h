/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_CHUNK_TABLE_PRIVATE_H
#define FRAME_CHUNK_TABLE_PRIVATE_H

#include "frame/chunk_table.h"

/* Where the entries of a piece of the table are. */
enum piece_kind {
    PIECE_UNIFORM, /* one special value */
    PIECE_CLEAN,   /* in the committed index */
    PIECE_LOADED,  /* in memory */
};

/* CHUNK_TABLE_PIECE chunks of the table, or fewer at its end. */
struct piece {
    union {
        struct table_chunk *chunks; /* PIECE_LOADED */
        uint32_t *cbytes; /* PIECE_CLEAN: of each stored chunk; NULL if there is
                             none, or if chunks are files */
    };
    union {
        int64_t entry; /* PIECE_UNIFORM */
        uint64_t sum;  /* PIECE_CLEAN: checksum of the entries */
    };
    uint64_t end;      /* PIECE_CLEAN: see chunk_table_end() */
    uint16_t nstored;  /* not valid for PIECE_LOADED */
    uint16_t capacity; /* PIECE_LOADED: capacity of `chunks` */
    uint8_t kind;
    bool changed; /* since the last commit */
};

enum {
    GROUP_NPIECES = 64,
    GROUP_NCHUNKS = GROUP_NPIECES * CHUNK_TABLE_PIECE,
};

/* A group of pieces; pieces behind the end of the table are zeroed. */
struct piece_group {
    struct piece *pieces; /* NULL if all equal `alike` */
    struct piece alike;   /* PIECE_UNIFORM */
};

/* The table, for the chunk_table*.c files; chunk_table.h says what it is. */
struct chunk_table {
    bool sparse;
    bool keeps_all;
    uint64_t nchunks;
    uint64_t cbytes;
    struct piece_group *groups;
    size_t capacity; /* capacity of `groups` */

    /* The last committed index; NULL if there is none. */
    struct store_object *object;
    struct index *index;

    uint64_t *sums; /* checksums of blocks, see chunk_table_keep_sums() */
    uint32_t nsums;

    struct table_chunk *peeked; /* buffer for one piece */
    uint64_t peeked_no;         /* number of the piece in it, + 1; 0: none */
};

/* Get a piece for reading. */
static inline const struct piece *table_piece(const struct chunk_table *table,
                                              uint64_t piece_no)
{
    const struct piece_group *group = &table->groups[piece_no / GROUP_NPIECES];

    return group->pieces ? &group->pieces[piece_no % GROUP_NPIECES]
                         : &group->alike;
}

/* Get a piece for writing; NULL if there is no memory.  Pointers that
   table_piece() returned for its group may become stale. */
struct piece *table_own_piece(struct chunk_table *table, uint64_t piece_no);

/* Free the memory of the groups that hold pieces `first` to `end` - 1, if all
   pieces of a group are one special value. */
void table_shrink(struct chunk_table *table, uint64_t first, uint64_t end);

/* The number of pieces, and the number of chunks in one. */
uint64_t table_npieces(const struct chunk_table *table);
size_t table_piece_len(const struct chunk_table *table, uint64_t piece_no);

/* Reserve memory for the groups of `nchunks` chunks.  Returns 0 or -ENOMEM. */
int table_reserve(struct chunk_table *table, uint64_t nchunks);

/* Get the chunks of a piece for reading; they are valid until the next call.
   Returns 0 or an error of chunk_table_get(). */
int table_peek(struct chunk_table *table, uint64_t piece_no,
               const struct table_chunk **out);

/* Load a piece, with capacity for `n` chunks or more.  Errors as above. */
int table_load(struct chunk_table *table, uint64_t piece_no, size_t n);

/* The sum of `cbytes` in a piece of `len` chunks. */
uint64_t piece_cbytes(const struct chunk_table *table,
                      const struct piece *piece, size_t len);

/* Free the memory that a piece or a group refers to.  The struct itself stays
   the caller's; that of a piece is zeroed. */
void piece_free(struct piece *piece);
void group_free(struct piece_group *group);

/* Grow `chunks` of a piece that is loaded, or about to be, to hold `n` chunks
   or more.  Returns 0 or -ENOMEM. */
int piece_reserve(struct piece *piece, size_t n);

#endif
