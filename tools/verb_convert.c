/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "array/array.h"
#include "array_parts.h"
#include "base/log.h"
#include "copy.h"
#include "file/file.h"
#include "frame/array_meta.h"
#include "frame_feed.h"
#include "frame_options.h"
#include "interrupt.h"
#include "output.h"
#include "rechunk.h"
#include "remote.h"
#include "source.h"
#include "state/option_words.h"
#include "state/params.h"
#include "target.h"
#include "threads.h"
#include "tree_copy.h"
#include "verb.h"

/* The options on the command line. */
struct convert_options {
    struct frame_options frame;
    struct array_parts parts;
};

struct convert {
    const char *path;
    const char *out;
    uint64_t frame_offset;
    struct file *file;         /* the frame at `path` */
    struct frame *frame;       /* the frame in `file` */
    struct file_params params; /* of the new frame */
    struct file_array array;   /* the same, if its chunks change */
    bool sparse;
    bool encode; /* encode chunks again, instead of copying them */
    enum output_force force;
    struct store *target; /* that is held, or NULL */
};

static int report_out(const struct convert *convert, int error,
                      const struct fault *fault)
{
    source_report(convert->out, error, fault);
    return error;
}

static bool are_alike(const struct chunk_params *a,
                      const struct chunk_params *b)
{
    return a->typesize == b->typesize && a->blocksize == b->blocksize &&
           a->codec == b->codec && a->codec_meta == b->codec_meta &&
           a->clevel == b->clevel &&
           memcmp(a->filters, b->filters, CHUNK_NFILTERS) == 0 &&
           memcmp(a->filters_meta, b->filters_meta, CHUNK_NFILTERS) == 0;
}

/* Find the shape of blocks, which some codecs and filters use. */
static int read_block(struct convert *convert)
{
    struct fault fault = FAULT_NONE;
    int r = array_meta_read_block(convert->frame, &convert->params.chunk.block,
                                  &fault);

    if (r < 0)
        source_report(convert->path, r, &fault);
    return r;
}

/* Is an option given that may change the shapes of an array's chunks or
   blocks? */
static bool may_reshape(const struct convert_options *options)
{
    return array_parts_is_given(&options->parts) ||
           frame_options_has(&options->frame, FRAME_OPTIONS_CHUNKSIZE) ||
           frame_options_has(&options->frame, FRAME_OPTIONS_BLOCKSIZE);
}

static int report_clash(const struct convert *convert, int error)
{
    char clash[OPTION_CLASH_LEN];

    option_clash(&convert->params, clash);
    log_error("%s: %s", convert->path, clash);
    return error;
}

/* Find the parameters of an array with chunks or blocks of other shapes. */
static int plan_array(const struct convert_options *options,
                      const struct array *old, struct convert *convert)
{
    struct array_parts parts = options->parts;
    uint32_t typesize = convert->params.chunk.typesize;
    int r;

    frame_options_apply(&options->frame, &convert->params, &convert->sparse);
    if (convert->params.chunk.typesize != typesize)
        return source_check_no_array(convert->path, convert->frame);
    parts.keep_chunks =
        !parts.chunks &&
        !frame_options_has(&options->frame, FRAME_OPTIONS_CHUNKSIZE);
    convert->array.shape = old->shape;
    convert->array.like = convert->frame;
    r = array_parts_find(&parts, convert->path, &convert->params,
                         &convert->array.shape);
    if (r < 0)
        return r;
    convert->params.array = &convert->array;
    r = params_check(&convert->params);
    return r < 0 ? report_clash(convert, r) : 0;
}

/* If the options may change the shapes of chunks and blocks, find whether there
   is an array, and its new shapes. */
static int plan_shapes(const struct convert_options *options,
                       struct convert *convert)
{
    struct fault fault = FAULT_NONE;
    struct array *array = NULL;
    int r =
        may_reshape(options) ? array_read(convert->frame, &array, &fault) : 0;

    if (r < 0)
        source_report(convert->path, r, &fault);
    else if (array)
        r = plan_array(options, array, convert);
    else
        r = array_parts_check_none(&options->parts, convert->path, "an array");
    array_free(array);
    return r;
}

/* Find the parameters of the new frame, and how to make it. */
static int plan(const struct convert_options *options, struct convert *convert)
{
    const struct frame_info *info = frame_get_info(convert->frame);
    struct file_params old = { .chunk = frame_chunk_params(info),
                               .chunksize = info->chunksize };
    int r = 0;

    convert->params = old;
    convert->sparse = info->sparse;
    r = plan_shapes(options, convert);
    if (r < 0 || convert->params.array)
        return r;
    r = read_block(convert);
    if (r < 0)
        return r;
    if (!frame_options_apply(&options->frame, &convert->params,
                             &convert->sparse))
        return report_clash(convert, -EINVAL);
    convert->encode = convert->params.chunksize != old.chunksize ||
                      !are_alike(&convert->params.chunk, &old.chunk);
    if (convert->encode && params_await_shape(&convert->params))
        return report_clash(convert, -EINVAL);
    if (convert->params.chunksize != old.chunksize ||
        convert->params.chunk.blocksize != old.chunk.blocksize ||
        convert->params.chunk.typesize != old.chunk.typesize)
        r = source_check_no_array(convert->path, convert->frame);
    if (convert->params.chunksize == 0)
        convert->params.chunksize = params_default.chunksize;
    return r;
}

static int commit(const struct convert *convert, struct frame_writer *writer)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r = frame_writer_commit(writer, &frame, &fault);

    if (r < 0)
        return report_out(convert, r, &fault);
    frame_close(frame);
    return 0;
}

static int encode_feed(struct convert *convert, struct store *store,
                       struct feed *feed)
{
    struct fault fault = FAULT_NONE;
    struct frame_params params;
    struct frame_writer *writer;
    int r = feed_choose_typesize(feed, convert->out, &convert->params);

    if (r < 0)
        return r;
    params = params_frame(&convert->params);
    r = frame_writer_new_like(store, convert->frame, &params, &writer, &fault);
    if (r < 0)
        return report_out(convert, r, &fault);
    r = feed_chunks(feed, convert->out, writer, &params.chunks,
                    params.chunksize);
    if (r == 0)
        r = commit(convert, writer);
    frame_writer_close(writer);
    return r;
}

/* Make the frame by encoding all chunks again. */
static int encode_frame(struct convert *convert, struct store *store)
{
    struct frame_feed feed;
    int r;

    frame_feed_init(&feed, convert->path, convert->file);
    r = encode_feed(convert, store, &feed.feed);
    frame_feed_end(&feed);
    return r;
}

static int make_array(void *context, struct store *store)
{
    const struct convert *convert = context;
    const struct rechunk rechunk = {
        .path = convert->path,
        .file = convert->file,
        .frame = convert->frame,
        .out = convert->out,
        .params = &convert->params,
    };

    return rechunk_write(&rechunk, store);
}

/* Write the frame to its store. */
static int write_frame(struct convert *convert, struct store *store)
{
    const struct copy copy = {
        .frame = convert->frame,
        .path = convert->path,
        .out = convert->out,
    };

    if (convert->params.array)
        return copy_made(convert->out, make_array, convert, store);
    return convert->encode ? encode_frame(convert, store)
                           : copy_frame(&copy, store);
}

static int write_out(struct convert *convert)
{
    bool remote = remote_is(convert->path);
    struct output *output;
    struct stat like;
    int r = remote ? 0 : source_stat(convert->path, &like);

    if (r < 0)
        return r;
    r = output_open(convert->out, convert->sparse, convert->force, &output);
    if (r < 0)
        return r;
    output_replaces(output, convert->target);
    r = write_frame(convert, output_store(output));
    if (r == 0)
        r = output_publish(output, remote ? NULL : &like);
    output_close(output);
    return r;
}

static int open_file(struct file_context *context, struct convert *convert)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r =
        source_open(convert->path, convert->frame_offset, 0, &store, &fault);

    if (r < 0) {
        source_report(convert->path, r, &fault);
        return r;
    }
    if (strcmp(convert->path, convert->out) == 0)
        r = target_check_source(convert->target, convert->path, store);
    if (r == 0) {
        r = file_open(context, store, convert->frame_offset, &convert->file,
                      &fault);
        if (r < 0)
            source_report(convert->path, r, &fault);
    }
    store_close(store);
    return r;
}

static int convert_frame(const struct convert_options *options,
                         struct convert *convert)
{
    struct file_options file_options = file_default_options;
    struct file_context *context;
    int r;

    file_options.nthreads = threads_get();
    file_options.sums = source_sums();
    if (may_reshape(options))
        file_options.view = FILE_VIEW_ARRAY;
    r = file_context_new(&file_options, &context);
    if (r < 0) {
        log_error("cannot start: %s", strerror(-r));
        return r;
    }
    r = open_file(context, convert);
    if (r == 0) {
        convert->frame = file_frame_get(convert->file);
        r = plan(options, convert);
        if (r == 0)
            r = write_out(convert);
        file_frame_put(convert->file, convert->frame);
        file_close(convert->file);
    }
    file_context_free(context);
    return r;
}

/* OUT may be FRAME itself. */
static int convert_held(const struct convert_options *options,
                        struct convert *convert)
{
    int r;

    convert->force = options->frame.force ? OUTPUT_FORCE : OUTPUT_NEW;
    r = target_hold(convert->out, &convert->force, &convert->target);
    if (r == 0)
        r = convert_frame(options, convert);
    store_close(convert->target);
    return r;
}

static int convert_one(void *context, const char *path, const char *out)
{
    struct convert convert = { .path = path, .out = out };

    return convert_held(context, &convert);
}

static int convert_tree(const struct verb *verb,
                        struct convert_options *options,
                        const struct convert *convert, struct made *made)
{
    const struct tree_copy copy = {
        .from = convert->path,
        .to = convert->out,
        .frames = true,
        .force = options->frame.force,
        .make = convert_one,
        .context = options,
        .made = made,
    };

    if (convert->frame_offset > 0 || remote_is(convert->path) ||
        remote_is(convert->out)) {
        log_error("-r makes local trees from local ones, without "
                  "--frame-offset");
        verb_usage(verb);
    }
    return tree_copy_run(&copy);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        FRAME_OPTIONS_ROWS,
        ARRAY_PARTS_ROWS,
        MADE_ROWS,
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        ARGS_ROWS,
    };
    static const char *const names[] = { "FRAME", "OUT" };
    struct convert_options given = { .parts = { .chunks = NULL } };
    struct convert convert = { 0 };
    struct made made = { 0 };
    bool recursive = false;
    char **args;
    int option;
    int r;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        if (option == ARGS_RECURSIVE)
            recursive = true;
        else if (option == ARGS_FRAME_OFFSET)
            convert.frame_offset = args_size(verb, optarg);
        else if (!array_parts_take(option, &given.parts) &&
                 !made_take(option, &made))
            frame_options_take(verb, option, &given.frame);
    args = args_take(verb, argc, argv, 2, names);
    convert.path = args[0];
    convert.out = args[1];
    if (remote_refuse_change(convert.out))
        return EXIT_FAILURE;

    if (recursive)
        return convert_tree(verb, &given, &convert, &made);
    if (made.form != MADE_QUIET) {
        log_error("--table and --json go with -r");
        verb_usage(verb);
    }
    interrupt_catch();
    r = convert_held(&given, &convert);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_convert = {
    .name = "convert",
    .args = "[-r] [OPTION...] FRAME OUT|-",
    .summary = "Copy a frame in another layout or compression",
    .help = "Options:\n" FRAME_OPTIONS_HELP ARRAY_PARTS_HELP
            "  --recursive, -r   FRAME and OUT are trees\n" MADE_HELP
                ARGS_COMMON_HELP "\n"
            "What no option says is as in FRAME.  Chunks are copied as they "
            "are if only the\n"
            "layout changes.  Metalayers, owner, permissions and times are "
            "kept.\n\n"
            "Example:\n"
            "  b2frame convert --layout sparse run7.b2frame run7.d\n"
            "  b2frame convert -r --codec zstd --clevel 3 runs smaller\n"
            "  b2frame convert --chunks 1,512,512 series.b2nd images.b2nd\n",
    .run = run,
    .urls = true,
};
