/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "array/array.h"
#include "base/log.h"
#include "base/text.h"
#include "interrupt.h"
#include "jobs.h"
#include "leaf.h"
#include "remote.h"
#include "source.h"
#include "verb.h"

enum {
    OPTION_LONG = 'l'
};

/* Print shape and dtype of an array, or "bytes". */
static void print_content(struct frame *frame)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    char dtype[64] = "";

    if (array_read(frame, &array, &fault) < 0 || !array) {
        printf("%-20s  ", array ? "" : "bytes");
        return;
    }
    if (array->dtype)
        text_escape(array->dtype, TEXT_PLAIN_PRINTABLE, dtype, sizeof(dtype));
    putchar('(');
    for (unsigned i = 0; i < array->shape.ndim; i++)
        printf(i > 0 ? ", %" PRIu64 : "%" PRIu64, array->shape.items[i]);
    printf(") %s  ", dtype);
    array_free(array);
}

/* Print a frame of a store, without the path of the store. */
static int print_leaf(void *context, const struct tree_entry *leaf,
                      uint64_t counts[JOBS_NCOUNTS] __attribute__((unused)))
{
    const char *top = context;
    char text[TEXT_ESCAPED_SIZE(PATH_MAX)];
    struct frame *frame;
    int r = source_open_frame(leaf->path, 0, &frame);

    if (r < 0)
        return r;
    printf("%14" PRIu64 " %14" PRIu64 "  ", frame_get_info(frame)->nbytes,
           frame_get_info(frame)->frame_len);
    print_content(frame);
    text_escape(leaf->path + strlen(top) + 1, TEXT_PLAIN_PRINTABLE, text,
                sizeof(text));
    puts(text);
    frame_close(frame);
    return 0;
}

static void print_names(const char *top, const struct tree *leaves)
{
    char text[TEXT_ESCAPED_SIZE(PATH_MAX)];

    for (size_t i = 0; i < leaves->n; i++) {
        text_escape(leaves->entries[i].path + strlen(top) + 1,
                    TEXT_PLAIN_PRINTABLE, text, sizeof(text));
        puts(text);
    }
}

static int add_leaf(void *context, const char *leaf)
{
    return tree_add(context, TREE_FRAME, leaf, 0);
}

static int list(char *top, bool details)
{
    struct tree leaves = { 0 };
    const struct jobs jobs = { .files = &leaves,
                               .run = print_leaf,
                               .context = top };
    size_t len = strlen(top);
    struct fault fault;
    int r;

    while (len > 1 && top[len - 1] == '/')
        top[--len] = '\0';
    r = leaf_list(top, add_leaf, &leaves, &fault);
    if (r == -ENOENT)
        log_error("%s: is no store of frames", top);
    else if (r < 0)
        source_report(top, r, &fault);
    else if (details)
        r = jobs_run(&jobs) != 0 ? -EIO : 0;
    else
        print_names(top, &leaves);
    tree_free(&leaves);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "long", no_argument, NULL, OPTION_LONG },
        ARGS_ROWS,
    };
    static const char *const names[] = { "STORE" };
    bool details = false;
    char **args;

    while (args_next(verb, argc, argv, options) != -1)
        details = true;
    args = args_take(verb, argc, argv, 1, names);
    return list(args[0], details) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_ls = {
    .name = "ls",
    .args = "[-l] STORE",
    .summary = "List the frames in a store of python-blosc2",
    .help = "Options:\n"
            "  --long, -l        decoded and stored bytes, shape and dtype, "
            "too\n" ARGS_HELP_HELP "\n"
            "STORE is a .b2z or .b2e file, or a .b2d directory.  STORE/NAME is "
            "a frame for\n"
            "the verbs info, cat, verify, map, convert and meta list.\n\n"
            "Example:\n"
            "  b2frame ls -l model.b2z\n",
    .run = run,
};
