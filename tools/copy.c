/* SPDX-License-Identifier: BSD-3-Clause */
#include "copy.h"

#include <errno.h>

#include "interrupt.h"
#include "output.h"
#include "progress.h"
#include "remote.h"
#include "source.h"
#include "state/params.h"
#include "threads.h"
#include "writeback/parallel_append.h"

enum {
    RUN_MIN = 16 /* special chunks in a row */
};

static int report(const struct copy *copy, int error, const struct fault *fault)
{
    source_report(copy->out, error, fault);
    return error;
}

static int report_copy(const struct copy *copy, int error,
                       const struct fault *fault)
{
    if (error != -EBADMSG && error != -ENOTSUP)
        return report(copy, error, fault);
    source_report(copy->path, error, fault);
    return error;
}

/* The chunks that are being copied. */
struct copying {
    const struct copy *copy;
    struct frame_writer *writer;
    struct parallel_append *append;
    uint64_t nspecial; /* special ones that were copied last */
};

/* Copy chunks from `chunk_no` on: a single one, or a run of special ones if
   many were special already, because a run is added behind all others.  `n`
   receives their number. */
static int copy_some(struct copying *copying, uint64_t chunk_no, uint64_t *n)
{
    const struct copy *copy = copying->copy;
    struct fault fault = FAULT_NONE;
    struct frame_entry entry;
    int r = interrupt_seen() ? -EINTR : 0;

    *n = 0;
    if (r == 0)
        r = frame_get_entry(copy->frame, chunk_no, &entry, &fault);
    copying->nspecial = r == 0 && entry.special ? copying->nspecial + 1 : 0;
    if (copying->nspecial >= RUN_MIN) {
        r = parallel_append_finish(copying->append, &fault);
        if (r == 0)
            r = frame_writer_append_run(copying->writer, copy->frame, chunk_no,
                                        n);
    }
    if (r == 0 && *n == 0) {
        r = parallel_append_copy(copying->append, copy->frame, chunk_no,
                                 &fault);
        *n = 1;
    }
    return r < 0 ? report_copy(copy, r, &fault) : 0;
}

static int copy_all(struct copying *copying)
{
    const struct frame_info *info = frame_get_info(copying->copy->frame);
    struct fault fault = FAULT_NONE;
    struct progress progress;
    int r = 0;

    progress_start(&progress);
    for (uint64_t i = 0, n = 0; i < info->nchunks && r == 0; i += n) {
        uint64_t done = i * (info->nbytes / info->nchunks);

        r = copy_some(copying, i, &n);
        progress_update(&progress, done, info->nbytes);
    }
    progress_clear(&progress);
    if (r < 0)
        return r;
    r = parallel_append_finish(copying->append, &fault);
    return r < 0 ? report_copy(copying->copy, r, &fault) : 0;
}

static int copy_chunks(const struct copy *copy, struct frame_writer *writer)
{
    uint32_t chunksize = frame_get_info(copy->frame)->chunksize;
    struct copying copying = { .copy = copy, .writer = writer };
    const struct parallel_size size = {
        .chunksize = chunksize > 0 ? chunksize : params_default.chunksize,
        .nthreads = threads_get(),
    };
    int r = parallel_append_new(writer, NULL, &size, &copying.append);

    if (r < 0)
        return report(copy, r, &FAULT_NONE);
    r = copy_all(&copying);
    parallel_append_free(copying.append);
    return r;
}

static int commit(const struct copy *copy, struct frame_writer *writer)
{
    struct fault fault = FAULT_NONE;
    struct frame *frame;
    int r = frame_writer_commit(writer, &frame, &fault);

    if (r < 0)
        return report(copy, r, &fault);
    frame_close(frame);
    return 0;
}

int copy_frame(const struct copy *copy, struct store *store)
{
    struct fault fault = FAULT_NONE;
    struct frame_writer *writer;
    int r = frame_writer_new_like(store, copy->frame, NULL, &writer, &fault);

    if (r < 0)
        return report(copy, r, &fault);
    r = copy_chunks(copy, writer);
    if (r == 0)
        r = commit(copy, writer);
    frame_writer_close(writer);
    return r;
}

/* Copy the frame in a store, which was just made. */
static int copy_store(const char *out, struct store *from, struct store *to)
{
    struct copy copy = { .path = out, .out = out };
    struct fault fault = FAULT_NONE;
    int r = frame_open(from, 0, &copy.frame, &fault);

    if (r < 0)
        return report(&copy, r, &fault);
    r = copy_frame(&copy, to);
    frame_close(copy.frame);
    return r;
}

int copy_made(const char *out, int (*make)(void *context, struct store *store),
              void *context, struct store *store)
{
    struct output *scratch;
    int r;

    if (!remote_is(out))
        return make(context, store);
    r = output_open_scratch(&scratch);
    if (r < 0)
        return r;
    r = make(context, output_store(scratch));
    if (r == 0)
        r = copy_store(out, output_store(scratch), store);
    output_close(scratch);
    return r;
}
