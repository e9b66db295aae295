/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "edit.h"
#include "jobs.h"
#include "made.h"
#include "tree.h"
#include "verb.h"

enum {
    OPTION_SUMS = 0x300,
};

struct compact {
    bool sums;
    struct made made;
};

static int compact_frame(const char *path, bool sums)
{
    struct edit edit;
    int r = edit_open(path, &edit);

    if (r < 0)
        return r;
    r = edit_compact(&edit, sums);
    edit_close(&edit);
    return r;
}

static int compact_one(void *context, const struct tree_entry *file,
                       uint64_t counts[JOBS_NCOUNTS])
{
    const struct compact *compact = context;
    int r = compact_frame(file->path, compact->sums);

    return made_print(&compact->made, file->path, file->size, r, counts);
}

static void count_made(void *context, const uint64_t counts[JOBS_NCOUNTS])
{
    struct compact *compact = context;

    made_count(&compact->made, counts);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "sums", no_argument, NULL, OPTION_SUMS },
        MADE_ROWS,
        { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        ARGS_ROWS,
    };
    struct tree frames = { 0 };
    struct compact compact = { .sums = false };
    struct jobs jobs = {
        .files = &frames,
        .run = compact_one,
        .done = count_made,
        .context = &compact,
    };
    bool recursive = false;
    long nfailed;
    int option;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        if (option == OPTION_SUMS)
            compact.sums = true;
        else if (!made_take(option, &compact.made))
            recursive = true;
    args_frames(verb, argc);

    nfailed = tree_find_frames(argv + optind, argc - optind,
                               recursive ? TREE_BELOW : 0, &frames);
    if (nfailed == 0) {
        jobs.separator = made_separator(&compact.made);
        made_begin(&compact.made);
        nfailed = jobs_run(&jobs);
        made_end(&compact.made);
    }
    nfailed += frames.nfailed;
    tree_free(&frames);
    return nfailed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_compact = {
    .name = "compact",
    .args = "[-r] [--sums] [--table|--json] FRAME...",
    .summary = "Rewrite a frame without dead space",
    .help =
        "Options:\n"
        "  --sums            give checksums to chunks that have none\n" MADE_HELP
            ARGS_RECURSIVE_HELP ARGS_HELP_HELP "\n"
        "Its chunks are copied as they are, in order.  A sparse frame loses "
        "the files\n"
        "that no chunk refers to.\n\n"
        "Example:\n"
        "  b2frame compact run7.b2frame\n",
    .run = run,
};
