/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "args.h"
#include "base/log.h"
#include "file/file.h"
#include "progress.h"
#include "source.h"
#include "threads.h"
#include "verb.h"

enum {
    OPTION_OFFSET = 0x300,
    OPTION_LENGTH,
    OPTION_RAW,
    OPTION_NPY,
};

/* Bytes to ask for at a time: enough for a large write, and few enough to leave
   most of the cache to chunks that are decoded ahead. */
static const size_t piece_size = (size_t)4 << 20;

/* Less memory than a mount takes is enough, because nothing is read twice.  The
   program takes less than 256 MiB in total. */
static const size_t cache_size = (size_t)224 << 20;

struct cat {
    const char *path;
    uint64_t frame_offset;
    uint64_t off; /* first byte wanted */
    uint64_t len; /* number of bytes; cut at the end of the frame */
};

/* Drop the first `len` bytes from a vector of buffers. */
static void advance(struct iovec **iov, size_t *niov, size_t len)
{
    while (*niov > 0 && len >= (*iov)->iov_len) {
        len -= (*iov)->iov_len;
        (*iov)++;
        (*niov)--;
    }
    if (len > 0) {
        (*iov)->iov_base = (char *)(*iov)->iov_base + len;
        (*iov)->iov_len -= len;
    }
}

/* Write all buffers to standard output.  Returns 0 or a negative errno. */
static int write_out(struct iovec *iov, size_t niov)
{
    while (niov > 0) {
        int n = niov < IOV_MAX ? (int)niov : IOV_MAX;
        ssize_t written = writev(STDOUT_FILENO, iov, n);

        if (written < 0 && errno != EINTR)
            return -errno;
        if (written > 0)
            advance(&iov, &niov, (size_t)written);
    }
    return 0;
}

/* Report why writing failed, unless the reader of a pipe has closed it. */
static int report_write(int error)
{
    if (error != -EPIPE)
        log_error("standard output: %s", strerror(-error));
    return error;
}

/* Write `*len` bytes of the file, or as many of them as can be read; `*len`
   then becomes their number.  Returns 0 or a negative errno, which was
   reported. */
static int copy_piece(struct file *file, const struct cat *cat,
                      struct file_reader *reader, uint64_t off, size_t *len)
{
    struct fault fault = FAULT_NONE;
    struct file_data data = { 0 };
    int r;

    r = file_read(file, reader, &(struct file_range){ off, *len }, &data,
                  &fault);
    *len = data.len;
    if (r < 0) {
        source_report(cat->path, r, &fault);
        return r;
    }
    r = write_out(data.iov, data.niov);
    file_data_put(file, &data);
    if (r < 0)
        return report_write(r);
    if (data.error < 0)
        source_report(cat->path, data.error, &fault);
    return data.error;
}

static int copy(struct file *file, const struct cat *cat)
{
    uint64_t size = file_size(file);
    uint64_t left = cat->off < size ? size - cat->off : 0;
    uint64_t total = cat->len < left ? cat->len : left;
    struct progress progress = { 0 };
    struct file_reader reader = { 0 };
    uint64_t done = 0;
    int r = 0;

    if (!isatty(STDOUT_FILENO))
        progress_start(&progress);
    while (done < total && r == 0) {
        size_t len =
            total - done < piece_size ? (size_t)(total - done) : piece_size;

        r = copy_piece(file, cat, &reader, cat->off + done, &len);
        done += len;
        progress_update(&progress, done, total);
    }
    progress_clear(&progress);
    file_reader_end(&reader);
    return r;
}

/* Open the frame and copy the part that the user wants.  Errors are
   reported. */
static int cat_frame(struct file_context *context, const struct cat *cat)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    struct file *file;
    int r;

    r = source_open(cat->path, cat->frame_offset, 0, &store, &fault);
    if (r < 0) {
        source_report(cat->path, r, &fault);
        return r;
    }
    r = file_open(context, store, cat->frame_offset, &file, &fault);
    store_close(store);
    if (r < 0) {
        source_report(cat->path, r, &fault);
        return r;
    }
    r = copy(file, cat);
    file_close(file);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "offset", required_argument, NULL, OPTION_OFFSET },
        { "length", required_argument, NULL, OPTION_LENGTH },
        { "raw", no_argument, NULL, OPTION_RAW },
        { "npy", no_argument, NULL, OPTION_NPY },
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        ARGS_ROWS,
    };
    struct file_options file_options = file_default_options;
    struct cat cat = { .len = UINT64_MAX };
    struct file_context *context;
    int option;
    int r;

    file_options.view = FILE_VIEW_ARRAY;
    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_OFFSET:
            cat.off = args_size(verb, optarg);
            break;
        case OPTION_LENGTH:
            cat.len = args_size(verb, optarg);
            break;
        case OPTION_RAW:
            file_options.view = FILE_VIEW_CHUNKS;
            break;
        case OPTION_NPY:
            file_options.view = FILE_VIEW_NPY;
            break;
        case ARGS_FRAME_OFFSET:
            cat.frame_offset = args_size(verb, optarg);
            break;
        }
    cat.path = args_frame(verb, argc, argv);

    file_options.cache_size = cache_size;
    file_options.nthreads = threads_get();
    file_options.sums = source_sums();
    r = file_context_new(&file_options, &context);
    if (r < 0) {
        log_error("cannot start: %s", strerror(-r));
        return EXIT_FAILURE;
    }
    r = cat_frame(context, &cat);
    file_context_free(context);
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_cat = {
    .name = "cat",
    .args =
        "[--offset N] [--length N] [--raw | --npy] [--frame-offset N] FRAME",
    .summary = "Write decoded bytes to standard output",
    .help =
        "Options:\n"
        "  --offset N        start at byte N of the decoded bytes\n"
        "  --length N        stop after N bytes\n"
        "  --raw             of an array its chunks, not its items in C "
        "order\n"
        "  --npy             of an array a .npy file\n" ARGS_COMMON_HELP "\n"
        "N is a number of bytes; 4K, 4M, 4G and 4T are units of 1024, 4KB and so on "
        "of 1000.\n"
        "At a damaged chunk everything before it is written, and the exit "
        "status is 1.\n\n"
        "Example:\n"
        "  b2frame cat --offset 1M --length 64K run7.b2frame >part\n",
    .run = run,
    .urls = true,
};
