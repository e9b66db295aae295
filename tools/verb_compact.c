/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "edit.h"
#include "jobs.h"
#include "tree.h"
#include "verb.h"

enum {
    OPTION_SUMS = 0x300,
};

static int compact(void *context, const struct tree_entry *file,
                   uint64_t counts[JOBS_NCOUNTS] __attribute__((unused)))
{
    const bool *sums = context;
    struct edit edit;
    int r = edit_open(file->path, &edit);

    if (r < 0)
        return r;
    r = edit_compact(&edit, *sums);
    edit_close(&edit);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "sums", no_argument, NULL, OPTION_SUMS },
        { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        ARGS_ROWS,
    };
    struct tree frames = { 0 };
    bool sums = false;
    const struct jobs jobs = {
        .files = &frames,
        .run = compact,
        .context = &sums,
    };
    bool recursive = false;
    long nfailed;
    int option;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        if (option == OPTION_SUMS)
            sums = true;
        else
            recursive = true;
    args_frames(verb, argc);

    nfailed = tree_find_frames(argv + optind, argc - optind,
                               recursive ? TREE_BELOW : 0, &frames);
    if (nfailed == 0)
        nfailed = jobs_run(&jobs);
    nfailed += frames.nfailed;
    tree_free(&frames);
    return nfailed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_compact = {
    .name = "compact",
    .args = "[-r] [--sums] FRAME...",
    .summary = "Rewrite a frame without dead space",
    .help =
        "Options:\n"
        "  --sums            give checksums to chunks that have none\n" ARGS_RECURSIVE_HELP
            ARGS_HELP_HELP "\n"
        "Its chunks are copied as they are, in order.  A sparse frame loses "
        "the files\n"
        "that no chunk refers to.\n\n"
        "Example:\n"
        "  b2frame compact run7.b2frame\n",
    .run = run,
};
