/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/verify.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "array/array.h"
#include "base/cpu.h"
#include "base/pool.h"

/* Limit of the bytes to which all threads together decode. */
static const size_t memory_max = (size_t)256 << 20;

/* Decoded bytes of the blocks to decode in one call. */
static const size_t run_size = (size_t)1 << 20;

/* worker.chunk_no when there are no more chunks, and worker.place before the
   first. */
static const uint64_t none = UINT64_MAX;

struct finding {
    int error;
    struct fault fault;
};

struct worker {
    struct pool_task task;
    struct verify *verify;
    struct chunk_decoder *decoder;
    uint64_t chunk_no; /* guarded by verify->lock */
    uint64_t place;    /* place of the chunk decoded last */
    uint64_t nright;   /* blocks that match their sums */

    /* The faults of the current chunk.  There are at most as many as it has
       blocks, whose starts are in the frame. */
    struct finding *findings;
    size_t nfindings;
};

/* Locking.  No thread reads or decodes while it holds `lock`, but the listener
   is called under it. */
struct verify {
    struct frame *frame;
    uint64_t nchunks;
    bool only_sums;
    const struct verify_listener *listener;
    struct worker *workers;
    unsigned nworkers;

    pthread_mutex_t lock;
    pthread_cond_t moved; /* a worker has taken another chunk or freed memory */
    uint64_t next;        /* next chunk to take */
    size_t used;          /* bytes reserved */
    struct verify_counts counts;
    struct finding last; /* the fault that was reported last */
    int error;           /* error that ends the whole check */
};

static void note(struct worker *worker, int error, const struct fault *fault)
{
    size_t size = (worker->nfindings + 1) * sizeof(*worker->findings);
    struct finding *findings = realloc(worker->findings, size);

    if (!findings) {
        pthread_mutex_lock(&worker->verify->lock);
        worker->verify->error = -ENOMEM;
        pthread_mutex_unlock(&worker->verify->lock);
        return;
    }
    worker->findings = findings;
    findings[worker->nfindings++] = (struct finding){ error, *fault };
}

static bool is_first_locked(const struct worker *worker)
{
    const struct verify *verify = worker->verify;

    for (unsigned i = 0; i < verify->nworkers; i++)
        if (verify->workers[i].chunk_no < worker->chunk_no)
            return false;
    return true;
}

/* Do two findings name the same byte and the same reason? */
static bool is_same(const struct finding *a, const struct finding *b)
{
    return a->error == b->error && a->fault.what == b->fault.what &&
           a->fault.off == b->fault.off &&
           strcmp(a->fault.object, b->fault.object) == 0;
}

static void tell_locked(struct verify *verify, const struct finding *finding)
{
    if (finding->fault.what && is_same(&verify->last, finding))
        return;
    verify->last = *finding;
    verify->listener->fault(verify->listener->context, finding->error,
                            &finding->fault);
}

/* Report the faults of a chunk once all chunks before it are done. */
static void tell_findings(struct worker *worker)
{
    struct verify *verify = worker->verify;

    if (worker->nfindings == 0)
        return;

    pthread_mutex_lock(&verify->lock);
    while (!is_first_locked(worker))
        pthread_cond_wait(&verify->moved, &verify->lock);
    for (size_t i = 0; i < worker->nfindings; i++)
        tell_locked(verify, &worker->findings[i]);
    pthread_mutex_unlock(&verify->lock);

    free(worker->findings);
    worker->findings = NULL;
    worker->nfindings = 0;
}

/* Wait until `size` bytes are free, at most memory_max, and reserve them. */
static void reserve(struct verify *verify, size_t size)
{
    pthread_mutex_lock(&verify->lock);
    while (size > memory_max - verify->used)
        pthread_cond_wait(&verify->moved, &verify->lock);
    verify->used += size;
    pthread_mutex_unlock(&verify->lock);
}

static void unreserve(struct verify *verify, size_t size)
{
    pthread_mutex_lock(&verify->lock);
    verify->used -= size;
    pthread_cond_broadcast(&verify->moved);
    pthread_mutex_unlock(&verify->lock);
}

/* Decode blocks, or if there is no room for that, only compare them with their
   sums.  If that fails and there are several, decode each to find the
   damaged ones. */
static int decode_run(struct worker *worker, const struct frame_chunk *chunk,
                      const struct blocks_run *run)
{
    struct fault fault = FAULT_NONE;
    struct blocks_run one = *run;
    int r = run->dst ? frame_chunk_decode(worker->verify->frame, chunk, run,
                                          worker->decoder, &fault)
                     : frame_chunk_check(worker->verify->frame, chunk, run,
                                         worker->decoder, &fault);

    if (r < 0 && run->n == 1)
        note(worker, r, &fault);
    if (chunk->summed)
        worker->nright += r == 0 ? run->n : 0;
    if (r == 0 || run->n == 1)
        return r;

    one.n = 1;
    for (; one.first < run->first + run->n; one.first++) {
        r = decode_run(worker, chunk, &one);
        if (r == -ENOTSUP)
            return r;
    }
    return 0;
}

static void decode_blocks(struct worker *worker,
                          const struct frame_chunk *chunk,
                          const struct blocks_plan *plan, uint8_t *buf)
{
    struct blocks_run run = { 0 };

    while (blocks_next_run(plan, buf, &run)) {
        int r = decode_run(worker, chunk, &run);

        if (r == -ENOTSUP || (r < 0 && run.first == 0 && plan->keeps_first))
            return;
    }
}

/* Decode a chunk that has blocks, within the limit of memory. */
static void decode_chunk(struct worker *worker, const struct frame_chunk *chunk)
{
    const struct blocks_plan plan = blocks_plan(chunk->chunk, run_size);
    struct fault fault;
    uint8_t *buf;

    if (plan.memory > memory_max) {
        fault_set(&fault, -ENOMEM, chunk->entry.place,
                  "the chunk has blocks that take too much memory");
        fault.chunk_no = (int64_t)chunk->span.chunk_no;
        note(worker, -ENOMEM, &fault);
        return;
    }

    reserve(worker->verify, plan.memory);
    buf = malloc(plan.memory);
    if (buf)
        decode_blocks(worker, chunk, &plan, buf);
    else
        note(worker, -ENOMEM, &FAULT_NONE);
    free(buf);
    unreserve(worker->verify, plan.memory);
}

/* Let the workers continue at a chunk, unless they are already past it. */
static void skip_to(struct verify *verify, uint64_t chunk_no)
{
    pthread_mutex_lock(&verify->lock);
    if (verify->next < chunk_no)
        verify->next = chunk_no;
    pthread_mutex_unlock(&verify->lock);
}

/*
 * Was a chunk not found because another one, or the frame, is damaged?  The
 * size of that one is then not known, and so neither is the place of any chunk
 * after it.
 */
static bool is_elsewhere(const struct worker *worker, int error,
                         const struct fault *fault)
{
    return (error == -EBADMSG || error == -ENOTSUP) &&
           fault->chunk_no != (int64_t)worker->chunk_no;
}

static void count_blocks(struct verify *verify, const struct frame_chunk *chunk)
{
    pthread_mutex_lock(&verify->lock);
    verify->counts.nblocks += chunk->nblocks;
    if (chunk->summed)
        verify->counts.nsummed += chunk->nblocks;
    pthread_mutex_unlock(&verify->lock);
}

/* Check one chunk.  If successive entries of the index name the same place, it
   is decoded once, because a small frame can have any number of such
   entries. */
static void check_chunk(struct worker *worker)
{
    struct frame_chunk *chunk;
    struct fault fault = FAULT_NONE;
    int r;

    r = frame_chunk_open(worker->verify->frame, worker->chunk_no, &chunk,
                         &fault);
    if (r < 0) {
        note(worker, r, &fault);
        if (is_elsewhere(worker, r, &fault))
            skip_to(worker->verify, worker->verify->nchunks);
        return;
    }
    if (chunk->nblocks > 0 && chunk->entry.place != worker->place) {
        count_blocks(worker->verify, chunk);
        if (!worker->verify->only_sums)
            decode_chunk(worker, chunk);
        else if (chunk->summed)
            decode_run(worker, chunk,
                       &(struct blocks_run){ .n = chunk->nblocks });
        worker->place = chunk->entry.place;
    }
    frame_chunk_close(chunk);
}

/* Take the next chunk.  Returns false if there are no more. */
static bool take_chunk(struct worker *worker)
{
    struct verify *verify = worker->verify;
    bool taken = false;

    pthread_mutex_lock(&verify->lock);
    worker->chunk_no = none;
    if (verify->error == 0 && verify->next < verify->nchunks) {
        worker->chunk_no = verify->next++;
        taken = true;
    }
    verify->listener->progress(verify->listener->context, verify->next,
                               verify->nchunks);
    pthread_cond_broadcast(&verify->moved);
    pthread_mutex_unlock(&verify->lock);
    return taken;
}

/*
 * If the chunk is a hole, let the other workers continue after the holes that
 * follow.  An error in the index is ignored here, because frame_check() has
 * reported it.
 */
static bool skip_holes(struct worker *worker)
{
    struct verify *verify = worker->verify;
    struct fault fault;
    uint64_t next;
    int r;

    r = frame_next(verify->frame, worker->chunk_no, false, &next, &fault);
    if (r < 0 || next == worker->chunk_no)
        return r < 0;
    skip_to(verify, next);
    return true;
}

static void run_worker(struct pool_task *task)
{
    struct worker *worker = (struct worker *)(void *)task;

    while (take_chunk(worker)) {
        if (!skip_holes(worker))
            check_chunk(worker);
        tell_findings(worker);
    }
}

static void report_structure(void *context, int error,
                             const struct fault *fault)
{
    struct verify *verify = context;

    tell_locked(verify, &(struct finding){ error, *fault });
}

/* Report an array metalayer that is damaged or too large, because readers
   reject such a frame. */
static int check_array(struct verify *verify)
{
    struct finding finding = { .fault = FAULT_NONE };
    struct array *array = NULL;

    finding.error = array_read(verify->frame, &array, &finding.fault);
    array_free(array);
    if (finding.error != -EBADMSG && finding.error != -E2BIG)
        return finding.error;
    tell_locked(verify, &finding);
    return 0;
}

/* Check all chunks in the worker threads. */
static int run_workers(struct verify *verify)
{
    struct pool *pool;
    int r;

    r = pool_new(verify->nworkers, &pool);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < verify->nworkers; i++)
        pool_submit(pool, &verify->workers[i].task);
    pool_free(pool);
    return verify->error;
}

static int new_workers(struct verify *verify, unsigned nworkers)
{
    int r = 0;

    verify->workers = calloc(nworkers, sizeof(*verify->workers));
    if (!verify->workers)
        return -ENOMEM;
    verify->nworkers = nworkers;
    for (unsigned i = 0; i < nworkers && r == 0; i++) {
        verify->workers[i].task.run = run_worker;
        verify->workers[i].verify = verify;
        verify->workers[i].place = none;
        r = chunk_decoder_new(cpu_features(), &verify->workers[i].decoder);
    }
    return r;
}

static void free_workers(struct verify *verify)
{
    for (unsigned i = 0; i < verify->nworkers; i++)
        chunk_decoder_free(verify->workers[i].decoder);
    free(verify->workers);
}

int verify_frame(struct frame *frame, const struct verify_options *options,
                 const struct verify_listener *listener,
                 struct verify_counts *counts)
{
    unsigned nthreads = options->nthreads;
    struct verify verify = {
        .frame = frame,
        .nchunks = frame_get_info(frame)->nchunks,
        .only_sums = options->only_sums,
        .listener = listener,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .moved = PTHREAD_COND_INITIALIZER,
    };
    int r;

    r = check_array(&verify);
    if (r == 0)
        r = frame_check(frame, report_structure, &verify);
    if (r < 0)
        return r;
    r = new_workers(&verify, nthreads ? nthreads : (unsigned)get_nprocs());
    if (r == 0)
        r = run_workers(&verify);
    for (unsigned i = 0; i < verify.nworkers && verify.workers; i++)
        verify.counts.nright += verify.workers[i].nright;
    free_workers(&verify);
    *counts = verify.counts;
    return r;
}
