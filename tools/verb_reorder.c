/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/log.h"
#include "change.h"
#include "edit.h"
#include "input.h"
#include "mounted.h"
#include "numbers.h"
#include "source.h"
#include "verb.h"

enum {
    LIST_MAX = 1 << 28 /* bytes in a list on standard input */
};

/* Get the list from an argument, from the file that it names after an @, or
   from standard input.  The caller frees it. */
static int read_list(const char *arg, char **out)
{
    struct input input;
    uint8_t *bytes;
    ssize_t len;

    if (strcmp(arg, "-") != 0 && arg[0] != '@') {
        *out = strdup(arg);
        return *out ? 0 : -ENOMEM;
    }
    len = input_open(arg[0] == '@' ? arg + 1 : arg, &input);
    if (len < 0)
        return (int)len;
    len = input_read_all(&input, LIST_MAX, &bytes);
    input_close(&input);
    if (len < 0)
        return (int)len;
    *out = strndup((const char *)bytes, (size_t)len);
    free(bytes);
    return *out ? 0 : -ENOMEM;
}

/* Report that the order is wrong. */
static int report(const char *path, uint64_t nchunks)
{
    log_error("%s: the list must have the number of each of the %" PRIu64
              " chunks once, and that of a shorter one last",
              path, nchunks);
    return -EINVAL;
}

/* Parse the order of `nchunks` chunks. */
static int parse(const char *path, const char *list, uint64_t nchunks,
                 struct numbers *out)
{
    int r = numbers_parse(list, nchunks, out);

    if (r == 0 && out->n != nchunks) {
        numbers_free(out);
        r = -EINVAL;
    }
    if (r == -EINVAL || r == -ERANGE)
        return report(path, nchunks);
    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

static int reorder(struct edit *edit, const void *list)
{
    uint64_t nchunks = frame_writer_get_info(edit->writer)->nchunks;
    struct numbers order;
    int r = parse(edit->path, list, nchunks, &order);

    if (r < 0)
        return r;
    r = frame_writer_reorder(edit->writer, order.list);
    numbers_free(&order);
    if (r == -EINVAL)
        return report(edit->path, nchunks);
    return r < 0 ? edit_report(edit, r, &FAULT_NONE) : 0;
}

static int reorder_mounted(struct mounted *mounted, const void *list)
{
    struct numbers order;
    int r = parse(mounted->path, list, mounted->nchunks, &order);

    if (r < 0)
        return r;
    r = mounted_reorder(mounted, order.list);
    numbers_free(&order);
    return r == -EINVAL ? report(mounted->path, mounted->nchunks) : r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "LIST" };
    static const struct change how = {
        .open = edit_open_chunks,
        .edit = reorder,
        .mounted = reorder_mounted,
    };
    char **args = args_only(verb, argc, argv, 2, names);
    char *list = NULL;
    int r = read_list(args[1], &list);

    if (r == 0) {
        r = change_chunks(args[0], &how, list);
        free(list);
    }
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_reorder = {
    .name = "reorder",
    .args = "FRAME LIST|@FILE|-",
    .summary = "Change the order of the chunks",
    .help = "Options:\n" ARGS_HELP_HELP "\n"
            "LIST, a file or standard input has the number of each chunk once, "
            "in the new order,\n"
            "with commas or white space between them; A-B is all from A to B, "
            "or backwards.\n\n"
            "Example:\n"
            "  b2frame reorder run7.b2frame 1-9,0\n",
    .run = run,
    .urls = true,
};
