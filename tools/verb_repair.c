/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "args.h"
#include "array/array_repair.h"
#include "base/log.h"
#include "base/text.h"
#include "frame/metalayer.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "remote.h"
#include "repair/repair.h"
#include "source.h"
#include "target.h"
#include "verb.h"

enum {
    OPTION_IN_PLACE = 0x300,
    OPTION_FORCE
};

struct repair_job {
    const char *path;
    const char *out; /* NULL: only report what can be saved */
    uint64_t frame_offset;
    bool in_place;
    enum output_force force;
    struct store *target; /* that is held, or NULL */
    struct progress progress;
    char name[TEXT_ESCAPED_SIZE(PATH_MAX)]; /* `path`, escaped for output */
};

/* Begin a line about the frame.  It replaces the progress line. */
static void print_path(struct repair_job *job)
{
    progress_clear(&job->progress);
    printf("%s: ", job->name);
}

static void print_lost(void *context, const struct repair_loss *loss)
{
    struct fault place = loss->fault;
    char text[256];

    place.chunk_no = -1; /* the line below names it */
    fault_format(&place, loss->error, text, sizeof(text));
    print_path(context);
    printf("chunk %" PRIu64 " is lost, ", loss->chunk_no);
    if (loss->nbytes > 0)
        printf("bytes %" PRIu64 " to %" PRIu64, loss->off,
               loss->off + loss->nbytes - 1);
    else
        printf("of unknown size, at byte %" PRIu64, loss->off);
    printf(": %s\n", text);
}

static void print_layer(void *context, const struct repair_layer *layer,
                        const struct fault *fault)
{
    struct repair_job *job = context;
    char name[TEXT_ESCAPED_SIZE(METALAYER_NAME_MAX)];
    char text[256];

    text_escape(layer->name, TEXT_PLAIN_PRINTABLE, name, sizeof(name));
    fault_format(fault, -EBADMSG, text, sizeof(text));
    print_path(job);
    printf("metalayer %s %s: %s\n", name, layer->done, text);
}

static int show_progress(void *context, uint64_t done, uint64_t total)
{
    struct repair_job *job = context;

    progress_update(&job->progress, done < total ? done : total, total);
    return interrupt_seen() ? -EINTR : 0;
}

/* Print why the frame can't be opened, and how its chunks were found. */
static void print_order(struct repair_job *job,
                        const struct repair_result *result)
{
    char text[256];

    if (result->error < 0) {
        fault_format(&result->fault, result->error, text, sizeof(text));
        print_path(job);
        printf("cannot be opened: %s\n", text);
    }
    if (result->order == REPAIR_BY_FOUND_INDEX) {
        print_path(job);
        printf("an index was found, which tells the order of the chunks\n");
    }
    if (result->index_may_be_old) {
        print_path(job);
        printf(
            "the header tells another place, so the index may be of an older "
            "state\n");
    }
    if (result->order == REPAIR_BY_PLACE) {
        print_path(job);
        printf("the index is lost: chunks are in the order of their %s, and "
               "special ones are not known\n",
               result->sparse ? "files" : "places in the file");
    }
    if (result->header_lost) {
        print_path(job);
        printf("the header is lost: typesize, codec and filters are those of "
               "a chunk\n");
    }
}

static void print_count(struct repair_job *job, uint64_t count,
                        const char *what)
{
    if (count == 0)
        return;
    print_path(job);
    printf("%" PRIu64 " %s\n", count, what);
}

/* The part of a number in the header that was not found. */
static uint64_t missing(uint64_t told, uint64_t found)
{
    return told > found ? told - found : 0;
}

/* Print the counts of the header, if they differ from those that were found. */
static void print_missing(struct repair_job *job,
                          const struct repair_result *result)
{
    uint64_t nbytes = missing(result->nbytes_told, result->nbytes);
    uint64_t nchunks = missing(result->nchunks_told, result->nchunks);

    if (result->nbytes_told == result->nbytes)
        return;
    print_path(job);
    printf("the header counts %" PRIu64 " bytes", result->nbytes_told);
    if (nchunks > 0)
        printf(" in %" PRIu64 " chunks", result->nchunks_told);
    if (nbytes > 0)
        printf(", of which %" PRIu64 " bytes", nbytes);
    if (nchunks > 0)
        printf(" in %" PRIu64 " chunks", nchunks);
    if (nbytes > 0)
        printf(" are missing");
    if (result->padded)
        printf("; zeros take their place, behind the others");
    putchar('\n');
}

static void print_result(struct repair_job *job,
                         const struct repair_result *result)
{
    uint64_t nbytes = missing(result->nbytes_told, result->nbytes);
    uint64_t nchunks = missing(result->nchunks_told, result->nchunks);

    if (result->order == REPAIR_BY_INDEX)
        print_count(job, result->nguessed,
                    "chunks have their places by the order in the file, which "
                    "is a guess");
    print_count(job, result->nleft_over,
                "chunks decode, but belong nowhere, and are left out");
    if (result->layers_lost) {
        print_path(job);
        printf("not all metalayers could be read\n");
    }
    print_missing(job, result);
    print_path(job);
    printf("%" PRIu64 " of %" PRIu64 " chunks and %" PRIu64
           " metalayers are saved; of %" PRIu64 " bytes %" PRIu64 " are lost\n",
           result->nchunks - result->nlost, result->nchunks + nchunks,
           result->nlayers, result->nbytes + nbytes,
           result->nbytes_lost + nbytes);
}

/* Is the frame known to be intact, so that it can stay as it is? */
static bool is_whole(const struct repair_result *result)
{
    return result->error == 0 && result->nlost == 0 && result->nguessed == 0 &&
           !result->layers_lost && !result->layers_changed;
}

/* Can everything be saved?  That is also so if only the index was lost, and the
   index that was found names all chunks. */
static bool is_complete(const struct repair_result *result)
{
    if (result->order == REPAIR_BY_FOUND_INDEX && result->nleft_over > 0)
        return false;
    return result->nlost == 0 && result->nguessed == 0 &&
           result->nbytes_told == result->nbytes && !result->layers_lost &&
           !result->layers_cut;
}

static int write_frame(struct repair_job *job, struct repair *repair,
                       struct output *output, const struct stat *like)
{
    struct fault fault = FAULT_NONE;
    int r;

    progress_start(&job->progress);
    r = repair_write(repair, output_store(output), &fault);
    progress_clear(&job->progress);
    if (r == -EINTR)
        return r;
    if (r < 0) {
        source_report(job->out, r, &fault);
        return r;
    }
    return output_publish(output, like);
}

/* Write the new frame.  It gets owner, permissions and times of the damaged
   one. */
static int make_frame(struct repair_job *job, struct repair *repair)
{
    bool sparse = repair_get_result(repair)->sparse;
    struct output *output;
    struct stat like;
    bool remote = remote_is(job->path);
    int r = remote ? 0 : source_stat(job->path, &like);

    if (r < 0)
        return r;
    r = output_open(job->out, sparse, job->force, &output);
    if (r < 0)
        return r;
    output_replaces(output, job->target);
    r = write_frame(job, repair, output, remote ? NULL : &like);
    output_close(output);
    return r;
}

/* Returns 1 if everything can be saved, 0 if not, or a negative errno, which
   was reported. */
static int repair_store(struct repair_job *job, struct store *store)
{
    const struct repair_listener listener = {
        .lost = print_lost,
        .check_layer = array_repair_layer,
        .layer = print_layer,
        .progress = show_progress,
        .context = job,
    };
    const struct repair_result *result;
    struct fault fault = FAULT_NONE;
    struct repair *repair;
    int r;

    progress_start(&job->progress);
    r = repair_open(store, job->frame_offset, &listener, &repair, &fault);
    progress_clear(&job->progress);
    if (r < 0) {
        source_report(job->path, r, &fault);
        return r;
    }
    result = repair_get_result(repair);
    print_order(job, result);
    print_result(job, result);
    if (job->out && !(job->in_place && is_whole(result)))
        r = make_frame(job, repair);
    if (r == 0)
        r = is_complete(result);
    repair_close(repair);
    return r;
}

/* A sparse frame on a server that has lost its index is not seen as a frame. */
static int open_frame(const struct repair_job *job, struct store **out,
                      struct fault *fault)
{
    int r = source_open(job->path, job->frame_offset, 0, out, fault);

    if (r == -ENOENT && remote_is(job->path) && job->frame_offset == 0)
        return remote_open_lost(job->path, out);
    return r;
}

static int repair_frame(struct repair_job *job)
{
    struct fault fault = FAULT_NONE;
    struct store *store;
    int r = open_frame(job, &store, &fault);

    if (r < 0) {
        source_report(job->path, r, &fault);
        return r;
    }
    if (job->out && strcmp(job->path, job->out) == 0)
        r = target_check_source(job->target, job->path, store);
    if (r == 0)
        r = repair_store(job, store);
    store_close(store);
    return r;
}

/* OUT may be FRAME itself.  Returns as repair_store(). */
static int repair_held(struct repair_job *job)
{
    int r = job->out ? target_hold(job->out, &job->force, &job->target) : 0;

    if (r == 0)
        r = repair_frame(job);
    store_close(job->target);
    return r;
}

/* Take FRAME and OUT from the arguments. */
static void take_paths(const struct verb *verb, int argc, char **argv,
                       struct repair_job *job)
{
    static const char *const names[] = { "FRAME", "OUT" };
    int n = argc - optind == 2 && !job->in_place ? 2 : 1;
    char **args = args_take(verb, argc, argv, n, names);

    job->path = args[0];
    job->out = job->in_place ? job->path : n == 2 ? args[1] : NULL;
    if (job->in_place && job->frame_offset > 0) {
        log_error("a frame inside a file is not repaired in place");
        verb_usage(verb);
    }
    if (job->in_place)
        job->force = OUTPUT_FORCE;
    text_escape(job->path, TEXT_PLAIN_PRINTABLE, job->name, sizeof(job->name));
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "in-place", no_argument, NULL, OPTION_IN_PLACE },
        { "force", no_argument, NULL, OPTION_FORCE },
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        ARGS_ROWS,
    };
    struct repair_job job = { 0 };
    int option;
    int r;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_IN_PLACE:
            job.in_place = true;
            break;
        case OPTION_FORCE:
            job.force = OUTPUT_FORCE;
            break;
        case ARGS_FRAME_OFFSET:
            job.frame_offset = args_size(verb, optarg);
            break;
        }
    take_paths(verb, argc, argv, &job);
    if (job.in_place && remote_is(job.path)) {
        log_error("%s: a frame behind a URL is not repaired in place",
                  job.path);
        return EXIT_FAILURE;
    }
    if (job.out && remote_refuse_change(job.out))
        return EXIT_FAILURE;

    interrupt_catch();
    r = repair_held(&job);
    interrupt_die();
    return r > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

const struct verb verb_repair = {
    .name = "repair",
    .args = "[--in-place] [--force] [--frame-offset N] FRAME [OUT]",
    .summary = "Save what a crash or damage left of a frame",
    .help =
        "Options:\n"
        "  --in-place        put the repaired frame in the place of FRAME\n"
        "  --force           replace OUT\n" ARGS_COMMON_HELP "\n"
        "Every chunk that decodes is saved; zeros take the place of the "
        "others, so that\n"
        "all bytes keep their offsets.  Without OUT nothing is written, but "
        "said what\n"
        "could be saved.  The exit status is 1 if not all is saved.\n\n"
        "Example:\n"
        "  b2frame repair run7.b2frame saved.b2frame\n",
    .run = run,
    .urls = true,
};
