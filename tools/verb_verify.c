/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "args.h"
#include "base/log.h"
#include "base/text.h"
#include "file/verify.h"
#include "jobs.h"
#include "path_json.h"
#include "progress.h"
#include "resume.h"
#include "source.h"
#include "threads.h"
#include "tree.h"
#include "verb.h"

enum {
    OPTION_JSON = 0x300,
    OPTION_QUIET,
    OPTION_SUMS,
    OPTION_RESUME,
    OPTION_IDLE,
};

enum {
    LEAST_NICE = 19,
    NOTES_MAX = 16, /* that are kept for JSON: metalayers that a header may
                       have */
};

struct verify {
    uint64_t frame_offset;
    bool json;
    bool quiet;
    bool only_sums;
    struct verify_counts counts;            /* of the frame */
    const char *path;                       /* of the frame that is verified */
    char name[TEXT_ESCAPED_SIZE(PATH_MAX)]; /* `path`, escaped for output */
    uint64_t nfaults;                       /* number found in the frame */
    struct fault notes[NOTES_MAX];          /* facts that are no faults */
    size_t nnotes;
    uint64_t nbytes; /* decoded size of the frame */
    struct progress progress;
    struct resume resume;
};

static void print_json(struct json_object *object)
{
    printf("%s", json_object_to_json_string_ext(
                     object,
                     JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(object);
}

/* The kind of a fault, as a word for programs. */
static const char *fault_kind(int error)
{
    switch (error) {
    case -EBADMSG:
        return "damaged";
    case -ENOTSUP:
        return "unsupported";
    default:
        return "unreadable";
    }
}

static void print_fault_json(const struct fault *fault, int error)
{
    struct json_object *object = json_object_new_object();
    const char *reason = fault->what ? fault->what : strerror(-error);

    if (fault->object[0] != '\0')
        json_object_object_add(object, "object",
                               json_object_new_string(fault->object));
    if (fault->chunk_no >= 0)
        json_object_object_add(object, "chunk",
                               json_object_new_int64(fault->chunk_no));
    if (fault->what)
        json_object_object_add(object, "offset",
                               json_object_new_uint64(fault->off));
    if (fault->id >= 0)
        json_object_object_add(object, "id", json_object_new_int(fault->id));
    if (error < 0)
        json_object_object_add(object, "kind",
                               json_object_new_string(fault_kind(error)));
    json_object_object_add(object, "reason", json_object_new_string(reason));
    print_json(object);
}

/* Print a fact that is no fault, or keep it to be printed behind the faults. */
static void print_note(struct verify *verify, const struct fault *fault)
{
    char text[256];

    if (verify->nnotes < NOTES_MAX)
        verify->notes[verify->nnotes++] = *fault;
    if (verify->json || verify->quiet)
        return;
    fault_format(fault, 0, text, sizeof(text));
    printf("%s: note: %s\n", verify->name, text);
}

static void print_fault(void *context, int error, const struct fault *fault)
{
    struct verify *verify = context;
    char text[256];

    if (error == 0) {
        print_note(verify, fault);
        return;
    }
    progress_clear(&verify->progress);
    if (verify->json) {
        printf("%s\n    ", verify->nfaults > 0 ? "," : "");
        print_fault_json(fault, error);
    } else {
        fault_format(fault, error, text, sizeof(text));
        printf("%s: %s\n", verify->name, text);
    }
    verify->nfaults++;
}

static void show_progress(void *context, uint64_t done, uint64_t nchunks)
{
    struct verify *verify = context;
    double part = nchunks > 0 ? (double)done / (double)nchunks : 1;

    progress_update(&verify->progress,
                    (uint64_t)(part * (double)verify->nbytes), verify->nbytes);
}

/* Handle a frame that can't be opened.  A fault in the frame is a result, and
   is printed as one; any other error is reported.  Returns 0 or the error. */
static int report_open(struct verify *verify, int error,
                       const struct fault *fault)
{
    if (error == -EBADMSG || error == -ENOTSUP) {
        print_fault(verify, error, fault);
        return 0;
    }
    source_report(verify->path, error, fault);
    return error;
}

/* Verify a whole frame.  Takes ownership of `store`. */
static int verify_store(struct verify *verify, struct store *store)
{
    const struct verify_listener listener = {
        .fault = print_fault,
        .progress = show_progress,
        .context = verify,
    };
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r;

    r = source_read_frame(store, verify->frame_offset, &frame, &fault);
    store_close(store);
    if (r < 0)
        return report_open(verify, r, &fault);
    verify->nbytes = frame_get_info(frame)->nbytes;
    progress_start(&verify->progress);
    r = verify_frame(
        frame, &(struct verify_options){ threads_get(), verify->only_sums },
        &listener, &verify->counts);
    progress_clear(&verify->progress);
    if (r < 0)
        source_report(verify->path, r, &fault);
    frame_close(frame);
    return r;
}

/* Sum up a frame: whether it is good, and what its sums say. */
static void print_result(const struct verify *verify, bool good)
{
    const struct verify_counts *counts = &verify->counts;

    if (good && (verify->only_sums || counts->nsummed > 0))
        printf("%s: ok, %" PRIu64 " of %" PRIu64 " blocks have sums\n",
               verify->name, counts->nsummed, counts->nblocks);
    else if (good)
        printf("%s: ok\n", verify->name);
    else if (counts->nsummed > 0)
        printf("%s: %" PRIu64 " of %" PRIu64 " blocks match their sums\n",
               verify->name, counts->nright, counts->nsummed);
}

/* Verify one frame and print its faults.  Returns whether it is good. */
static bool verify_path(struct verify *verify, const char *path)
{
    struct fault fault;
    struct store *store;
    int r;

    verify->path = path;
    text_escape(path, TEXT_PLAIN_PRINTABLE, verify->name, sizeof(verify->name));
    verify->nfaults = 0;
    verify->nnotes = 0;
    verify->counts = (struct verify_counts){ 0 };
    r = source_open(path, verify->frame_offset, 0, &store, &fault);
    if (r < 0)
        source_report(path, r, &fault);
    else
        r = verify_store(verify, store);
    if (r == 0 && !verify->quiet && !verify->json)
        print_result(verify, verify->nfaults == 0);
    return r == 0 && verify->nfaults == 0;
}

/* Verify one frame and print the result as an element of a JSON array. */
static bool verify_path_json(struct verify *verify, const char *path)
{
    bool good;

    printf("  {");
    path_json_print(path);
    printf(", \"faults\": [");
    good = verify_path(verify, path);
    printf("], \"notes\": [");
    for (size_t i = 0; i < verify->nnotes; i++) {
        if (i > 0)
            printf(", ");
        print_fault_json(&verify->notes[i], 0);
    }
    printf("], \"blocks\": %" PRIu64 ", \"summed\": %" PRIu64
           ", \"right\": %" PRIu64 ", \"ok\": %s}",
           verify->counts.nblocks, verify->counts.nsummed,
           verify->counts.nright, good ? "true" : "false");
    return good;
}

static int verify_one(void *context, const struct tree_entry *file,
                      uint64_t counts[JOBS_NCOUNTS] __attribute__((unused)))
{
    struct verify *verify = context;
    bool good = verify->json ? verify_path_json(verify, file->path)
                             : verify_path(verify, file->path);

    return good ? 0 : -EBADMSG;
}

static void note_end(void *context, const struct tree_entry *file, bool failed)
{
    struct verify *verify = context;

    resume_note(&verify->resume, file->path, failed);
}

/* Verify all frames from `first` on.  Returns whether all of them are good,
   also those before. */
static bool verify_rest(struct verify *verify, const struct tree *frames,
                        size_t first)
{
    const struct tree rest = {
        .entries = first > 0 ? frames->entries + first : frames->entries,
        .n = frames->n - first,
    };
    const struct jobs jobs = {
        .files = &rest,
        .run = verify_one,
        .ended = note_end,
        .context = verify,
        .separator = verify->json ? ",\n" : NULL,
    };
    long nfailed;

    if (verify->json)
        printf("[\n");
    nfailed = jobs_run(&jobs);
    if (verify->json)
        printf("\n]\n");
    if (nfailed < 0 || ferror(stdout))
        return false;
    resume_end(&verify->resume);
    return verify->resume.nfailed == 0 && frames->nfailed == 0;
}

/* Find the frames that the user named, and verify them. */
static bool verify_named(struct verify *verify, char **paths, int npaths,
                         bool recursive)
{
    struct tree frames = { 0 };
    size_t first = 0;
    int r = tree_find_frames(paths, npaths,
                             recursive ? TREE_BELOW | TREE_LEAVES : 0, &frames);
    bool good;

    if (r == 0)
        r = resume_begin(&verify->resume, &frames, &first);
    good = r == 0 && verify_rest(verify, &frames, first);
    tree_free(&frames);
    return good;
}

/* Leave disk and CPU to others that want them, as far as the system lets a
   process do so. */
static void be_idle(void)
{
    const int idle = 3 << 13; /* IOPRIO_CLASS_IDLE, where classes are */

    if (syscall(SYS_ioprio_set, 1 /* IOPRIO_WHO_PROCESS */, 0, idle) < 0 ||
        setpriority(PRIO_PROCESS, 0, LEAST_NICE) < 0)
        log_debug("priority stays: %s", strerror(errno));
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, OPTION_JSON },
        { "quiet", no_argument, NULL, OPTION_QUIET },
        { "sums", no_argument, NULL, OPTION_SUMS },
        { "resume", required_argument, NULL, OPTION_RESUME },
        { "idle", no_argument, NULL, OPTION_IDLE },
        { "recursive", no_argument, NULL, ARGS_RECURSIVE },
        { "frame-offset", required_argument, NULL, ARGS_FRAME_OFFSET },
        ARGS_ROWS,
    };
    struct verify verify = { 0 };
    bool recursive = false;
    int option;

    while ((option = args_next(verb, argc, argv, options)) != -1)
        switch (option) {
        case OPTION_JSON:
            verify.json = true;
            break;
        case OPTION_QUIET:
            verify.quiet = true;
            break;
        case OPTION_SUMS:
            verify.only_sums = true;
            break;
        case OPTION_RESUME:
            verify.resume.path = optarg;
            break;
        case OPTION_IDLE:
            be_idle();
            break;
        case ARGS_RECURSIVE:
            recursive = true;
            break;
        case ARGS_FRAME_OFFSET:
            verify.frame_offset = args_size(verb, optarg);
            break;
        }
    args_frames(verb, argc);

    return verify_named(&verify, argv + optind, argc - optind, recursive)
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}

const struct verb verb_verify = {
    .name = "verify",
    .args = "[-r] [--json] [--quiet] [--sums] [--resume FILE] [--idle] "
            "[--frame-offset N] FRAME...",
    .summary = "Check every structure and decode every chunk",
    .help =
        "Options:\n"
        "  --json            print the result as JSON\n"
        "  --quiet           print only faults\n"
        "  --sums            compare stored bytes with their checksums, "
        "and decode\n"
        "                    nothing\n"
        "  --resume FILE     keep in FILE how far it is, and go on there "
        "after an\n"
        "                    interruption\n"
        "  --idle            let others have disk and CPU first\n" ARGS_RECURSIVE_HELP
            ARGS_COMMON_HELP "\n"
        "Each fault is one line with its chunk and its offset in the "
        "file.\n"
        "The exit status is 1 if there are any.\n\n"
        "Example:\n"
        "  b2frame verify --quiet -r .\n",
    .run = run,
    .urls = true,
};
