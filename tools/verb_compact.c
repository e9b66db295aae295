/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "edit.h"
#include "verb.h"

static int compact(const char *frame)
{
    struct edit edit;
    int r = edit_open(frame, &edit);

    if (r < 0)
        return r;
    r = edit_compact(&edit);
    edit_close(&edit);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME" };
    char **args = args_only(verb, argc, argv, 1, names);

    return compact(args[0]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_compact = {
    .name = "compact",
    .args = "FRAME",
    .summary = "Rewrite a frame without dead space",
    .help =
        "Options:\n" ARGS_HELP_HELP "\n"
        "Its chunks are copied as they are, in order.  A sparse frame loses "
        "the files\n"
        "that no chunk refers to.\n\n"
        "Example:\n"
        "  b2frame compact run7.b2frame\n",
    .run = run,
};
