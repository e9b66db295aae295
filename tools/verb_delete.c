/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "args.h"
#include "base/log.h"
#include "edit.h"
#include "mounted.h"
#include "verb.h"

static int delete (const char *frame, uint64_t chunk_no)
{
    struct mounted mounted;
    struct edit edit;
    int r = mounted_open(frame, &mounted);

    if (r > 0) {
        r = mounted_delete(&mounted, chunk_no);
        mounted_close(&mounted);
        return r;
    }
    if (r == 0)
        r = edit_open_chunks(frame, &edit);
    if (r < 0)
        return r;
    r = frame_change_delete(edit.change, chunk_no, 1);
    if (r == -ERANGE)
        log_error("%s: there is no chunk %" PRIu64, frame, chunk_no);
    else if (r < 0)
        edit_report(&edit, r, &FAULT_NONE);
    return edit_end(&edit, r);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "N" };
    char **args = args_only(verb, argc, argv, 2, names);
    uint64_t chunk_no = args_number(verb, args[1]);

    return delete (args[0], chunk_no) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
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
};
