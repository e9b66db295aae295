/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "args.h"
#include "change.h"
#include "edit.h"
#include "input.h"
#include "mounted.h"
#include "state/params.h"
#include "verb.h"

enum {
    CHUNKSIZE_DEFAULT = 1 << 20 /* for frames that have none yet */
};

/* Take the last chunk off the frame, and put its bytes before the input.  It
   can't stay as it is, because only the last chunk of a frame may be short. */
static int reopen_last(struct edit *edit, struct input *input)
{
    uint64_t last = frame_writer_get_info(edit->writer)->nchunks - 1;
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    uint8_t *bytes = NULL;
    int r = frame_span_of(edit->frame, last, &span, &fault);

    if (r == 0) {
        bytes = malloc(span.nbytes);
        r = bytes ? frame_chunk_read(edit->frame, last, bytes, span.nbytes,
                                     &fault)
                  : -ENOMEM;
    }
    if (r == 0)
        r = frame_writer_delete(edit->writer, last, 1);
    if (r < 0) {
        free(bytes);
        return edit_report(edit, r, &fault);
    }
    input_put_back(input, bytes, span.nbytes);
    return 0;
}

/* Make sure that a full chunk can come next. */
static int prepare(struct edit *edit, struct input *input,
                   const struct chunk_params *params)
{
    const struct frame_info *info = frame_writer_get_info(edit->writer);
    const struct file_params decided = { .chunk = *params,
                                         .chunksize = CHUNKSIZE_DEFAULT };
    struct frame_params frame;
    struct fault fault = FAULT_NONE;
    int r;

    if (info->chunksize > 0 && info->nbytes % info->chunksize != 0)
        return reopen_last(edit, input);
    if (info->chunksize > 0)
        return 0;
    frame = params_frame(&decided);
    r = frame_writer_set_params(edit->writer, &frame, &fault);
    return r < 0 ? edit_report(edit, r, &fault) : 0;
}

/* Append the whole input after the last byte. */
static int append_bytes(struct edit *edit, const char *path)
{
    struct chunk_params params;
    struct input input;
    int r = edit_chunk_params(edit, &params);

    if (r < 0)
        return r;
    r = input_open(path, &input);
    if (r < 0)
        return r;
    r = prepare(edit, &input, &params);
    if (r == 0)
        r = feed_chunks(&input.feed, edit->path, edit->writer, &params,
                        frame_writer_get_info(edit->writer)->chunksize);
    input_close(&input);
    return r;
}

static int append(struct edit *edit, const void *path)
{
    if (frame_writer_is_variable(edit->writer))
        return edit_put_chunk(edit,
                              frame_writer_get_info(edit->writer)->nchunks,
                              path, frame_writer_insert);
    return append_bytes(edit, path);
}

static int append_mounted(struct mounted *mounted, const void *path)
{
    return mounted_append(mounted, path);
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const char *const names[] = { "FRAME", "INPUT" };
    static const struct change how = {
        .open = edit_open_chunks,
        .edit = append,
        .mounted = append_mounted,
    };
    char **args = args_only(verb, argc, argv, 2, names);

    return change_chunks(args[0], &how, args[1]) < 0 ? EXIT_FAILURE
                                                     : EXIT_SUCCESS;
}

const struct verb verb_append = {
    .name = "append",
    .args = "FRAME INPUT|-",
    .summary = "Add bytes at the end",
    .help = "Options:\n" ARGS_HELP_HELP "\n"
            "INPUT, or standard input, follows the last byte, in as many "
            "chunks as it takes.\n"
            "If the chunks of the frame differ in size, it becomes one of its "
            "own.\n\n"
            "Example:\n"
            "  sensor | b2frame append log.b2frame -\n",
    .run = run,
    .urls = true,
};
