/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/chunk_table_private.h"

uint64_t table_npieces(const struct chunk_table *table)
{
    return size_pieces(table->nchunks, CHUNK_TABLE_PIECE);
}

size_t table_piece_len(const struct chunk_table *table, uint64_t piece_no)
{
    uint64_t rest = table->nchunks - piece_no * CHUNK_TABLE_PIECE;

    return rest < CHUNK_TABLE_PIECE ? (size_t)rest : CHUNK_TABLE_PIECE;
}

int table_reserve(struct chunk_table *table, uint64_t nchunks)
{
    size_t n = (size_t)size_pieces(nchunks, GROUP_NCHUNKS);
    size_t capacity = table->capacity + table->capacity / 2;
    struct piece_group *groups;

    if (n <= table->capacity)
        return 0;
    if (capacity < n)
        capacity = n;
    groups = realloc(table->groups, capacity * sizeof(groups[0]));
    if (!groups)
        return -ENOMEM;
    memset(groups + table->capacity, 0,
           (capacity - table->capacity) * sizeof(groups[0]));
    table->groups = groups;
    table->capacity = capacity;
    return 0;
}

struct piece *table_own_piece(struct chunk_table *table, uint64_t piece_no)
{
    struct piece_group *group = &table->groups[piece_no / GROUP_NPIECES];

    if (!group->pieces) {
        group->pieces = malloc(GROUP_NPIECES * sizeof(group->pieces[0]));
        if (!group->pieces)
            return NULL;
        for (size_t i = 0; i < GROUP_NPIECES; i++)
            group->pieces[i] = group->alike;
    }
    return &group->pieces[piece_no % GROUP_NPIECES];
}

/* Are the first `n` pieces of a group all one special value? */
static bool are_alike(const struct piece *pieces, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (pieces[i].kind != PIECE_UNIFORM ||
            pieces[i].entry != pieces[0].entry ||
            pieces[i].changed != pieces[0].changed)
            return false;
    return true;
}

void table_shrink(struct chunk_table *table, uint64_t first, uint64_t end)
{
    uint64_t npieces = table_npieces(table);

    for (uint64_t i = first / GROUP_NPIECES;
         i < size_pieces(end, GROUP_NPIECES); i++) {
        struct piece_group *group = &table->groups[i];
        uint64_t start = i * GROUP_NPIECES;
        size_t n = GROUP_NPIECES;

        if (start >= npieces)
            n = 0;
        else if (npieces - start < GROUP_NPIECES)
            n = (size_t)(npieces - start);
        if (group->pieces && are_alike(group->pieces, n)) {
            group->alike = n > 0 ? group->pieces[0] : (struct piece){ 0 };
            free(group->pieces);
            group->pieces = NULL;
        }
    }
}

void group_free(struct piece_group *group)
{
    for (size_t i = 0; group->pieces && i < GROUP_NPIECES; i++)
        piece_free(&group->pieces[i]);
    free(group->pieces);
}
