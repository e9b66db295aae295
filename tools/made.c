/* SPDX-License-Identifier: BSD-3-Clause */
#include "made.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "base/text.h"
#include "frame/frame.h"
#include "path_json.h"
#include "source.h"

enum {
    COUNT_BEFORE,
    COUNT_STORED
};

bool made_take(int option, struct made *made)
{
    if (option == OPTION_MADE_TABLE)
        made->form = MADE_TABLE;
    else if (option == OPTION_MADE_JSON)
        made->form = MADE_JSON;
    else
        return false;
    return true;
}

const char *made_separator(const struct made *made)
{
    return made->form == MADE_JSON ? ",\n" : NULL;
}

void made_begin(const struct made *made)
{
    if (made->form == MADE_JSON)
        puts("[");
    else if (made->form == MADE_TABLE)
        puts("        before         stored   ratio  frame");
}

static void print_sizes(uint64_t before, uint64_t stored)
{
    printf("%14" PRIu64 " %14" PRIu64 " %7.2f  ", before, stored,
           (double)before / (double)(stored > 0 ? stored : 1));
}

void made_end(const struct made *made)
{
    if (made->form == MADE_JSON) {
        puts("\n]");
    } else if (made->form == MADE_TABLE) {
        print_sizes(made->before, made->stored);
        printf("%" PRIu64 " frames\n", made->nframes);
    }
}

static void print_json(const char *path, uint64_t before,
                       const struct frame_info *info, uint64_t stored)
{
    printf("{");
    path_json_print(path);
    printf(", \"before\": %" PRIu64, before);
    if (info)
        printf(", \"nbytes\": %" PRIu64 ", \"stored\": %" PRIu64
               ", \"ok\": true}",
               info->nbytes, stored);
    else
        printf(", \"ok\": false}");
}

static void print_row(const char *path, uint64_t before, uint64_t stored)
{
    char text[TEXT_ESCAPED_SIZE(PATH_MAX)];

    text_escape(path, TEXT_PLAIN_PRINTABLE, text, sizeof(text));
    print_sizes(before, stored);
    puts(text);
}

int made_print(const struct made *made, const char *path, uint64_t before,
               int r, uint64_t counts[JOBS_NCOUNTS])
{
    const struct frame_info *info;
    struct frame *frame = NULL;
    uint64_t stored = 0;

    if (made->form == MADE_QUIET)
        return r;
    if (r == 0)
        r = source_open_frame(path, 0, &frame);
    info = r == 0 ? frame_get_info(frame) : NULL;
    if (info)
        stored = info->frame_len + (info->sparse ? info->cbytes : 0);
    if (made->form == MADE_JSON)
        print_json(path, before, info, stored);
    else if (info)
        print_row(path, before, stored);
    counts[COUNT_BEFORE] = before;
    counts[COUNT_STORED] = stored;
    if (frame)
        frame_close(frame);
    return r;
}

void made_count(struct made *made, const uint64_t counts[JOBS_NCOUNTS])
{
    made->nframes++;
    made->before += counts[COUNT_BEFORE];
    made->stored += counts[COUNT_STORED];
}
