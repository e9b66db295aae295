/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/log.h"
#include "frame/frame.h"
#include "frame/frame_object.h"
#include "interrupt.h"
#include "remote.h"
#include "source.h"
#include "store/store_http.h"
#include "verb.h"
#include "writer/frame_dir.h"

enum {
    OPTION_DRY_RUN = 1
};

/* A chunk object that is old. */
struct old {
    uint64_t id;
    char *name;
    bool used;
};

struct job {
    const char *url;
    bool dry_run;
    struct old *old; /* sorted by id */
    size_t n;
    uint64_t named_end; /* behind the highest id in the index */
};

static int report(const struct job *job, int error, const struct fault *fault)
{
    source_report(job->url, error, fault);
    return error;
}

static int add(void *context, const char *name)
{
    struct job *job = context;
    struct old *old;

    if (!frame_dir_is_chunk(name))
        return 0;
    old = reallocarray(job->old, job->n + 1, sizeof(*old));
    if (!old)
        return -ENOMEM;
    job->old = old;
    old[job->n] =
        (struct old){ .id = strtoull(name, NULL, 16), .name = strdup(name) };
    return old[job->n++].name ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b)
{
    const struct old *one = a;
    const struct old *two = b;

    return one->id < two->id ? -1 : one->id > two->id;
}

static int print_upload(void *context __attribute__((unused)), const char *id)
{
    printf("upload %s\n", id);
    return 0;
}

static int abort_uploads(const struct job *job)
{
    const struct s3_abort how = { .dry_run = job->dry_run,
                                  .visit = print_upload };
    int r = remote_abort_old(job->url, &how);

    return r < 0 ? report(job, r, &FAULT_NONE) : 0;
}

/* Is it a contiguous frame on a server of S3, which has no chunk objects? */
static bool is_contiguous(const struct job *job)
{
    struct store *store;
    bool contiguous;

    if (!url_has_list(job->url) || remote_open(job->url, false, &store) < 0)
        return false;
    contiguous = !store_is_directory(store);
    store_close(store);
    return contiguous;
}

/* Open the store of the frame.  If nothing is there, a program may have begun
   to make a frame; this opens the store of that, and then `whole` is false. */
static int open_store(const struct job *job, struct store **out, bool *whole)
{
    int r = remote_open(job->url, true, out);

    *whole = r != -ENOENT;
    return *whole ? r : remote_create(job->url, true, false, out);
}

/* List old chunk objects.  The index is read after that, so it has all of them
   that were committed. */
static int list_old(struct job *job)
{
    struct store *store;
    bool whole;
    int r = open_store(job, &store, &whole);

    if (r == -EROFS && is_contiguous(job))
        return 0;
    if (r < 0)
        return report(job, r, &FAULT_NONE);
    r = store_s3_list_old(store, add, job);
    store_close(store);
    if (r < 0)
        return report(job, r, &FAULT_NONE);
    if (job->n > 0)
        qsort(job->old, job->n, sizeof(job->old[0]), compare);
    return 0;
}

/* Two objects have one id if their names differ in length. */
static void mark_used(struct job *job, uint64_t id)
{
    const struct old wanted = { .id = id };
    struct old *found = NULL;

    if (job->n > 0)
        found =
            bsearch(&wanted, job->old, job->n, sizeof(job->old[0]), compare);
    if (!found)
        return;
    while (found > job->old && found[-1].id == id)
        found--;
    for (; found < job->old + job->n && found->id == id; found++)
        found->used = true;
}

static int mark_all_used(struct job *job, struct frame *frame,
                         struct fault *fault)
{
    uint64_t nchunks = frame_get_info(frame)->nchunks;
    int r = 0;

    for (uint64_t i = 0; i < nchunks && r == 0; i++) {
        struct frame_entry entry;

        r = interrupt_seen() ? -EINTR
                             : frame_get_entry(frame, i, &entry, fault);
        if (r < 0 || entry.special)
            continue;
        mark_used(job, entry.place);
        if (entry.place >= job->named_end)
            job->named_end = entry.place + 1;
    }
    return r;
}

/*
 * Keep the object with the highest id, unless the index names a higher one.
 * Writers use ids above those of all objects, and no id may be used twice: old
 * states of the index, in other programs, may still name it.
 */
static void keep_highest(struct job *job)
{
    struct old *last = job->n > 0 ? &job->old[job->n - 1] : NULL;

    if (last && last->id + 1 >= job->named_end)
        mark_used(job, last->id);
}

/* Delete the objects that the index does not name. */
static int delete_unused(const struct job *job, struct store *store)
{
    char **names = calloc(job->n, sizeof(*names));
    size_t n = 0;
    int r = names ? 0 : -ENOMEM;

    for (size_t i = 0; i < job->n && r == 0; i++)
        if (!job->old[i].used)
            names[n++] = job->old[i].name;
    if (r == 0 && !job->dry_run)
        r = store_s3_delete(store, names, n);
    for (size_t i = 0; i < n && r == 0; i++)
        printf("%s\n", names[i]);
    free(names);
    return r < 0 ? report(job, r, &FAULT_NONE) : 0;
}

static int mark_frame(struct job *job, struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r = frame_open(store, 0, &frame, &fault);

    if (r == 0) {
        r = mark_all_used(job, frame, &fault);
        keep_highest(job);
        frame_close(frame);
    }
    return r < 0 ? report(job, r, &fault) : 0;
}

/* Delete what marks the place of a frame that was moved away, behind all that
   is left of that. */
static int delete_marker(const struct job *job, struct store *store)
{
    int r = store_s3_delete_marker(store, FRAME_OBJECT_INDEX);

    if (r > 0)
        printf("%s\n", FRAME_OBJECT_INDEX);
    return r < 0 ? report(job, r, &FAULT_NONE) : 0;
}

static int delete_all(struct job *job, struct store *store, bool whole)
{
    int r = whole ? mark_frame(job, store) : 0;

    if (r == 0 && job->n > 0)
        r = delete_unused(job, store);
    if (r == 0 && !whole && !job->dry_run)
        r = delete_marker(job, store);
    return r;
}

static int collect(struct job *job)
{
    struct store *store;
    bool whole;
    int r = abort_uploads(job);

    if (r == 0)
        r = list_old(job);
    if (r < 0)
        return r;
    r = open_store(job, &store, &whole);
    if (r == -EROFS && job->n == 0)
        return 0; /* a contiguous frame */
    if (r < 0)
        return report(job, r, &FAULT_NONE);
    r = delete_all(job, store, whole);
    store_close(store);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "dry-run", no_argument, NULL, OPTION_DRY_RUN },
        ARGS_ROWS,
    };
    static const char *const names[] = { "URL" };
    struct job job = { .dry_run = false };
    int r;

    while (args_next(verb, argc, argv, options) != -1)
        job.dry_run = true;
    job.url = args_take(verb, argc, argv, 1, names)[0];
    if (!remote_is(job.url)) {
        log_error("%s: is no URL", job.url);
        return EXIT_FAILURE;
    }
    remote_ask_always();
    interrupt_catch();
    r = collect(&job);
    for (size_t i = 0; i < job.n; i++)
        free(job.old[i].name);
    free(job.old);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_gc = {
    .name = "gc",
    .args = "[--dry-run] URL",
    .summary = "Delete objects on a server that a frame no longer uses",
    .help =
        "Options:\n"
        "  --dry-run         print what would be deleted\n" ARGS_HELP_HELP "\n"
        "Prints the names of chunk objects that the index does not name "
        "and that are\n"
        "older than the option grace, and deletes them.  One with a higher "
        "number than\n"
        "all in the index stays, so that its number is not used again.\n"
        "Parts of a contiguous frame that were sent as long ago, and never put "
        "together,\n"
        "go, too.\n\n"
        "Example:\n"
        "  b2frame gc -o grace=3600 s3://bucket/run7.b2frame\n",
    .run = run,
    .urls = true,
};
