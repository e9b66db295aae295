/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "base/log.h"
#include "confine.h"
#include "copy.h"
#include "frame_options.h"
#include "input.h"
#include "interrupt.h"
#include "new_array.h"
#include "npz.h"
#include "output.h"
#include "remote.h"
#include "source.h"
#include "state/option_words.h"
#include "state/params.h"
#include "target.h"
#include "tree_copy.h"
#include "verb.h"

struct create {
    const char *input;
    const char *path; /* of the frame */
    struct file_params params;
    struct new_array new_array;
    bool sparse;
    enum output_force force;
    struct store *target; /* that is held, or NULL */
    bool arrays;          /* make nothing but arrays */
};

static int commit(const struct create *create, struct frame_writer *writer)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r = frame_writer_commit(writer, &frame, &fault);

    if (r < 0)
        source_report(create->path, r, &fault);
    else
        frame_close(frame);
    return r;
}

/* Write the frame to its store. */
static int write_frame(struct create *create, struct feed *feed,
                       struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct frame_params params;
    struct frame_writer *writer;
    int r = feed_choose_typesize(feed, create->path, &create->params);

    if (r < 0)
        return r;
    params = params_frame(&create->params);
    r = frame_writer_new(store, &params, &writer, &fault);
    if (r < 0) {
        source_report(create->path, r, &fault);
        return r;
    }
    r = feed_chunks(feed, create->path, writer, &params.chunks,
                    params.chunksize);
    if (r == 0)
        r = commit(create, writer);
    frame_writer_close(writer);
    return r;
}

/* An array to be made, and its input. */
struct making {
    const struct create *create;
    struct input *input;
};

static int make_array(void *context, struct store *store)
{
    const struct making *making = context;

    return new_array_write(&making->create->params, making->input, store,
                           making->create->path);
}

static int create_new(struct create *create, struct input *input)
{
    struct making making = { create, input };
    struct output *output;
    int r = output_open(create->path, create->sparse, create->force, &output);

    if (r < 0)
        return r;
    output_replaces(output, create->target);
    if (create->params.array)
        r = copy_made(create->path, make_array, &making, output_store(output));
    else
        r = write_frame(create, &input->feed, output_store(output));
    if (r == 0)
        r = output_publish(output, input_likeness(input));
    output_close(output);
    return r;
}

static int create_output(struct create *create, struct input *input)
{
    struct create held = *create;
    int r = target_hold(held.path, &held.force, &held.target);

    if (r == 0)
        r = create_new(&held, input);
    store_close(held.target);
    return r;
}

/* Check the parameters again, now that the shape of an array is known. */
static int check(const struct create *create)
{
    int r = params_check(&create->params);
    char clash[OPTION_CLASH_LEN];

    if (r == 0)
        return 0;
    option_clash(&create->params, clash);
    log_error("%s: %s", create->path, clash);
    return r;
}

/* Make the frame, and close the input. */
static int create_from(struct create *create, struct input *input)
{
    struct file_array array;
    int r = new_array_find(&create->new_array, input, &create->params, &array);

    if (r == 0) {
        r = check(create);
        if (r == 0 && create->arrays && !array.dtype) {
            log_error("%s: is not a .npy file", input->name);
            r = -EINVAL;
        }
        if (r == 0)
            r = create_output(create, input);
        new_array_free(&array);
    }
    input_close(input);
    return r;
}

static int create_frame(struct create *create)
{
    struct input input;
    int r = input_open(create->input, &input);

    return r < 0 ? r : create_from(create, &input);
}

#define NPY_SUFFIX   ".npy"
#define ARRAY_SUFFIX ".b2nd"

/* Does the last name of a path have a suffix, and something before it? */
static bool ends_in(const char *path, const char *suffix)
{
    size_t len = strlen(path);
    size_t n = strlen(suffix);

    return len > n && path[len - n - 1] != '/' &&
           strcmp(path + len - n, suffix) == 0;
}

/* Choose the name of the frame that is made from a file in a tree. */
static const char *choose_suffix(const char *path, size_t *cut)
{
    if (ends_in(path, NPY_SUFFIX) && new_array_is_npy(path)) {
        *cut = strlen(NPY_SUFFIX);
        return ARRAY_SUFFIX;
    }
    return ".b2frame";
}

static int create_one(void *context, const char *path, const char *out)
{
    struct create create = *(const struct create *)context;

    create.input = path;
    create.path = out;
    create.new_array.no_npy = !ends_in(out, ARRAY_SUFFIX);
    return create_frame(&create);
}

/* Make the directory that a frame is to be in, and those above it that are in
   the new tree, whose path has `top` bytes. */
static int make_parents(char *path, size_t top)
{
    for (char *at = path + top + 1; (at = strchr(at, '/')); at++) {
        const char *name;
        int parent;
        int r = 0;

        *at = '\0';
        parent = confine_open_parent(path, &name);
        if (parent < 0)
            r = parent;
        else if (mkdirat(parent, name, 0777) < 0 && errno != EEXIST)
            r = -errno;
        if (parent >= 0)
            close(parent);
        if (r < 0)
            source_report(path, r, &FAULT_NONE);
        *at = '/';
        if (r < 0)
            return r;
    }
    return 0;
}

/* Make the name of a frame durable, which create_from() does not do in a
   tree. */
static int sync_parent(const char *path)
{
    const char *name;
    int fd = confine_open_parent(path, &name);
    int r = fd < 0 ? fd : fsync(fd) < 0 && errno != EINVAL ? -errno : 0;

    if (fd >= 0)
        close(fd);
    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

/* Make an array from a member of an archive. */
static int create_member(const struct create *archive, const struct npz *npz,
                         size_t i)
{
    struct create create = *archive;
    const char *name = npz_name(npz, i);
    size_t len = strlen(name);
    char from[PATH_MAX];
    char out[PATH_MAX];
    struct input input;
    int r = 0;

    if (ends_in(name, NPY_SUFFIX))
        len -= strlen(NPY_SUFFIX);
    if (snprintf(from, sizeof(from), "%s/%s", archive->input, name) >=
            PATH_MAX ||
        snprintf(out, sizeof(out), "%s/%.*s" ARRAY_SUFFIX, archive->path,
                 (int)len, name) >= PATH_MAX) {
        source_report(name, -ENAMETOOLONG, &FAULT_NONE);
        return -ENAMETOOLONG;
    }
    if (!create.force && tree_copy_is_made(npz_stat(npz), out))
        return 0;
    create.path = out;
    r = make_parents(out, strlen(archive->path));
    if (r == 0)
        r = npz_open_member(npz, i, from, &input);
    if (r == 0)
        r = create_from(&create, &input);
    return r < 0 ? r : sync_parent(out);
}

/* Make and open the directory for the arrays of an archive. */
static int open_directory(const char *path)
{
    int r = mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
    int fd = r < 0 ? r : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (r == 0)
        r = fd < 0 ? -errno : confine_to(path, fd);
    if (r < 0)
        source_report(path, r, &FAULT_NONE);
    return r;
}

/* Make an array of each member of an archive. */
static int create_archived(const struct create *create)
{
    struct npz *npz;
    int failed = 0;
    int r = npz_open(create->input, &npz);

    if (r < 0)
        return r;
    r = open_directory(create->path);
    for (size_t i = 0; r == 0 && i < npz_nmembers(npz); i++) {
        int error = create_member(create, npz, i);

        if (error == -EINTR)
            r = error;
        else if (error < 0)
            failed = error;
    }
    npz_close(npz);
    return r < 0 ? r : failed;
}

static int create_archive(struct create *create)
{
    size_t len = strlen(create->path);
    char path[PATH_MAX];
    int r;

    while (len > 1 && create->path[len - 1] == '/')
        len--;
    if (snprintf(path, sizeof(path), "%.*s", (int)len, create->path) >=
        PATH_MAX) {
        source_report(create->path, -ENAMETOOLONG, &FAULT_NONE);
        return EXIT_FAILURE;
    }
    create->path = path;
    create->arrays = true;
    interrupt_catch();
    r = create_archived(create);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Is the input a file, and so an archive? */
static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int create_tree(const struct verb *verb, struct create *create,
                       struct made *made)
{
    const struct tree_copy copy = {
        .from = create->input,
        .to = create->path,
        .force = create->force,
        .suffix = choose_suffix,
        .make = create_one,
        .context = create,
        .made = made,
    };

    if (new_array_is_given(&create->new_array)) {
        log_error(
            "-r takes no --shape, --dtype, --chunks and --blocks, because "
            "each file has its own");
        verb_usage(verb);
    }
    if (remote_is(create->input) || remote_is(create->path)) {
        log_error("-r makes local trees from local ones");
        verb_usage(verb);
    }
    if (!is_file(create->input))
        return tree_copy_run(&copy);
    if (made->form != MADE_QUIET) {
        log_error("--table and --json are for trees");
        verb_usage(verb);
    }
    return create_archive(create);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        FRAME_OPTIONS_ROWS, NEW_ARRAY_OPTIONS,
        MADE_ROWS,          { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        ARGS_ROWS,
    };
    static const char *const names[] = { "INPUT", "FRAME" };
    struct frame_options frame_options = { 0 };
    struct create create = { .params = params_default };
    struct made made = { 0 };
    bool recursive = false;
    char **args;
    int option;
    int r;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        if (option == ARGS_RECURSIVE)
            recursive = true;
        else if (!new_array_take(option, &create.new_array) &&
                 !made_take(option, &made))
            frame_options_take(verb, option, &frame_options);
    if (!frame_options_apply(&frame_options, &create.params, &create.sparse)) {
        char clash[OPTION_CLASH_LEN];

        option_clash(&create.params, clash);
        log_error("%s", clash);
        verb_usage(verb);
    }
    args = args_take(verb, argc, argv, 2, names);
    create.input = args[0];
    create.path = args[1];
    create.force = frame_options.force ? OUTPUT_FORCE : OUTPUT_NEW;
    if (recursive)
        return create_tree(verb, &create, &made);
    if (made.form != MADE_QUIET) {
        log_error("--table and --json go with -r");
        verb_usage(verb);
    }
    if (remote_refuse_change(create.path))
        return EXIT_FAILURE;

    interrupt_catch();
    r = create_frame(&create);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_create = {
    .name = "create",
    .args = "[-r] [OPTION...] INPUT|- FRAME|-",
    .summary = "Compress a file or standard input",
    .help =
        "Options:\n" FRAME_OPTIONS_HELP NEW_ARRAY_HELP
        "  --recursive, -r   INPUT and FRAME are trees; or INPUT is a .npz "
        "file, and\n"
        "                    FRAME a directory for its arrays\n" MADE_HELP
            ARGS_HELP_HELP "\n"
        "Without options: contiguous, lz4, level 5, shuffle, typesize and "
        "blocksize\n"
        "auto, chunks of 1M.  SIZE may end in K, M or G.\n"
        "The frame gets owner, permissions and times of INPUT, and appears "
        "when it is\n"
        "whole.  A .npy file becomes an array without being told.\n\n"
        "Filters:\n"
        "  shuffle[:SIZE]    bytes of elements of SIZE, or of the typesize\n"
        "  bitshuffle        their bits\n"
        "  delta             difference from the first block\n"
        "  bytedelta[:SIZE]  after shuffle: difference from the byte before\n"
        "  trunc_prec:BITS   LOSES DIGITS of floats: mantissa bits to keep\n"
        "  int_trunc:BITS    LOSES DIGITS of integers: bits to keep\n"
        "  ndcell:SIDE       of arrays: cells of that side one by one\n"
        "  ndmean:SIDE       LOSES DIGITS of arrays: the mean of each cell\n"
        "With zstd, level 1 or 3 suits most data; 9 is by far the slowest.\n\n"
        "Example:\n"
        "  b2frame create --codec zstd --typesize 8 run7.f64 "
        "run7.f64.b2frame\n"
        "  b2frame create -r runs compressed\n"
        "  b2frame create -r results.npz results\n",
    .run = run,
    .urls = true,
};
