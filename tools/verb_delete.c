/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "args.h"
#include "base/log.h"
#include "change.h"
#include "edit.h"
#include "mounted.h"
#include "verb.h"

static int delete_chunk(struct edit *edit, const void *arg)
{
    const uint64_t *chunk_no = arg;
    int r = frame_writer_delete(edit->writer, *chunk_no, 1);

    if (r == -ERANGE)
        log_error("%s: there is no chunk %" PRIu64, edit->path, *chunk_no);
    else if (r < 0)
        edit_report(edit, r, &FAULT_NONE);
    return r;
}

static int delete_mounted(struct mounted *mounted, const void *arg)
{
    const uint64_t *chunk_no = arg;

    return mounted_delete(mounted, *chunk_no);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "N" };
    static const struct change how = {
        .open = edit_open_chunks,
        .edit = delete_chunk,
        .mounted = delete_mounted,
    };
    char **args = args_only(verb, argc, argv, 2, names);
    uint64_t chunk_no = args_number(verb, args[1]);

    return change_chunks(args[0], &how, &chunk_no) < 0 ? EXIT_FAILURE
                                                       : EXIT_SUCCESS;
}

const struct verb verb_delete = {
    .name = "delete",
    .args = "FRAME N",
    .summary = "Remove a chunk",
    .help = "Options:\n" ARGS_HELP_HELP "\n"
            "The chunks behind chunk N move down by one.\n\n"
            "Example:\n"
            "  b2frame delete run7.b2frame 0\n",
    .run = run,
    .urls = true,
};
