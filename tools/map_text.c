/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "amount.h"
#include "map.h"

/* Where and how a map is drawn. */
struct canvas {
    unsigned width;
    enum map_colors colors;
    FILE *out;
};

/* Characters that stand for a kind without colors.  Digits stand for
   MAP_STORED. */
static const char symbols[] = {
    [MAP_ZEROS] = '.',    [MAP_NANS] = 'N',    [MAP_UNINIT] = 'u',
    [MAP_VALUE] = '=',    [MAP_DAMAGED] = '!', [MAP_DEAD] = '~',
    [MAP_METADATA] = '#',
};

/* The closest of the 6 * 6 * 6 colors that most terminals have. */
static unsigned cube_color(struct map_rgb color)
{
    unsigned r = (color.r * 5u + 127) / 255;
    unsigned g = (color.g * 5u + 127) / 255;
    unsigned b = (color.b * 5u + 127) / 255;

    return 16 + 36 * r + 6 * g + b;
}

/* Draw `n` columns in a color, or with the character that stands for the
   kind. */
static void draw(const struct canvas *canvas, enum map_kind kind, double merit,
                 unsigned n)
{
    struct map_rgb color = map_color(kind, merit);
    char symbol = kind == MAP_STORED
                      ? (char)('0' + (int)(merit * MAP_BEST_LOG2))
                      : symbols[kind];

    switch (canvas->colors) {
    case MAP_COLORS_RGB:
        fprintf(canvas->out, "\033[48;2;%u;%u;%um", color.r, color.g, color.b);
        break;
    case MAP_COLORS_256:
        fprintf(canvas->out, "\033[48;5;%um", cube_color(color));
        break;
    case MAP_COLORS_NONE:
        while (n-- > 0)
            putc(symbol, canvas->out);
        return;
    }
    fprintf(canvas->out, "%*s\033[0m", (int)n, "");
}

static void draw_cell(const struct canvas *canvas, const struct map_cell *cell,
                      unsigned n)
{
    draw(canvas, map_cell_kind(cell), map_cell_merit(cell), n);
}

/* The number of columns in a cell: two, because they make a square; but one
   without colors. */
static unsigned columns(const struct canvas *canvas)
{
    return canvas->colors == MAP_COLORS_NONE ? 1 : 2;
}

static void draw_chunks(const struct canvas *canvas, const struct map *map)
{
    size_t row = canvas->width / columns(canvas);

    for (size_t i = 0; i < map->ncells; i++) {
        draw_cell(canvas, &map->cells[i], columns(canvas));
        if ((i + 1) % row == 0 || i + 1 == map->ncells)
            putc('\n', canvas->out);
    }
}

static void draw_file(const struct canvas *canvas, const struct map *map)
{
    char amount[AMOUNT_LEN];

    if (map->npieces == 0)
        return;
    amount_format((double)map->ndead, amount);
    fprintf(canvas->out, "\nits file, from first to last byte; dead space %s\n",
            amount);
    for (size_t i = 0; i < map->npieces; i++)
        draw_cell(canvas, &map->pieces[i], 1);
    putc('\n', canvas->out);
}

static void draw_title(const struct canvas *canvas, const struct map *map,
                       const char *name)
{
    char decoded[AMOUNT_LEN];
    char stored[AMOUNT_LEN];

    amount_format((double)map->nbytes, decoded);
    amount_format((double)map->stored, stored);
    fprintf(canvas->out, "%s: %s in %s, ratio %.2f\n", name, decoded, stored,
            (double)map->nbytes / (double)map->stored);
    fprintf(canvas->out, "%" PRIu64 " chunks", map->nchunks);
    if (map->group > 1)
        fprintf(canvas->out, ", %" PRIu64 " in a cell", map->group);
    putc('\n', canvas->out);
}

/* Does the map contain this kind? */
static bool has(const struct map *map, int kind)
{
    return map->count[kind] > 0 || (kind == MAP_DEAD && map->ndead > 0) ||
           (kind == MAP_METADATA && map->npieces > 0);
}

static void draw_legend(const struct canvas *canvas, const struct map *map)
{
    FILE *out = canvas->out;

    fprintf(out, "\nratio  ");
    for (int i = 0; i <= MAP_BEST_LOG2; i++) {
        draw(canvas, MAP_STORED, (double)i / MAP_BEST_LOG2, columns(canvas));
        fprintf(out, "%s %d%s  ", canvas->colors ? "" : ":", 1 << i,
                i == MAP_BEST_LOG2 ? "+" : "");
    }
    putc('\n', out);
    for (int kind = MAP_ZEROS; kind < MAP_NKINDS; kind++) {
        if (!has(map, kind))
            continue;
        draw(canvas, (enum map_kind)kind, 0, columns(canvas));
        fprintf(out, " %s  ", map_kind_name((enum map_kind)kind));
    }
    putc('\n', out);
}

void map_print(const struct map *map, const char *name, unsigned width,
               enum map_colors colors, FILE *out)
{
    const struct canvas canvas = { width, colors, out };

    draw_title(&canvas, map, name);
    draw_chunks(&canvas, map);
    draw_file(&canvas, map);
    draw_legend(&canvas, map);
}
