/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "args.h"
#include "change.h"
#include "edit.h"
#include "mounted.h"
#include "verb.h"

static int insert(struct edit *edit, const void *arg)
{
    const struct change_put *put = arg;

    return edit_put_chunk(edit, put->chunk_no, put->input, frame_writer_insert);
}

static int insert_mounted(struct mounted *mounted, const void *arg)
{
    const struct change_put *put = arg;

    return mounted_insert(mounted, put->chunk_no, put->input);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "N", "INPUT" };
    static const struct change how = {
        .open = edit_open_chunks,
        .edit = insert,
        .mounted = insert_mounted,
    };
    char **args = args_only(verb, argc, argv, 3, names);
    struct change_put put = { .chunk_no = args_number(verb, args[1]),
                              .input = args[2] };

    return change_chunks(args[0], &how, &put) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
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
    .urls = true,
};
