/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/log.h"
#include "change.h"
#include "file/file.h"
#include "interrupt.h"
#include "mounted.h"
#include "source.h"
#include "store/store_local.h"
#include "verb.h"

enum {
    CACHE_CHUNKS =
        3 /* of 1 GiB, the largest chunksize that framefs makes, because writing
             one may take that much; memory is allocated only as it is needed */
};

/* Change the size of a file, unless it is an array.  Errors are reported. */
static int resize(struct file *file, const char *path, uint64_t size)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame = file_frame_get(file);
    int r = source_check_no_array(path, frame);

    file_frame_put(file, frame);
    if (r < 0)
        return r;
    r = file_truncate(file, size, &fault);
    if (r == 0)
        r = file_sync(file, &fault);
    if (r < 0)
        source_report(path, r, &fault);
    return r;
}

static int truncate_file(struct file_context *context, const char *path,
                         uint64_t size)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct file *file;
    int r = source_open(path, 0, STORE_WRITE, &store, &fault);

    if (r == 0) {
        r = file_open_writable(context, store, &file, &fault);
        store_close(store);
    }
    if (r < 0) {
        source_report(path, r, &fault);
        return r;
    }
    r = resize(file, path, size);
    file_close(file);
    return r;
}

static int truncate_mounted(struct mounted *mounted, const void *arg)
{
    const uint64_t *size = arg;

    return mounted_truncate(mounted, *size);
}

static int truncate_frame(const char *path, uint64_t size)
{
    struct file_options options = file_default_options;
    struct file_context *context;
    int r = change_mounted(path, truncate_mounted, &size);

    if (r <= 0)
        return r;
    options.commit = 0;
    options.cache_size = (size_t)CACHE_CHUNKS << 30;
    r = file_context_new(&options, &context);
    if (r < 0) {
        log_error("cannot start: %s", strerror(-r));
        return r;
    }
    interrupt_catch();
    r = truncate_file(context, path, size);
    file_context_free(context);
    interrupt_die();
    return r;
}

enum {
    OPTION_SIZE = 0x300
};

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "size", required_argument, NULL, OPTION_SIZE },
        ARGS_ROWS,
    };
    const char *path;
    uint64_t size = 0;
    bool has_size = false;

    while (args_next(verb, argc, argv, options) != -1) {
        size = args_size(verb, optarg);
        has_size = true;
    }
    path = args_frame(verb, argc, argv);
    if (!has_size) {
        log_error("no --size is given");
        verb_usage(verb);
    }
    return truncate_frame(path, size) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_truncate = {
    .name = "truncate",
    .args = "--size N FRAME",
    .summary = "Cut a frame, or let it grow by zeros",
    .help =
        "Options:\n"
        "  --size N          decoded bytes that it is to have\n" ARGS_HELP_HELP
        "\n"
        "N is a number of bytes; 4K, 4M, 4G and 4T are units of 1024.\n\n"
        "Example:\n"
        "  b2frame truncate --size 1G run7.b2frame\n",
    .run = run,
    .urls = true,
};
