/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/log.h"
#include "frame/frame_object.h"
#include "interrupt.h"
#include "output.h"
#include "remote.h"
#include "source.h"
#include "verb.h"
#include "writer/frame_writer.h"

enum {
    OPTION_FORCE = 0x300,
    INDEX_MAX = 256 << 20, /* bytes that a reader of tickets takes */
};

struct job {
    const char *url;
    const char *out;
    bool force;
};

/* An index in memory. */
struct index {
    uint8_t *bytes;
    size_t len;
};

/* Read the object that has the header of a frame. */
static int read_index(struct store *store, struct index *out)
{
    struct store_object *object;
    struct store_stat stat;
    struct index index;
    int r = frame_object_open(store, NULL, &object, &stat);

    if (r < 0)
        return r;
    if (stat.version.size > INDEX_MAX)
        r = -EFBIG;
    if (r == 0) {
        index.len = (size_t)stat.version.size;
        index.bytes = malloc(index.len + 1);
        r = index.bytes
                ? store_object_read_at(object, 0, index.bytes, index.len)
                : -ENOMEM;
        if (r < 0)
            free(index.bytes);
        else
            *out = index;
    }
    store_object_close(object);
    return r;
}

/* Make an object of these bytes. */
static int write_object(struct store *store, const char *name,
                        const struct index *index)
{
    struct store_object *object;
    int r = store_draft(store, name, &object);

    if (r < 0)
        return r;
    r = store_object_write(object, 0, index->bytes, index->len);
    if (r == 0)
        r = store_object_sync(object);
    if (r == 0)
        r = store_publish(store, name, object);
    if (r < 0)
        store_discard(store, object);
    else
        store_object_close(object);
    return r;
}

/* Add the origin to the index in a directory that has no chunks. */
static int add_origin(struct store *store, const struct frame_ticket *ticket,
                      struct fault *fault)
{
    struct frame_writer *writer = NULL;
    struct frame *frame;
    struct frame *changed;
    uint8_t *content;
    ssize_t len = frame_ticket_encode(ticket, &content);
    int r;

    if (len < 0)
        return fault_set(fault, (int)len, 0, NULL);
    r = frame_open(store, 0, &frame, fault);
    if (r == 0) {
        r = frame_writer_open(frame, &writer, fault);
        if (r == 0)
            r = frame_writer_set_vlmetalayer(writer, FRAME_TICKET_LAYER,
                                             content, (size_t)len);
        if (r == 0)
            r = frame_writer_commit(writer, &changed, fault);
        if (r == 0)
            frame_close(changed);
        frame_writer_close(writer);
        frame_close(frame);
    }
    free(content);
    return r;
}

/* Put the origin into an index.  The writer of frames does that in a directory,
   which is made beside the ticket. */
static int change_index(const struct job *job,
                        const struct frame_ticket *ticket, struct index *index)
{
    struct fault fault = FAULT_NONE;
    struct index changed;
    struct output *draft;
    struct store *store;
    int r = output_open(job->out, true, job->force, &draft);

    if (r < 0)
        return r;
    store = output_store(draft);
    r = write_object(store, FRAME_OBJECT_INDEX, index);
    if (r == 0)
        r = add_origin(store, ticket, &fault);
    if (r == 0)
        r = read_index(store, &changed);
    output_close(draft);
    if (r < 0) {
        source_report(job->url, r, &fault);
        return r;
    }
    free(index->bytes);
    *index = changed;
    return 0;
}

static int write_ticket(const struct job *job, struct output *output,
                        const struct index *index)
{
    int r = write_object(output_store(output), "", index);

    if (r < 0) {
        source_report(job->out, r, &FAULT_NONE);
        return r;
    }
    return output_publish(output, NULL);
}

/* Read the index, and find out in which state of the frame it is. */
static int read_origin(const struct job *job, struct frame_ticket *ticket,
                       struct index *index)
{
    struct store *store;
    int r = remote_open(job->url, false, &store);

    if (r == 0 && !store_is_directory(store)) {
        log_error("%s: a ticket is for a sparse frame, and this is none",
                  job->url);
        store_close(store);
        return -EINVAL;
    }
    if (r == 0) {
        r = read_index(store, index);
        if (r == 0)
            r = store_http_get_tag(store, &ticket->tag);
        store_close(store);
    }
    if (r < 0)
        source_report(job->url, r, &FAULT_NONE);
    return r;
}

/* The URL goes to other people, so it must not have secrets. */
static int check_url(const struct job *job)
{
    const char *why = "is no URL";
    int r = -EINVAL;

    if (remote_is(job->url) && remote_has_query(job->url))
        why = "a ticket must not have a query, which is a secret";
    else if (remote_is(job->url))
        r = frame_ticket_check(job->url, &why);
    if (r < 0)
        log_error("%s: %s", job->url, r == -EINVAL ? why : strerror(-r));
    return r;
}

static int fill_ticket(const struct job *job, struct output *output)
{
    struct frame_ticket ticket = { .url = strdup(job->url) };
    struct index index = { NULL, 0 };
    int r = ticket.url ? read_origin(job, &ticket, &index) : -ENOMEM;

    if (r == 0)
        r = change_index(job, &ticket, &index);
    if (r == 0)
        r = write_ticket(job, output, &index);
    free(index.bytes);
    frame_ticket_fini(&ticket);
    return r;
}

static int make_ticket(const struct job *job)
{
    struct output *output;
    int r = check_url(job);

    if (r == 0)
        r = output_open(job->out, false, job->force, &output);
    if (r < 0)
        return r;
    r = fill_ticket(job, output);
    output_close(output);
    return r;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    static const struct option options[] = {
        { "force", no_argument, NULL, OPTION_FORCE },
        ARGS_ROWS,
    };
    static const char *const names[] = { "URL", "OUT" };
    struct job job = { .force = false };
    char **args;
    int r;

    while (args_next(verb, argc, argv, options) != -1)
        job.force = true;
    args = args_take(verb, argc, argv, 2, names);
    job.url = args[0];
    job.out = args[1];
    if (remote_refuse_change(job.out))
        return EXIT_FAILURE;
    interrupt_catch();
    r = make_ticket(&job);
    interrupt_die();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

const struct verb verb_ticket = {
    .name = "ticket",
    .args = "[--force] URL OUT",
    .summary = "Make a small file that leads to a frame on a server",
    .help =
        "Options:\n"
        "  --force           replace OUT\n" ARGS_HELP_HELP "\n"
        "URL is that of a sparse frame.  OUT is its index with the URL in it. "
        " Whoever\n"
        "gets OUT can read the frame by it: framefs, b2frame and libframefs "
        "take it for\n"
        "the frame.\n\n"
        "Example:\n"
        "  b2frame ticket s3://bucket/run7.b2frame run7.ticket.b2frame\n",
    .run = run,
    .urls = true,
};
