/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TOOLS_MAP_H
#define TOOLS_MAP_H

#include <stdint.h>
#include <stdio.h>

#include "frame/frame.h"

/* A picture of a frame, in numbers: its chunks, and the contents of its
   file. */

/* The kinds of content that a cell can show. */
enum map_kind {
    MAP_STORED, /* compressed data, with a ratio */
    MAP_ZEROS,
    MAP_NANS,
    MAP_UNINIT,
    MAP_VALUE, /* one item, repeated */
    MAP_DAMAGED,
    MAP_DEAD,     /* in the file: nothing refers to it */
    MAP_METADATA, /* in the file: header, index, trailer */
    MAP_NKINDS
};

/* A run of chunks, or a piece of the file. */
struct map_cell {
    uint64_t nbytes;            /* decoded size of the stored chunks in it */
    uint64_t cbytes;            /* their compressed size */
    uint64_t count[MAP_NKINDS]; /* of a run: chunks; of a piece: bytes */
};

/* A map of a frame, with its figures. */
struct map {
    uint64_t nbytes; /* decoded size of the frame */
    uint64_t stored; /* bytes that it takes up in its store */
    uint64_t nchunks;
    uint64_t ndead;             /* bytes of dead space */
    uint64_t count[MAP_NKINDS]; /* chunks of each kind */
    uint64_t group;             /* chunks in a cell */
    size_t ncells;
    struct map_cell *cells;
    uint64_t file_len;  /* 0 for a sparse frame, because it is not one file */
    uint64_t piece_len; /* bytes of the file in a piece */
    size_t npieces;
    struct map_cell *pieces;
};

/* How fine a map may be. */
struct map_limits {
    size_t cells;  /* if there are more chunks than this, each cell shows
                      several */
    size_t pieces; /* into which to divide the file at most */
};

/*
 * Make the map of a frame.
 *
 *  base  start of the frame in its file
 *
 * Returns 0, -EINTR, -ENOMEM, or an error of the store.
 */
int map_frame(struct frame *frame, uint64_t base,
              const struct map_limits *limits, struct map *out,
              struct fault *fault);

/* Accepts a zeroed map. */
void map_free(struct map *map);

/* The kind that a cell shows: damaged if any of it is, else the most frequent
   kind. */
enum map_kind map_cell_kind(const struct map_cell *cell);

/* How well a cell is compressed: from 0, not at all, to 1, MAP_BEST times or
   better, on a logarithmic scale. */
double map_cell_merit(const struct map_cell *cell);
enum {
    MAP_BEST_LOG2 = 5,
    MAP_BEST = 1 << MAP_BEST_LOG2
};

/* A color. */
struct map_rgb {
    uint8_t r, g, b;
};

/* The color of a cell.  `merit` is from map_cell_merit(); it matters only for
   MAP_STORED. */
struct map_rgb map_color(enum map_kind kind, double merit);

/* The name of a kind. */
const char *map_kind_name(enum map_kind kind);

/* Draw the map with characters, `width` to a line, with or without colors. */
enum map_colors {
    MAP_COLORS_NONE,
    MAP_COLORS_256,
    MAP_COLORS_RGB
};
void map_print(const struct map *map, const char *name, unsigned width,
               enum map_colors colors, FILE *out);

/* Draw the map as SVG. */
void map_svg(const struct map *map, const char *name, FILE *out);

#endif
