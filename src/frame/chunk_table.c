/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/chunk_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/chunk_table_private.h"
#include "frame/frame_private.h"

enum {
    PIECE_CAPACITY_MIN = 16,
    LOADED_MAX = 16, /* if more are loaded at a commit, all are unloaded */
};

int chunk_table_new(bool sparse, struct chunk_table **out)
{
    struct chunk_table *table = calloc(1, sizeof(*table));

    if (!table)
        return -ENOMEM;
    table->sparse = sparse;
    *out = table;
    return 0;
}

void piece_free(struct piece *piece)
{
    if (piece->kind == PIECE_LOADED)
        free(piece->chunks);
    else if (piece->kind == PIECE_CLEAN)
        free(piece->cbytes);
    *piece = (struct piece){ 0 };
}

static void close_index(struct chunk_table *table)
{
    index_close(table->index);
    store_object_close(table->object);
    table->index = NULL;
    table->object = NULL;
}

void chunk_table_free(struct chunk_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->capacity; i++)
        group_free(&table->groups[i]);
    close_index(table);
    free(table->groups);
    free(table->sums);
    free(table->peeked);
    free(table);
}

uint64_t chunk_table_count(const struct chunk_table *table)
{
    return table->nchunks;
}

uint64_t chunk_table_cbytes(const struct chunk_table *table)
{
    return table->cbytes;
}

void chunk_table_keep_sums(struct chunk_table *table, uint64_t *sums,
                           uint32_t nblocks)
{
    free(table->sums);
    table->sums = sums;
    table->nsums = nblocks;
}

uint64_t chunk_table_sum(const struct chunk_table *table, uint32_t block_no)
{
    return block_no < table->nsums ? table->sums[block_no] : 0;
}

struct index *chunk_table_index(const struct chunk_table *table)
{
    return table->index;
}

static uint64_t end_of(const struct table_chunk *chunk)
{
    return chunk->entry < 0 ? 0 : (uint64_t)chunk->entry + chunk->cbytes;
}

static uint64_t highest_end(const struct table_chunk *chunks, size_t n)
{
    uint64_t end = 0;

    for (size_t i = 0; i < n; i++)
        if (end_of(&chunks[i]) > end)
            end = end_of(&chunks[i]);
    return end;
}

uint64_t chunk_table_end(const struct chunk_table *table)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < table_npieces(table); i++) {
        const struct piece *piece = table_piece(table, i);
        uint64_t piece_end =
            piece->kind == PIECE_LOADED
                ? highest_end(piece->chunks, table_piece_len(table, i))
                : piece->end;

        if (piece_end > end)
            end = piece_end;
    }
    return end;
}

uint64_t piece_cbytes(const struct chunk_table *table,
                      const struct piece *piece, size_t len)
{
    uint64_t cbytes = 0;

    if (piece->kind == PIECE_LOADED) {
        for (size_t i = 0; i < len; i++)
            cbytes += piece->chunks[i].cbytes;
        return cbytes;
    }
    if (table->sparse)
        return piece->nstored;
    for (size_t i = 0; i < piece->nstored; i++)
        cbytes += piece->cbytes[i];
    return cbytes;
}

size_t chunk_table_footprint(const struct chunk_table *table)
{
    size_t size = sizeof(*table) + table->capacity * sizeof(table->groups[0]) +
                  table->nsums * sizeof(table->sums[0]);

    for (size_t i = 0; i < table->capacity; i++)
        if (table->groups[i].pieces)
            size += GROUP_NPIECES * sizeof(struct piece);
    for (uint64_t i = 0; i < table_npieces(table); i++) {
        const struct piece *piece = table_piece(table, i);

        if (piece->kind == PIECE_LOADED)
            size += piece->capacity * sizeof(piece->chunks[0]);
        else if (piece->kind == PIECE_CLEAN && !table->sparse)
            size += piece->nstored * sizeof(piece->cbytes[0]);
    }
    if (table->peeked)
        size += CHUNK_TABLE_PIECE * sizeof(table->peeked[0]);
    return size;
}

/* A checksum that shows whether entries are still the same. */
static uint64_t sum_up(const struct table_chunk *chunks, size_t n)
{
    uint64_t sum = n;

    for (size_t i = 0; i < n; i++) {
        sum = (sum ^ (uint64_t)chunks[i].entry) * 0x9e3779b97f4a7c15;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Read a clean piece.  Another program may have overwritten the index. */
static int read_clean(struct chunk_table *table, uint64_t piece_no,
                      struct table_chunk *dst)
{
    const struct piece *piece = table_piece(table, piece_no);
    size_t len = table_piece_len(table, piece_no);
    int64_t raw[CHUNK_TABLE_PIECE];
    struct fault ignored;
    size_t nstored = 0;
    int r = index_read(table->index, piece_no * CHUNK_TABLE_PIECE, len, raw,
                       &ignored);

    for (size_t i = 0; i < len && r == 0; i++) {
        bool stored = raw[i] >= 0;

        if (stored && nstored == piece->nstored)
            return -ESTALE;
        dst[i] = (struct table_chunk){ .entry = frame_plain_entry(raw[i]) };
        if (stored)
            dst[i].cbytes = table->sparse ? 1 : piece->cbytes[nstored];
        nstored += stored;
    }
    if (r == 0 && sum_up(dst, len) != piece->sum)
        r = -ESTALE;
    return r == -EBADMSG ? -ESTALE : r;
}

static void fill(struct table_chunk *dst, size_t n, int64_t entry)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (struct table_chunk){ .entry = entry };
}

/* Copy a piece that is not loaded. */
static int copy_piece(struct chunk_table *table, uint64_t piece_no,
                      struct table_chunk *dst)
{
    const struct piece *piece = table_piece(table, piece_no);

    if (piece->kind == PIECE_CLEAN)
        return read_clean(table, piece_no, dst);
    fill(dst, table_piece_len(table, piece_no), piece->entry);
    return 0;
}

int table_peek(struct chunk_table *table, uint64_t piece_no,
               const struct table_chunk **out)
{
    const struct piece *piece = table_piece(table, piece_no);
    int r = 0;

    if (piece->kind == PIECE_LOADED) {
        *out = piece->chunks;
        return 0;
    }
    if (!table->peeked)
        table->peeked = malloc(CHUNK_TABLE_PIECE * sizeof(table->peeked[0]));
    if (!table->peeked)
        return -ENOMEM;
    if (table->peeked_no != piece_no + 1)
        r = copy_piece(table, piece_no, table->peeked);
    table->peeked_no = r == 0 ? piece_no + 1 : 0;
    *out = table->peeked;
    return r;
}

int piece_reserve(struct piece *piece, size_t n)
{
    size_t capacity = piece->capacity ? piece->capacity : PIECE_CAPACITY_MIN;
    struct table_chunk *chunks;

    if (n <= piece->capacity)
        return 0;
    while (capacity < n)
        capacity *= 2;
    chunks = realloc(piece->capacity ? piece->chunks : NULL,
                     capacity * sizeof(chunks[0]));
    if (!chunks)
        return -ENOMEM;
    piece->chunks = chunks;
    piece->capacity = (uint16_t)capacity;
    return 0;
}

int table_load(struct chunk_table *table, uint64_t piece_no, size_t n)
{
    struct piece *piece = table_own_piece(table, piece_no);
    struct piece loaded = { .kind = PIECE_LOADED };
    const struct table_chunk *chunks;
    size_t len = table_piece_len(table, piece_no);
    int r;

    if (!piece)
        return -ENOMEM;
    if (n < len)
        n = len;
    if (piece->kind == PIECE_LOADED)
        return piece_reserve(piece, n);
    r = table_peek(table, piece_no, &chunks);
    if (r == 0)
        r = piece_reserve(&loaded, n);
    if (r < 0)
        return r;
    memcpy(loaded.chunks, chunks, len * sizeof(chunks[0]));
    loaded.changed = piece->changed;
    piece_free(piece);
    *piece = loaded;
    table->peeked_no = 0;
    return 0;
}

int chunk_table_load_all(struct chunk_table *table)
{
    int r = 0;

    for (uint64_t i = 0; i < table_npieces(table) && r == 0; i++)
        r = table_load(table, i, 0);
    return r;
}

int chunk_table_keep_all(struct chunk_table *table)
{
    int r = chunk_table_load_all(table);

    if (r == 0)
        table->keeps_all = true;
    return r;
}

int chunk_table_get(struct chunk_table *table, uint64_t chunk_no,
                    struct table_chunk *out)
{
    const struct piece *piece =
        table_piece(table, chunk_no / CHUNK_TABLE_PIECE);
    const struct table_chunk *chunks;
    int r;

    if (piece->kind == PIECE_UNIFORM) {
        *out = (struct table_chunk){ .entry = piece->entry };
        return 0;
    }
    r = table_peek(table, chunk_no / CHUNK_TABLE_PIECE, &chunks);
    if (r == 0)
        *out = chunks[chunk_no % CHUNK_TABLE_PIECE];
    return r;
}

int chunk_table_set(struct chunk_table *table, uint64_t chunk_no,
                    const struct table_chunk *chunk)
{
    uint64_t piece_no = chunk_no / CHUNK_TABLE_PIECE;
    const struct piece *before = table_piece(table, piece_no);
    struct piece *piece;
    struct table_chunk *old;
    int r;

    if (before->kind == PIECE_UNIFORM && before->entry == chunk->entry)
        return 0;
    r = table_load(table, piece_no, 0);
    if (r < 0)
        return r;
    piece = table_own_piece(table, piece_no);
    old = &piece->chunks[chunk_no % CHUNK_TABLE_PIECE];
    table->cbytes += chunk->cbytes;
    table->cbytes -= old->cbytes;
    *old = *chunk;
    piece->changed = true;
    return 0;
}

int chunk_table_read(struct chunk_table *table, uint64_t first, size_t n,
                     int64_t *entries)
{
    while (n > 0) {
        size_t off = (size_t)(first % CHUNK_TABLE_PIECE);
        size_t len = CHUNK_TABLE_PIECE - off < n ? CHUNK_TABLE_PIECE - off : n;
        const struct table_chunk *chunks;
        int r = table_peek(table, first / CHUNK_TABLE_PIECE, &chunks);

        if (r < 0)
            return r;
        for (size_t i = 0; i < len; i++)
            entries[i] = chunks[off + i].entry;
        first += len;
        entries += len;
        n -= len;
    }
    return 0;
}

static size_t count_stored(const struct table_chunk *chunks, size_t n)
{
    size_t nstored = 0;

    for (size_t i = 0; i < n; i++)
        nstored += chunks[i].entry >= 0;
    return nstored;
}

/* Are all chunks the same special value? */
static bool are_alike(const struct table_chunk *chunks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (chunks[i].entry >= 0 || chunks[i].entry != chunks[0].entry)
            return false;
    return true;
}

/* Make a piece that refers to the committed index.  Returns 0 or -ENOMEM. */
static int make_clean(const struct chunk_table *table,
                      const struct table_chunk *chunks, size_t n,
                      struct piece *out)
{
    struct piece piece = {
        .kind = PIECE_CLEAN,
        .nstored = (uint16_t)count_stored(chunks, n),
        .sum = sum_up(chunks, n),
        .end = highest_end(chunks, n),
    };

    if (are_alike(chunks, n)) {
        *out =
            (struct piece){ .kind = PIECE_UNIFORM, .entry = chunks[0].entry };
        return 0;
    }
    if (!table->sparse && piece.nstored > 0) {
        size_t nstored = 0;

        piece.cbytes = malloc(piece.nstored * sizeof(piece.cbytes[0]));
        if (!piece.cbytes)
            return -ENOMEM;
        for (size_t i = 0; i < n; i++)
            if (chunks[i].entry >= 0)
                piece.cbytes[nstored++] = chunks[i].cbytes;
    }
    *out = piece;
    return 0;
}

static int make_loaded(const struct table_chunk *chunks, size_t n,
                       struct piece *out)
{
    struct piece piece = { .kind = PIECE_LOADED };
    int r = piece_reserve(&piece, n);

    if (r < 0)
        return r;
    memcpy(piece.chunks, chunks, n * sizeof(chunks[0]));
    *out = piece;
    return 0;
}

int chunk_table_append_clean(struct chunk_table *table,
                             const struct table_chunk *chunks, size_t n)
{
    uint64_t piece_no = table_npieces(table);
    struct piece *piece;
    int r = table_reserve(table, table->nchunks + n);

    if (r < 0)
        return r;
    piece = table_own_piece(table, piece_no);
    if (!piece)
        return -ENOMEM;
    r = table->keeps_all ? make_loaded(chunks, n, piece)
                         : make_clean(table, chunks, n, piece);
    if (r < 0)
        return r;
    table->nchunks += n;
    table->cbytes += piece_cbytes(table, piece, n);
    if (table->nchunks % GROUP_NCHUNKS == 0)
        table_shrink(table, piece_no, piece_no + 1);
    return 0;
}

static size_t count_loaded(const struct chunk_table *table)
{
    size_t nloaded = 0;

    for (uint64_t i = 0; i < table_npieces(table); i++)
        nloaded += table_piece(table, i)->kind == PIECE_LOADED;
    return nloaded;
}

/* Free the chunks of a loaded piece.  It stays loaded if memory is short. */
static void unload(const struct chunk_table *table, struct piece *piece,
                   size_t len)
{
    struct piece clean;

    if (piece->kind != PIECE_LOADED ||
        make_clean(table, piece->chunks, len, &clean) < 0)
        return;
    piece_free(piece);
    *piece = clean;
}

void chunk_table_commit(struct chunk_table *table, struct store_object *object,
                        struct index *index)
{
    bool unloads = !table->keeps_all && count_loaded(table) > LOADED_MAX;
    uint64_t npieces = table_npieces(table);

    close_index(table);
    table->object = object;
    table->index = index;
    for (size_t i = 0; i < table->capacity; i++)
        table->groups[i].alike.changed = false;
    for (uint64_t i = 0; i < npieces; i++) {
        struct piece *piece;

        if (!table->groups[i / GROUP_NPIECES].pieces)
            continue;
        piece = table_own_piece(table, i);
        piece->changed = false;
        if (unloads)
            unload(table, piece, table_piece_len(table, i));
    }
    table_shrink(table, 0, npieces);
}
