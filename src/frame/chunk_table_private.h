/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_CHUNK_TABLE_PRIVATE_H
#define FRAME_CHUNK_TABLE_PRIVATE_H

#include "frame/chunk_table.h"

enum piece_kind {
    PIECE_UNIFORM, /* one special value */
    PIECE_CLEAN,   /* in the committed index */
    PIECE_LOADED,  /* in memory */
};

/* CHUNK_TABLE_PIECE chunks of the table, or what is left at its end. */
struct piece {
    union {
        struct table_chunk *chunks; /* PIECE_LOADED */
        uint32_t *cbytes; /* PIECE_CLEAN: of the stored chunks; NULL if there
                             are none, or if they are chunk files */
    };
    union {
        int64_t entry; /* PIECE_UNIFORM */
        uint64_t sum;  /* PIECE_CLEAN: of the entries, to know them again */
    };
    uint64_t end;     /* PIECE_CLEAN: see chunk_table_end() */
    uint16_t nstored; /* but for PIECE_LOADED */
    uint16_t room;    /* PIECE_LOADED: in `chunks` */
    uint8_t kind;
    bool changed; /* since the last commit */
};

enum {
    GROUP_NPIECES = 64,
    GROUP_NCHUNKS = GROUP_NPIECES * CHUNK_TABLE_PIECE,
};

/* Some pieces; those behind the end of the table are zeroed. */
struct piece_group {
    struct piece *pieces; /* NULL if all are like `alike` */
    struct piece alike;   /* PIECE_UNIFORM */
};

struct chunk_table {
    bool sparse;
    bool keeps_all;
    uint64_t nchunks;
    uint64_t cbytes;
    struct piece_group *groups;
    size_t room; /* in `groups` */

    /* What the last commit has written; NULL if there is none. */
    struct store_object *object;
    struct index *index;

    uint64_t *sums; /* of blocks, see chunk_table_keep_sums() */
    uint32_t nsums;

    struct table_chunk *peeked; /* room for a piece */
    uint64_t peeked_no;         /* the piece in it, + 1; 0: none */
};

/* A piece, to look at. */
static inline const struct piece *table_piece(const struct chunk_table *table,
                                              uint64_t piece_no)
{
    const struct piece_group *group = &table->groups[piece_no / GROUP_NPIECES];

    return group->pieces ? &group->pieces[piece_no % GROUP_NPIECES]
                         : &group->alike;
}

/* The same to change it; NULL if there is no memory.  Pieces of its group that
   were looked at may have moved. */
struct piece *table_own_piece(struct chunk_table *table, uint64_t piece_no);

/* Let groups of pieces `first` to `end` - 1 take no memory, if all of their
   pieces are one special value. */
void table_shrink(struct chunk_table *table, uint64_t first, uint64_t end);

/* How many pieces there are, and how many chunks one has. */
uint64_t table_npieces(const struct chunk_table *table);
size_t table_piece_len(const struct chunk_table *table, uint64_t piece_no);

/* Reserve room for the pieces of `nchunks` chunks.  Returns 0 or -ENOMEM. */
int table_reserve(struct chunk_table *table, uint64_t nchunks);

/* Look at the chunks of a piece; they are there until the next call.  Returns 0
   or an error of chunk_table_get(). */
int table_peek(struct chunk_table *table, uint64_t piece_no,
               const struct table_chunk **out);

/* Load a piece, with room for `n` chunks or more.  Errors as above. */
int table_load(struct chunk_table *table, uint64_t piece_no, size_t n);

/* The sum of `cbytes` in a piece of `len` chunks. */
uint64_t piece_cbytes(const struct chunk_table *table,
                      const struct piece *piece, size_t len);

void piece_free(struct piece *piece);
void group_free(struct piece_group *group);

/* Make room in a piece that is loaded, or about to be; see `struct piece`.
   Returns 0 or -ENOMEM. */
int piece_reserve(struct piece *piece, size_t n);

#endif
