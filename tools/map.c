/* SPDX-License-Identifier: BSD-3-Clause */
#include "map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "chunk/chunk_format.h"
#include "frame/frame_source.h"
#include "interrupt.h"

const char *map_kind_name(enum map_kind kind)
{
    static const char *const names[] = {
        [MAP_STORED] = "stored",   [MAP_ZEROS] = "zeros",
        [MAP_NANS] = "NaN",        [MAP_UNINIT] = "never set",
        [MAP_VALUE] = "one value", [MAP_DAMAGED] = "damaged",
        [MAP_DEAD] = "dead space", [MAP_METADATA] = "metadata",
    };

    return names[kind];
}

enum map_kind map_cell_kind(const struct map_cell *cell)
{
    enum map_kind most = MAP_STORED;

    if (cell->count[MAP_DAMAGED] > 0)
        return MAP_DAMAGED;
    for (int kind = 0; kind < MAP_NKINDS; kind++)
        if (cell->count[kind] > cell->count[most])
            most = (enum map_kind)kind;
    return most;
}

double map_cell_merit(const struct map_cell *cell)
{
    double merit;

    if (cell->cbytes == 0 || cell->nbytes <= cell->cbytes)
        return 0;
    merit = log2((double)cell->nbytes / (double)cell->cbytes) / MAP_BEST_LOG2;
    return merit < 1 ? merit : 1;
}

/* From chunks that do not shrink to chunks that shrink best.  Most eyes can
   tell these colors apart. */
static const struct map_rgb scale[] = {
    { 0xd7, 0x30, 0x27 }, { 0xfc, 0x8d, 0x59 }, { 0xfe, 0xe0, 0x90 },
    { 0xa6, 0xd0, 0xe4 }, { 0x74, 0xad, 0xd1 }, { 0x45, 0x75, 0xb4 },
};

static uint8_t mix(uint8_t a, uint8_t b, double part)
{
    return (uint8_t)lround(a + (b - a) * part);
}

struct map_rgb map_color(enum map_kind kind, double merit)
{
    static const struct map_rgb others[] = {
        [MAP_ZEROS] = { 0xe4, 0xe6, 0xea },
        [MAP_NANS] = { 0xb3, 0x9d, 0xdb },
        [MAP_UNINIT] = { 0xc3, 0xc8, 0xd0 },
        [MAP_VALUE] = { 0xa5, 0xd6, 0xa7 },
        [MAP_DAMAGED] = { 0xe0, 0x00, 0x9e },
        [MAP_DEAD] = { 0x26, 0x2b, 0x33 },
        [MAP_METADATA] = { 0x7a, 0x82, 0x8f },
    };
    const size_t last = sizeof(scale) / sizeof(scale[0]) - 1;
    double at = merit * (double)last;
    size_t i = (size_t)at;
    const struct map_rgb *from;
    const struct map_rgb *to;

    if (kind != MAP_STORED)
        return others[kind];
    if (i >= last)
        return scale[last];
    from = &scale[i];
    to = &scale[i + 1];
    at -= (double)i;
    return (struct map_rgb){ mix(from->r, to->r, at), mix(from->g, to->g, at),
                             mix(from->b, to->b, at) };
}

/* The properties of a chunk that the map shows. */
struct spot {
    enum map_kind kind;
    uint64_t off; /* from the start of a contiguous frame */
    uint32_t nbytes;
    uint32_t cbytes;
    uint32_t sums_len; /* behind the chunk */
};

/* Add the bytes of a range of the file to the pieces that it touches. */
static void add_range(struct map *map, uint64_t off, uint64_t len,
                      const struct spot *spot)
{
    while (len > 0 && off < map->file_len) {
        struct map_cell *piece = &map->pieces[off / map->piece_len];
        uint64_t n = map->piece_len - off % map->piece_len;

        if (n > len)
            n = len;
        piece->count[spot->kind] += n;
        if (spot->cbytes > 0) {
            piece->cbytes += n;
            piece->nbytes += n * spot->nbytes / spot->cbytes;
        }
        off += n;
        len -= n;
    }
}

static void add_chunk(struct map *map, uint64_t chunk_no,
                      const struct spot *spot)
{
    struct map_cell *cell = &map->cells[chunk_no / map->group];

    map->count[spot->kind]++;
    cell->count[spot->kind]++;
    if (spot->cbytes == 0)
        return;
    cell->nbytes += spot->nbytes;
    cell->cbytes += spot->cbytes;
    add_range(map, spot->off, (uint64_t)spot->cbytes + spot->sums_len, spot);
}

static struct spot spot_of(const struct frame_info *info, uint64_t base,
                           const struct frame_entry *entry,
                           const struct frame_sizes *sizes)
{
    struct spot spot = { .off = entry->place - base };

    if (entry->special) {
        spot.kind = entry->kind == CHUNK_NANS     ? MAP_NANS
                    : entry->kind == CHUNK_UNINIT ? MAP_UNINIT
                                                  : MAP_ZEROS;
        return spot;
    }
    if (sizes->error < 0) {
        spot.kind = MAP_DAMAGED;
        return spot;
    }
    spot.nbytes = sizes->nbytes;
    spot.cbytes = sizes->cbytes;
    spot.sums_len = sizes->sums_len;
    if (sizes->cbytes <= CHUNK_LONG_HEADER_LEN + (uint64_t)info->typesize &&
        sizes->nbytes > sizes->cbytes)
        spot.kind = MAP_VALUE;
    return spot;
}

/* Index entries and sizes of chunks that are read together. */
struct batch {
    uint64_t base;
    struct frame_entry entries[FRAME_SOURCE_BATCH];
    int errors[FRAME_SOURCE_BATCH]; /* of entries that cannot be read */
    struct frame_sizes sizes[FRAME_SOURCE_BATCH];
};

static int read_batch(struct frame *frame, uint64_t first, size_t n,
                      struct batch *batch, struct fault *fault)
{
    const struct frame_entries which = {
        .first = first,
        .n = n,
        .entries = batch->entries,
        .errors = batch->errors,
    };
    int r = frame_get_entries(frame, &which, fault);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++)
        if (batch->errors[i] < 0)
            batch->entries[i].special = true;
    memset(batch->sizes, 0, sizeof(batch->sizes));
    return frame_source_sizes_of(frame, batch->entries, n, batch->sizes, fault);
}

static int add_chunks(struct map *map, struct frame *frame, struct batch *batch,
                      struct fault *fault)
{
    const struct frame_info *info = frame_get_info(frame);
    int r = 0;

    for (uint64_t first = 0; first < map->nchunks && r == 0;
         first += FRAME_SOURCE_BATCH) {
        uint64_t rest = map->nchunks - first;
        size_t n =
            rest < FRAME_SOURCE_BATCH ? (size_t)rest : FRAME_SOURCE_BATCH;

        r = read_batch(frame, first, n, batch, fault);
        for (size_t i = 0; i < n && r == 0; i++) {
            struct spot spot = spot_of(info, batch->base, &batch->entries[i],
                                       &batch->sizes[i]);

            if (batch->errors[i] < 0)
                spot.kind = MAP_DAMAGED;
            add_chunk(map, first + i, &spot);
        }
        if (r == 0 && interrupt_seen())
            r = -EINTR;
    }
    return r;
}

/* Add the header, and the part of the file after the chunks.  The rest of the
   file is dead space. */
static void add_rest(struct map *map, const struct frame_info *info)
{
    const struct spot metadata = { .kind = MAP_METADATA };
    uint64_t tail = info->header_len + (info->nbytes > 0 ? info->cbytes : 0);

    add_range(map, 0, info->header_len, &metadata);
    if (tail < map->file_len)
        add_range(map, tail, map->file_len - tail, &metadata);
    for (size_t i = 0; i < map->npieces; i++) {
        struct map_cell *piece = &map->pieces[i];
        uint64_t rest = map->file_len - i * map->piece_len;
        uint64_t len = rest < map->piece_len ? rest : map->piece_len;
        uint64_t used = 0;

        for (int kind = 0; kind < MAP_NKINDS; kind++)
            used += piece->count[kind];
        if (used < len)
            piece->count[MAP_DEAD] = len - used;
        map->ndead += piece->count[MAP_DEAD];
    }
}

static int map_alloc(struct map *map)
{
    map->cells = calloc(map->ncells + 1, sizeof(*map->cells));
    map->pieces = calloc(map->npieces + 1, sizeof(*map->pieces));
    return map->cells && map->pieces ? 0 : -ENOMEM;
}

int map_frame(struct frame *frame, uint64_t base,
              const struct map_limits *limits, struct map *out,
              struct fault *fault)
{
    const struct frame_info *info = frame_get_info(frame);
    struct batch *batch = calloc(1, sizeof(*batch));
    struct map map = {
        .nbytes = info->nbytes,
        .stored = info->frame_len + (info->sparse ? info->cbytes : 0),
        .nchunks = info->nchunks,
        .group =
            info->nchunks > 0 ? size_pieces(info->nchunks, limits->cells) : 1,
        .file_len = info->sparse ? 0 : info->frame_len,
        .piece_len = size_pieces(info->frame_len, limits->pieces),
    };
    int r;

    map.ncells = (size_t)size_pieces(info->nchunks, map.group);
    map.npieces = (size_t)size_pieces(map.file_len, map.piece_len);
    r = batch ? map_alloc(&map) : -ENOMEM;
    if (r < 0) {
        fault_set(fault, r, 0, NULL);
    } else {
        batch->base = base;
        r = add_chunks(&map, frame, batch, fault);
    }
    free(batch);
    if (r < 0) {
        map_free(&map);
        return r;
    }
    add_rest(&map, info);
    *out = map;
    return 0;
}

void map_free(struct map *map)
{
    free(map->cells);
    free(map->pieces);
}
