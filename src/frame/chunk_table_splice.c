/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/chunk_table_private.h"

/* Are all chunks of a piece this special value? */
static bool is_piece_of(const struct piece *piece, int64_t entry)
{
    return piece->kind == PIECE_UNIFORM && piece->entry == entry;
}

bool chunk_table_is_uniform(const struct chunk_table *table, uint64_t first,
                            uint64_t n, int64_t *entry)
{
    uint64_t piece_no = first / CHUNK_TABLE_PIECE;
    uint64_t last = (first + n - 1) / CHUNK_TABLE_PIECE;

    *entry = table_piece(table, piece_no)->entry;
    for (uint64_t i = piece_no; i <= last; i++)
        if (!is_piece_of(table_piece(table, i), *entry))
            return false;
    return true;
}

bool chunk_table_is_clean(const struct chunk_table *table, uint64_t first,
                          uint64_t n)
{
    uint64_t last = (first + n - 1) / CHUNK_TABLE_PIECE;

    for (uint64_t i = first / CHUNK_TABLE_PIECE; i <= last; i++)
        if (table_piece(table, i)->changed)
            return false;
    return true;
}

int chunk_table_get_run(struct chunk_table *table, uint64_t chunk_no,
                        struct table_chunk *out, uint64_t *n)
{
    uint64_t npieces = table_npieces(table);
    uint64_t piece_no = chunk_no / CHUNK_TABLE_PIECE;
    const struct piece *piece = table_piece(table, piece_no);
    uint64_t end;

    *n = 1;
    if (piece->kind == PIECE_UNIFORM) {
        while (piece_no < npieces &&
               is_piece_of(table_piece(table, piece_no), piece->entry))
            piece_no++;
        end = piece_no * CHUNK_TABLE_PIECE;
        *n = (end < table->nchunks ? end : table->nchunks) - chunk_no;
    }
    return chunk_table_get(table, chunk_no, out);
}

/* The number of chunks of a range that lie in the piece of the first one. */
static size_t run_len(uint64_t first, uint64_t n)
{
    uint64_t rest = CHUNK_TABLE_PIECE - first % CHUNK_TABLE_PIECE;

    return (size_t)(rest < n ? rest : n);
}

int chunk_table_count_stored(struct chunk_table *table, uint64_t first,
                             uint64_t n, uint64_t *out)
{
    uint64_t nstored = 0;

    for (uint64_t end = first + n; first < end;) {
        uint64_t piece_no = first / CHUNK_TABLE_PIECE;
        const struct piece *piece = table_piece(table, piece_no);
        size_t len = run_len(first, end - first);
        const struct table_chunk *chunks;
        int r;

        if (piece->kind != PIECE_LOADED &&
            (piece->nstored == 0 || len == table_piece_len(table, piece_no))) {
            nstored += piece->nstored;
        } else {
            r = table_peek(table, piece_no, &chunks);
            if (r < 0)
                return r;
            for (size_t i = 0; i < len; i++)
                nstored += chunks[first % CHUNK_TABLE_PIECE + i].entry >= 0;
        }
        first += len;
    }
    *out = nstored;
    return 0;
}

/* Look for a stored chunk in one piece.  Returns as
   chunk_table_next_stored(). */
static int next_in_piece(struct chunk_table *table, uint64_t *chunk_no,
                         struct table_chunk *out)
{
    uint64_t piece_no = *chunk_no / CHUNK_TABLE_PIECE;
    const struct piece *piece = table_piece(table, piece_no);
    const struct table_chunk *chunks;
    int r;

    if (piece->kind != PIECE_LOADED && piece->nstored == 0)
        return 0;
    r = table_peek(table, piece_no, &chunks);
    if (r < 0)
        return r;
    for (size_t i = (size_t)(*chunk_no % CHUNK_TABLE_PIECE);
         i < table_piece_len(table, piece_no); i++)
        if (chunks[i].entry >= 0) {
            *chunk_no = piece_no * CHUNK_TABLE_PIECE + i;
            *out = chunks[i];
            return 1;
        }
    return 0;
}

int chunk_table_next_stored(struct chunk_table *table, uint64_t *chunk_no,
                            struct table_chunk *out)
{
    while (*chunk_no < table->nchunks) {
        int r = next_in_piece(table, chunk_no, out);

        if (r != 0)
            return r;
        *chunk_no += run_len(*chunk_no, CHUNK_TABLE_PIECE);
    }
    return 0;
}

/* A splice, and the pieces that it creates. */
struct splice {
    struct chunk_table *table;
    uint64_t first;
    uint64_t nremoved;
    const struct table_chunk *chunk;
    uint64_t nadded;
    uint64_t nchunks; /* of the table after the splice */

    uint64_t piece_no; /* number of the first piece that is created */
    struct piece *made;
    uint64_t nmade;
};

/*
 * Find the chunks that a position gets its chunks from.
 *
 *  pos  chunk number after the splice
 *  n    how many chunks are wanted; receives how many come from one source
 *
 * Returns the number of the first one before the splice, or UINT64_MAX if they
 * are added chunks.
 */
static uint64_t find_source(const struct splice *splice, uint64_t pos,
                            uint64_t *n)
{
    uint64_t behind = splice->first + splice->nadded;
    uint64_t end = UINT64_MAX;
    uint64_t source = pos - splice->nadded + splice->nremoved;

    if (pos < splice->first) {
        source = pos;
        end = splice->first;
    } else if (pos < behind) {
        source = UINT64_MAX;
        end = behind;
    }
    if (end - pos < *n)
        *n = end - pos;
    return source;
}

/* Will these chunks all be one special value after the splice? */
static bool becomes_uniform(const struct splice *splice, uint64_t pos,
                            uint64_t end, int64_t *entry)
{
    for (uint64_t at = pos, n; at < end; at += n) {
        uint64_t source;
        int64_t value;

        n = end - at;
        source = find_source(splice, at, &n);
        if (source == UINT64_MAX)
            value = splice->chunk->entry;
        else if (!chunk_table_is_uniform(splice->table, source, n, &value))
            return false;
        if (value >= 0 || (at > pos && value != *entry))
            return false;
        *entry = value;
    }
    return !splice->table->keeps_all;
}

/* Copy a run of chunks; `n` receives how many. */
static int copy_run(const struct splice *splice, uint64_t pos, uint64_t *n,
                    struct table_chunk *dst)
{
    uint64_t source = find_source(splice, pos, n);
    const struct table_chunk *chunks;
    int r;

    if (source == UINT64_MAX) {
        for (uint64_t i = 0; i < *n; i++)
            dst[i] = *splice->chunk;
        return 0;
    }
    *n = run_len(source, *n);
    r = table_peek(splice->table, source / CHUNK_TABLE_PIECE, &chunks);
    if (r == 0)
        memcpy(dst, chunks + source % CHUNK_TABLE_PIECE,
               (size_t)*n * sizeof(dst[0]));
    return r;
}

static int make_piece(const struct splice *splice, uint64_t piece_no,
                      struct piece *out)
{
    uint64_t pos = piece_no * CHUNK_TABLE_PIECE;
    uint64_t end = pos + CHUNK_TABLE_PIECE < splice->nchunks
                       ? pos + CHUNK_TABLE_PIECE
                       : splice->nchunks;
    int64_t entry = 0;
    int r;

    *out = (struct piece){ .changed = true };
    if (becomes_uniform(splice, pos, end, &entry)) {
        out->entry = entry;
        return 0;
    }
    out->kind = PIECE_LOADED;
    r = piece_reserve(out, (size_t)(end - pos));
    for (uint64_t at = pos, n; at < end && r == 0; at += n) {
        n = end - at;
        r = copy_run(splice, at, &n, out->chunks + (at - pos));
    }
    if (r < 0)
        piece_free(out);
    return r;
}

/* Create the pieces that differ after the splice: all up to the end, unless no
   chunk changes its number. */
static int make_pieces(struct splice *splice)
{
    uint64_t end = splice->nadded == splice->nremoved
                       ? splice->first + splice->nadded
                       : splice->nchunks;
    uint64_t last = size_pieces(end, CHUNK_TABLE_PIECE);
    int r = 0;

    splice->piece_no = splice->first / CHUNK_TABLE_PIECE;
    if (last <= splice->piece_no)
        return 0;
    splice->made = calloc(last - splice->piece_no, sizeof(splice->made[0]));
    if (!splice->made)
        return -ENOMEM;
    for (uint64_t i = splice->piece_no; i < last && r == 0; i++) {
        r = make_piece(splice, i, &splice->made[i - splice->piece_no]);
        splice->nmade += r == 0;
    }
    return r;
}

/* Give every group a piece array of its own, so that apply() cannot fail. */
static int own_pieces(struct splice *splice)
{
    uint64_t end = splice->piece_no + splice->nmade;

    for (uint64_t i = splice->piece_no; i < end; i++)
        if (!table_own_piece(splice->table, i))
            return -ENOMEM;
    return 0;
}

/* Remove a piece that apply() replaces from the table. */
static void remove_piece(struct chunk_table *table, uint64_t piece_no)
{
    if (!table->groups[piece_no / GROUP_NPIECES].pieces)
        return;
    table->cbytes -= piece_cbytes(table, table_piece(table, piece_no),
                                  table_piece_len(table, piece_no));
    piece_free(table_own_piece(table, piece_no));
}

static void apply(struct splice *splice)
{
    struct chunk_table *table = splice->table;
    uint64_t end = splice->piece_no + splice->nmade;
    uint64_t npieces = table_npieces(table);

    if (splice->nadded == splice->nremoved && end < npieces)
        npieces = end;
    for (uint64_t i = splice->piece_no; i < npieces; i++)
        remove_piece(table, i);
    table->nchunks = splice->nchunks;
    for (uint64_t i = splice->piece_no; i < end; i++) {
        struct piece *piece = table_own_piece(table, i);

        *piece = splice->made[i - splice->piece_no];
        table->cbytes += piece_cbytes(table, piece, table_piece_len(table, i));
    }
    table_shrink(table, splice->piece_no, npieces > end ? npieces : end);
    table->peeked_no = 0;
}

int chunk_table_splice(struct chunk_table *table, uint64_t first,
                       uint64_t nremoved, const struct table_chunk *chunk,
                       uint64_t nadded)
{
    struct splice splice = {
        .table = table,
        .first = first,
        .nremoved = nremoved,
        .chunk = chunk,
        .nadded = nadded,
        .nchunks = table->nchunks - nremoved + nadded,
    };
    int r;

    if (nremoved == 0 && nadded == 0)
        return 0;
    r = table_reserve(table, splice.nchunks);
    if (r == 0)
        r = make_pieces(&splice);
    if (r == 0)
        r = own_pieces(&splice);
    if (r == 0)
        apply(&splice);
    for (uint64_t i = 0; i < splice.nmade && r < 0; i++)
        piece_free(&splice.made[i]);
    free(splice.made);
    return r;
}

/* Add one chunk to the last piece, which is not full. */
static int append_one(struct chunk_table *table,
                      const struct table_chunk *chunk)
{
    uint64_t piece_no = table_npieces(table) - 1;
    struct piece *piece = table_own_piece(table, piece_no);
    size_t len = table_piece_len(table, piece_no);

    if (!piece)
        return -ENOMEM;
    if (piece->kind != PIECE_UNIFORM || piece->entry != chunk->entry) {
        int r = table_load(table, piece_no, len + 1);

        if (r < 0)
            return r;
        piece->chunks[len] = *chunk;
    }
    piece->changed = true;
    table->peeked_no = 0;
    table->nchunks++;
    table->cbytes += chunk->cbytes;
    return 0;
}

/* Append special chunks: first fill up the last group, then add whole
   groups. */
static int append_groups(struct chunk_table *table,
                         const struct table_chunk *chunk, uint64_t n)
{
    uint64_t head =
        (GROUP_NCHUNKS - table->nchunks % GROUP_NCHUNKS) % GROUP_NCHUNKS;
    int r = table_reserve(table, table->nchunks + n);

    if (r == 0)
        r = chunk_table_splice(table, table->nchunks, 0, chunk, head);
    if (r < 0)
        return r;
    for (uint64_t done = head; done < n; done += GROUP_NCHUNKS) {
        uint64_t group_no = (table->nchunks - head + done) / GROUP_NCHUNKS;

        table->groups[group_no].alike =
            (struct piece){ .entry = chunk->entry, .changed = true };
    }
    table->nchunks += n - head;
    return 0;
}

int chunk_table_append(struct chunk_table *table,
                       const struct table_chunk *chunk, uint64_t n)
{
    if (n == 1 && table->nchunks % CHUNK_TABLE_PIECE != 0)
        return append_one(table, chunk);
    if (n >= GROUP_NCHUNKS && chunk->entry < 0 && !table->keeps_all)
        return append_groups(table, chunk, n);
    return chunk_table_splice(table, table->nchunks, 0, chunk, n);
}

int chunk_table_append_clean_run(struct chunk_table *table, int64_t entry,
                                 uint64_t n)
{
    const struct table_chunk chunk = { .entry = entry };
    uint64_t piece_no = table_npieces(table);
    int r = chunk_table_append(table, &chunk, n);

    for (uint64_t i = piece_no; i < table_npieces(table) && r == 0; i++) {
        struct piece_group *group = &table->groups[i / GROUP_NPIECES];

        if (group->pieces)
            group->pieces[i % GROUP_NPIECES].changed = false;
        else
            group->alike.changed = false;
    }
    return r;
}
