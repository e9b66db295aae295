/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "args.h"
#include "base/text.h"
#include "interrupt.h"
#include "map.h"
#include "output.h"
#include "source.h"
#include "verb.h"

enum {
    OPTION_SVG = 0x300,
    OPTION_FORCE,

    WIDTH_DEFAULT = 80,
    WIDTH_MIN = 20,
    WIDTH_MAX = 1000,
    ROWS = 24, /* of cells in a terminal */
    SVG_CELLS = 20000,
    SVG_PIECES = 448,
};

struct map_job {
    const char *path;
    uint64_t frame_offset;
    const char *svg; /* NULL: draw in characters */
    bool force;
    char name[TEXT_ESCAPED_SIZE(PATH_MAX)]; /* `path`, escaped for output */
};

/* Find the number of columns in a line. */
static unsigned get_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long width = columns ? strtol(columns, NULL, 10) : 0;

    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0)
        width = WIDTH_DEFAULT;
    return width < WIDTH_MIN   ? WIDTH_MIN
           : width > WIDTH_MAX ? WIDTH_MAX
                               : (unsigned)width;
}

/* Find out which colors to use: those that the terminal says it has, or none if
   the user disables them with NO_COLOR. */
static enum map_colors get_colors(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *colorterm = getenv("COLORTERM");
    const char *term = getenv("TERM");

    if (!isatty(STDOUT_FILENO) || (no_color && no_color[0] != '\0') || !term ||
        strcmp(term, "dumb") == 0)
        return MAP_COLORS_NONE;
    if (colorterm && (strcmp(colorterm, "truecolor") == 0 ||
                      strcmp(colorterm, "24bit") == 0))
        return MAP_COLORS_RGB;
    return strstr(term, "256color") ? MAP_COLORS_256 : MAP_COLORS_NONE;
}

static int print_map(const struct map_job *job, struct frame *frame)
{
    enum map_colors colors = get_colors();
    struct fault fault = FAULT_NONE;
    unsigned width = get_width();
    const struct map_limits limits = {
        .cells = (colors == MAP_COLORS_NONE ? width : width / 2) * ROWS,
        .pieces = width,
    };
    struct map map;
    int r = map_frame(frame, job->frame_offset, &limits, &map, &fault);

    if (r < 0) {
        source_report(job->path, r, &fault);
        return r;
    }
    map_print(&map, job->name, width, colors, stdout);
    map_free(&map);
    return 0;
}

/* Write a text to a file with the name that the user gave. */
static int write_file(const struct map_job *job, const char *text, size_t len)
{
    struct store_object *draft = NULL;
    struct output *output;
    struct store *store;
    int r = output_open(job->svg, false, job->force, &output);

    if (r < 0)
        return r;
    store = output_store(output);
    r = store_draft(store, "", &draft);
    if (r == 0)
        r = store_object_write(draft, 0, text, len);
    if (r == 0)
        r = store_object_sync(draft);
    if (r == 0)
        r = store_publish(store, "", draft);
    if (r < 0) {
        source_report(job->svg, r, &FAULT_NONE);
        store_discard(store, draft);
    } else {
        store_object_close(draft);
        r = output_publish(output, NULL);
    }
    output_close(output);
    return r;
}

static int write_svg(const struct map_job *job, const struct map *map)
{
    char *text = NULL;
    size_t len;
    FILE *stream;
    int r;

    if (strcmp(job->svg, "-") == 0) {
        map_svg(map, job->name, stdout);
        return 0;
    }
    stream = open_memstream(&text, &len);
    if (stream)
        map_svg(map, job->name, stream);
    if (!stream || fclose(stream) != 0) {
        source_report(job->svg, -ENOMEM, &FAULT_NONE);
        free(text);
        return -ENOMEM;
    }
    r = write_file(job, text, len);
    free(text);
    return r;
}

static int draw_svg(const struct map_job *job, struct frame *frame)
{
    const struct map_limits limits = { SVG_CELLS, SVG_PIECES };
    struct fault fault = FAULT_NONE;
    struct map map;
    int r = map_frame(frame, job->frame_offset, &limits, &map, &fault);

    if (r < 0) {
        source_report(job->path, r, &fault);
        return r;
    }
    r = write_svg(job, &map);
    map_free(&map);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "svg", required_argument, NULL, OPTION_SVG },
        { "force", no_argument, NULL, OPTION_FORCE },
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        ARGS_ROWS,
    };
    struct map_job job = { 0 };
    struct frame *frame;
    int option;
    int r;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_SVG:
            job.svg = optarg;
            break;
        case OPTION_FORCE:
            job.force = true;
            break;
        case ARGS_FRAME_OFFSET:
            job.frame_offset = args_size(verb, optarg);
            break;
        }
    job.path = args_frame(verb, argc, argv);
    text_escape(job.path, TEXT_PLAIN_PRINTABLE, job.name, sizeof(job.name));

    interrupt_catch();
    r = source_open_frame(job.path, job.frame_offset, &frame);
    if (r == 0) {
        r = job.svg ? draw_svg(&job, frame) : print_map(&job, frame);
        frame_close(frame);
    }
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_map = {
    .name = "map",
    .args = "[--svg FILE] [--force] [--frame-offset N] FRAME",
    .summary = "Draw which chunks compress how well",
    .help =
        "Options:\n"
        "  --svg FILE        draw a picture for a browser; - is standard "
        "output\n"
        "  --force           replace FILE\n" ARGS_COMMON_HELP "\n"
        "Each chunk is a cell, from red, which hardly shrinks, to blue; chunks "
        "come in\n"
        "groups if there are many.  A bar shows what the file is full of.  "
        "Without colors\n"
        "a digit N means a ratio of 2^N.\n\n"
        "Example:\n"
        "  b2frame map --svg run7.svg run7.b2frame\n",
    .run = run,
    .urls = true,
};
