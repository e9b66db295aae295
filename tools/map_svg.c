/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "amount.h"
#include "map.h"

/* Lengths are in pixels. */
enum {
    MARGIN = 32,
    WIDTH = 960,
    INNER = WIDTH - 2 * MARGIN,
    TOP = 108,         /* top edge of the chunks */
    GRID_HEIGHT = 460, /* height of the chunks, at most */
    CELL_MAX = 32,
    BAR_HEIGHT = 28,
    LEGEND_HEIGHT = 96,
    SCALE_WIDTH = 240,
    TITLES_MAX = 4096, /* if there are more cells, they get no titles */
};

struct grid {
    double size; /* side of a cell, with the gap beside it */
    double gap;
    size_t row; /* cells in a row */
    double height;
};

/* Find the largest size with which all cells fit. */
static struct grid make_grid(const struct map *map)
{
    struct grid grid = { .size = CELL_MAX };
    size_t nrows;

    for (;; grid.size *= 0.97) {
        grid.row = (size_t)(INNER / grid.size);
        nrows = map->ncells / grid.row + (map->ncells % grid.row != 0);
        if (grid.row > 0 && (double)nrows * grid.size <= GRID_HEIGHT)
            break;
    }
    if (nrows > 1)
        grid.size = (double)INNER / (double)grid.row;
    grid.gap = grid.size > 10 ? 2 : grid.size > 5 ? 1 : 0;
    grid.height = (double)nrows * grid.size;
    return grid;
}

static void put_escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++)
        switch (*text) {
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '&':
            fputs("&amp;", out);
            break;
        default:
            putc(*text, out);
        }
}

static void put_fill(enum map_kind kind, double merit, FILE *out)
{
    struct map_rgb color = map_color(kind, merit);

    if (kind == MAP_DEAD)
        fputs("fill=\"url(#dead)\"", out);
    else
        fprintf(out, "fill=\"#%02x%02x%02x\"", color.r, color.g, color.b);
}

/* Describe a cell, for a reader who points at it. */
static void put_title(const struct map *map, size_t i, FILE *out)
{
    const struct map_cell *cell = &map->cells[i];
    enum map_kind kind = map_cell_kind(cell);
    char decoded[AMOUNT_LEN];
    char stored[AMOUNT_LEN];

    fprintf(out, "<title>chunk %" PRIu64 ": ", i * map->group);
    if (kind == MAP_STORED) {
        amount_format((double)cell->nbytes, decoded);
        amount_format((double)cell->cbytes, stored);
        fprintf(out, "%s in %s, ratio %.2f", decoded, stored,
                (double)cell->nbytes / (double)cell->cbytes);
    } else {
        fputs(map_kind_name(kind), out);
    }
    fputs("</title>", out);
}

static void put_chunks(const struct map *map, const struct grid *grid,
                       FILE *out)
{
    double side = grid->size - grid->gap;

    for (size_t i = 0; i < map->ncells; i++) {
        const struct map_cell *cell = &map->cells[i];

        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                "height=\"%.2f\" rx=\"%.1f\" ",
                MARGIN + (double)(i % grid->row) * grid->size,
                TOP + (double)(i / grid->row) * grid->size, side, side,
                grid->gap);
        put_fill(map_cell_kind(cell), map_cell_merit(cell), out);
        if (map->ncells > TITLES_MAX) {
            fputs("/>\n", out);
            continue;
        }
        putc('>', out);
        put_title(map, i, out);
        fputs("</rect>\n", out);
    }
}

/* Do two pieces of the file look the same? */
static bool is_same(const struct map_cell *a, const struct map_cell *b)
{
    return map_cell_kind(a) == map_cell_kind(b) &&
           fabs(map_cell_merit(a) - map_cell_merit(b)) < 0.01;
}

static void put_file(const struct map *map, double y, FILE *out)
{
    double width = (double)INNER / (double)map->npieces;
    char amount[AMOUNT_LEN];
    size_t next;

    amount_format((double)map->ndead, amount);
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\" class=\"small\">Its file, from "
            "first to last byte: %s of dead space</text>\n",
            MARGIN, y - 10, amount);
    for (size_t i = 0; i < map->npieces; i = next) {
        const struct map_cell *piece = &map->pieces[i];

        next = i + 1;
        while (next < map->npieces && is_same(piece, &map->pieces[next]))
            next++;
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
                "height=\"%d\" ",
                MARGIN + (double)i * width, y, (double)(next - i) * width,
                BAR_HEIGHT);
        put_fill(map_cell_kind(piece), map_cell_merit(piece), out);
        fputs("/>\n", out);
    }
}

static void put_scale(double y, FILE *out)
{
    fprintf(out,
            "<text x=\"%d\" y=\"%.1f\" class=\"small\">ratio</text>\n"
            "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"12\" "
            "rx=\"3\" fill=\"url(#scale)\"/>\n",
            MARGIN, y + 11, MARGIN + 44, y, SCALE_WIDTH);
    for (int i = 0; i <= MAP_BEST_LOG2; i++)
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"tick\">%d%s</text>\n",
                MARGIN + 44 + SCALE_WIDTH * i / MAP_BEST_LOG2, y + 28, 1 << i,
                i == MAP_BEST_LOG2 ? "+" : "");
}

static void put_kinds(const struct map *map, double y, FILE *out)
{
    int x = MARGIN + 44 + SCALE_WIDTH + 48;

    for (int kind = MAP_ZEROS; kind < MAP_NKINDS; kind++) {
        const char *name = map_kind_name((enum map_kind)kind);

        if (map->count[kind] == 0 && !(kind == MAP_DEAD && map->ndead > 0) &&
            !(kind == MAP_METADATA && map->npieces > 0))
            continue;
        fprintf(out,
                "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" "
                "rx=\"3\" ",
                x, y);
        put_fill((enum map_kind)kind, 0, out);
        fprintf(out,
                "/>\n<text x=\"%d\" y=\"%.1f\" class=\"small\">%s</text>\n",
                x + 18, y + 11, name);
        x += 36 + 7 * (int)strlen(name);
    }
}

/* Define colors and patterns that other elements refer to. */
static void put_definitions(FILE *out)
{
    fputs("<defs>\n<linearGradient id=\"scale\">\n", out);
    for (int i = 0; i <= MAP_BEST_LOG2; i++) {
        struct map_rgb color = map_color(MAP_STORED, (double)i / MAP_BEST_LOG2);

        fprintf(out, "<stop offset=\"%d%%\" stop-color=\"#%02x%02x%02x\"/>\n",
                100 * i / MAP_BEST_LOG2, color.r, color.g, color.b);
    }
    fputs("</linearGradient>\n"
          "<pattern id=\"dead\" width=\"6\" height=\"6\" "
          "patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\">\n"
          "<rect width=\"6\" height=\"6\" fill=\"#262b33\"/>\n"
          "<rect width=\"2\" height=\"6\" fill=\"#4a525e\"/>\n"
          "</pattern>\n</defs>\n"
          "<style>text { font-family: system-ui, sans-serif; fill: #262b33 }"
          " .title { font-size: 22px; font-weight: 600 }"
          " .small { font-size: 13px; fill: #5a626e }"
          " .tick { font-size: 11px; fill: #5a626e; text-anchor: middle }"
          "</style>\n",
          out);
}

static void put_head(const struct map *map, const char *name, FILE *out)
{
    char decoded[AMOUNT_LEN];
    char stored[AMOUNT_LEN];

    amount_format((double)map->nbytes, decoded);
    amount_format((double)map->stored, stored);
    fprintf(out, "<text x=\"%d\" y=\"50\" class=\"title\">", MARGIN);
    put_escaped(name, out);
    fprintf(out,
            "</text>\n<text x=\"%d\" y=\"76\" class=\"small\">%s in %s, "
            "ratio %.2f; %" PRIu64 " chunks",
            MARGIN, decoded, stored, (double)map->nbytes / (double)map->stored,
            map->nchunks);
    if (map->group > 1)
        fprintf(out, ", %" PRIu64 " in a cell", map->group);
    fputs("</text>\n", out);
}

void map_svg(const struct map *map, const char *name, FILE *out)
{
    struct grid grid = make_grid(map);
    double bar = TOP + grid.height + 44;
    double legend = map->npieces > 0 ? bar + BAR_HEIGHT + 32 : bar - 12;
    int height = (int)legend + LEGEND_HEIGHT - MARGIN;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\">\n",
            WIDTH, height, WIDTH, height);
    put_definitions(out);
    fprintf(out,
            "<rect width=\"%d\" height=\"%d\" rx=\"12\" "
            "fill=\"#ffffff\"/>\n",
            WIDTH, height);
    put_head(map, name, out);
    put_chunks(map, &grid, out);
    if (map->npieces > 0)
        put_file(map, bar, out);
    put_scale(legend, out);
    put_kinds(map, legend, out);
    fputs("</svg>\n", out);
}
