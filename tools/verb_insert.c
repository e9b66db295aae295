/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "edit.h"
#include "mounted.h"
#include "verb.h"

static int insert(const char *frame, uint64_t chunk_no, const char *input)
{
    struct mounted mounted;
    struct edit edit;
    int r = mounted_open(frame, &mounted);

    if (r > 0) {
        r = mounted_insert(&mounted, chunk_no, input);
        mounted_close(&mounted);
        return r;
    }
    if (r == 0)
        r = edit_open_chunks(frame, &edit);
    if (r < 0)
        return r;
    r = edit_put_chunk(&edit, chunk_no, input, frame_change_insert);
    return edit_end(&edit, r);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "N", "INPUT" };
    char **args = args_only(verb, argc, argv, 3, names);
    uint64_t chunk_no = args_number(verb, args[1]);

    return insert(args[0], chunk_no, args[2]) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_insert = {
    .name = "insert",
    .args = "FRAME N INPUT|-",
    .summary = "Insert a chunk before another one",
    .help =
        "Options:\n" ARGS_HELP_HELP "\n"
        "Chunk N and those behind it move up by one; N may be the number of "
        "chunks.\n"
        "INPUT, or standard input, has as many bytes as all chunks have, if "
        "these do not\n"
        "differ in size.\n\n"
        "Example:\n"
        "  b2frame insert run7.b2frame 0 header.raw\n",
    .run = run,
};
