/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_MAP_H
#define TOOLS_MAP_H

#include <stdint.h>
#include <stdio.h>

#include "frame/frame.h"

/* A picture of a frame, as numbers: its chunks, and what its file is full of. */

/* What a cell shows. */
enum map_kind {
    MAP_STORED, /* chunks with a ratio */
    MAP_ZEROS,
    MAP_NANS,
    MAP_UNINIT,
    MAP_VALUE, /* one item, repeated */
    MAP_DAMAGED,
    MAP_DEAD,     /* of the file: nothing refers to it */
    MAP_METADATA, /* of the file: header, index, trailer */
    MAP_NKINDS
};

/* Some chunks in a row, or a piece of the file. */
struct map_cell {
    uint64_t nbytes;            /* decoded size of what is stored in it */
    uint64_t cbytes;            /* what that takes */
    uint64_t count[MAP_NKINDS]; /* of chunks; of the file, bytes */
};

/* A map of a frame, and the figures beside it. */
struct map {
    uint64_t nbytes; /* of the frame */
    uint64_t stored; /* what it takes */
    uint64_t nchunks;
    uint64_t ndead;             /* bytes */
    uint64_t count[MAP_NKINDS]; /* chunks of each kind */
    uint64_t group;             /* chunks in a cell */
    size_t ncells;
    struct map_cell *cells;
    uint64_t file_len;  /* 0: a sparse frame, which has no file of its own */
    uint64_t piece_len; /* bytes of it in a piece */
    size_t npieces;
    struct map_cell *pieces;
};

/*
 * Draw up the map of a frame.
 *
 *  base        where it starts in its file
 *  max_cells   chunks come in groups if there are more
 *  max_pieces  in which to divide the file
 *
 * Returns 0, -EINTR, -ENOMEM, or an error of the store.
 */
int map_frame(struct frame *frame, uint64_t base, size_t max_cells,
              size_t max_pieces, struct map *out, struct fault *fault);

/* Accepts a zeroed map. */
void map_free(struct map *map);

/* The kind that a cell is to show: what is damaged in any case, else what there
   is most of. */
enum map_kind map_cell_kind(const struct map_cell *cell);

/* How well a cell is compressed: 0, not at all, to 1, MAP_BEST times or
   better. */
double map_cell_merit(const struct map_cell *cell);
enum {
    MAP_BEST_LOG2 = 5,
    MAP_BEST = 1 << MAP_BEST_LOG2
};

/* A color. */
struct map_rgb {
    uint8_t r, g, b;
};

/* That of a cell of a kind; `merit` is a map_cell_merit(). */
struct map_rgb map_color(enum map_kind kind, double merit);

/* The word for a kind. */
const char *map_kind_name(enum map_kind kind);

/* Draw the map in characters, `width` in a line, in colors or without. */
enum map_colors {
    MAP_COLORS_NONE,
    MAP_COLORS_256,
    MAP_COLORS_RGB
};
void map_print(const struct map *map, const char *name, unsigned width,
               enum map_colors colors, FILE *out);

/* Draw it as SVG. */
void map_svg(const struct map *map, const char *name, FILE *out);

#endif
