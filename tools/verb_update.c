/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "edit.h"
#include "mounted.h"
#include "verb.h"

static int update(const char *frame, uint64_t chunk_no, const char *input)
{
    struct mounted mounted;
    struct edit edit;
    int r = mounted_open(frame, &mounted);

    if (r > 0) {
        r = mounted_update(&mounted, chunk_no, input);
        mounted_close(&mounted);
        return r;
    }
    if (r == 0)
        r = edit_open(frame, &edit);
    if (r < 0)
        return r;
    r = edit_put_chunk(&edit, chunk_no, input, frame_change_put);
    return edit_end(&edit, r);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "N", "INPUT" };
    char **args = args_only(verb, argc, argv, 3, names);
    uint64_t chunk_no = args_number(verb, args[1]);

    return update(args[0], chunk_no, args[2]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_update = {
    .name = "update",
    .args = "FRAME N INPUT|-",
    .summary = "Replace a chunk",
    .help =
        "Options:\n" ARGS_HELP_HELP "\n"
        "INPUT, or standard input, has as many bytes as all chunks have, if "
        "these do not\n"
        "differ in size; the last one may have fewer.\n\n"
        "Example:\n"
        "  b2frame update run7.b2frame 7 corrected.raw\n",
    .run = run,
};
