/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/parallel_append.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "chunk/chunk_encode.h"

/* Limit of the memory for all chunks in progress, in bytes. */
static const size_t memory_max = (size_t)128 << 20;

enum job_kind {
    JOB_CONTENT, /* encode bytes */
    JOB_ZEROS,
    JOB_COPY,
};

/* A chunk in progress. */
struct job {
    struct pool_task task;
    struct parallel_append *append;
    enum job_kind kind;
    uint8_t *bytes; /* buffer for its content */
    uint8_t *chunk; /* buffer for the encoded chunk */
    size_t len;
    struct frame *from; /* to copy chunk `chunk_no` from */
    uint64_t chunk_no;
    ssize_t clen; /* encoded size, or an error */

    /* The result of writing it.  All above is valid once `done` is set, which
       append->lock guards. */
    struct frame_written written;
    struct fault fault;
    int error;
    bool done;
};

/*
 * The jobs form a ring: `njobs_put` of them, from `first` on, are in progress.
 *
 * Locking.  `lock` is a leaf and guards `idle`, `nidle` and job.done.
 */
struct parallel_append {
    struct frame_writer *writer;
    struct chunk_params params;
    size_t chunksize;
    bool writes_ahead; /* many threads write chunks; else the thread that adds
                          them does, in their order */
    atomic_bool stopping;
    struct pool *pool;
    struct job *jobs;
    unsigned njobs;
    unsigned first;
    unsigned njobs_put;

    pthread_mutex_t lock;
    pthread_cond_t finished; /* a job is done */
    struct chunk_encoder **idle;
    unsigned nidle;
};

/* Take an idle encoder, or make one if there is none. */
static int get_encoder(struct parallel_append *append,
                       struct chunk_encoder **out)
{
    struct chunk_encoder *encoder = NULL;

    pthread_mutex_lock(&append->lock);
    if (append->nidle > 0)
        encoder = append->idle[--append->nidle];
    pthread_mutex_unlock(&append->lock);
    if (!encoder)
        return chunk_encoder_new(cpu_features(), out);
    *out = encoder;
    return 0;
}

/* The array has a place for each, because there are never more encoders than
   jobs. */
static void put_encoder(struct parallel_append *append,
                        struct chunk_encoder *encoder)
{
    pthread_mutex_lock(&append->lock);
    append->idle[append->nidle++] = encoder;
    pthread_mutex_unlock(&append->lock);
}

static void finish_job(struct job *job)
{
    struct parallel_append *append = job->append;

    pthread_mutex_lock(&append->lock);
    job->done = true;
    pthread_cond_signal(&append->finished);
    pthread_mutex_unlock(&append->lock);
}

static ssize_t encode(struct job *job)
{
    struct parallel_append *append = job->append;
    struct chunk_encoder *encoder;
    ssize_t r = get_encoder(append, &encoder);

    if (r < 0)
        return r;
    r = chunk_encode(encoder, &append->params,
                     &(struct chunk_content){ job->bytes, job->len },
                     job->chunk, job->len + CHUNK_OVERHEAD_MAX);
    put_encoder(append, encoder);
    return r;
}

static int write_job(struct job *job)
{
    struct frame_writer *writer = job->append->writer;

    job->fault = FAULT_NONE;
    if (job->kind == JOB_ZEROS)
        return frame_writer_write_zeros(writer, (uint32_t)job->len,
                                        &job->written, &job->fault);
    if (job->kind == JOB_COPY)
        return frame_writer_copy(writer, job->from, job->chunk_no,
                                 &job->written, &job->fault);
    if (job->clen < 0)
        return fault_set(&job->fault, (int)job->clen, 0,
                         "the chunk can't be encoded");
    return frame_writer_write(writer, job->chunk, (size_t)job->clen,
                              &job->written, &job->fault);
}

static void run_job(struct pool_task *task)
{
    struct job *job = (struct job *)(void *)task;
    struct parallel_append *append = job->append;

    if (job->kind == JOB_CONTENT)
        job->clen = encode(job);
    if (append->writes_ahead)
        job->error =
            atomic_load(&append->stopping) ? -ECANCELED : write_job(job);
    finish_job(job);
}

/* Chunks that are copied take about as much memory as those that are
   encoded. */
static unsigned count_jobs(size_t chunksize, unsigned nthreads)
{
    size_t capacity = memory_max / (2 * chunksize + CHUNK_OVERHEAD_MAX);

    if (capacity < 1)
        return 1;
    return capacity < 2 * (size_t)nthreads ? (unsigned)capacity : 2 * nthreads;
}

static int make_jobs(struct parallel_append *append, bool has_content)
{
    for (unsigned i = 0; i < append->njobs; i++) {
        struct job *job = &append->jobs[i];

        job->task.run = run_job;
        job->append = append;
        if (!has_content)
            continue;
        job->bytes = malloc(append->chunksize);
        job->chunk = malloc(append->chunksize + CHUNK_OVERHEAD_MAX);
        if (!job->bytes || !job->chunk)
            return -ENOMEM;
    }
    return 0;
}

int parallel_append_new(struct frame_writer *writer,
                        const struct chunk_params *params,
                        const struct parallel_size *size,
                        struct parallel_append **out)
{
    struct parallel_append *append = calloc(1, sizeof(*append));
    unsigned nthreads =
        size->nthreads ? size->nthreads : (unsigned)get_nprocs();
    unsigned nwriters = frame_writer_nwriters(writer);
    int r;

    if (!append)
        return -ENOMEM;
    pthread_mutex_init(&append->lock, NULL);
    pthread_cond_init(&append->finished, NULL);
    append->writer = writer;
    append->writes_ahead = nwriters > 1;
    if (nthreads < nwriters)
        nthreads = nwriters;
    if (params)
        append->params = *params;
    append->chunksize = size->chunksize;
    append->njobs = count_jobs(size->chunksize, nthreads);
    append->jobs = calloc(append->njobs, sizeof(*append->jobs));
    append->idle = calloc(append->njobs, sizeof(*append->idle));
    r = append->jobs && append->idle ? make_jobs(append, params) : -ENOMEM;
    if (r == 0)
        r = pool_new(nthreads, &append->pool);
    if (r < 0) {
        parallel_append_free(append);
        return r;
    }
    *out = append;
    return 0;
}

/* Drop the chunks that were written, but not added. */
static void drop_written(struct parallel_append *append)
{
    for (unsigned i = 0; append->writes_ahead && i < append->njobs_put; i++) {
        const struct job *job =
            &append->jobs[(append->first + i) % append->njobs];

        if (job->error == 0)
            frame_writer_drop(append->writer, &job->written);
    }
}

void parallel_append_free(struct parallel_append *append)
{
    if (!append)
        return;
    atomic_store(&append->stopping, true);
    pool_free(append->pool);
    drop_written(append);
    for (unsigned i = 0; append->jobs && i < append->njobs; i++) {
        free(append->jobs[i].bytes);
        free(append->jobs[i].chunk);
    }
    for (unsigned i = 0; i < append->nidle; i++)
        chunk_encoder_free(append->idle[i]);
    free(append->jobs);
    free(append->idle);
    pthread_cond_destroy(&append->finished);
    pthread_mutex_destroy(&append->lock);
    free(append);
}

static void wait_for(struct parallel_append *append, const struct job *job)
{
    pthread_mutex_lock(&append->lock);
    while (!job->done)
        pthread_cond_wait(&append->finished, &append->lock);
    pthread_mutex_unlock(&append->lock);
}

/* Wait for the oldest chunk in progress, and add it to the frame. */
static int add_first(struct parallel_append *append, struct fault *fault)
{
    struct job *job = &append->jobs[append->first];
    uint64_t chunk_no = frame_writer_get_info(append->writer)->nchunks;
    int r;

    wait_for(append, job);
    append->first = (append->first + 1) % append->njobs;
    append->njobs_put--;
    r = append->writes_ahead ? job->error : write_job(job);
    *fault = job->fault;
    if (r == 0) {
        r = frame_writer_insert(append->writer, chunk_no, &job->written);
        if (r < 0) {
            frame_writer_drop(append->writer, &job->written);
            fault_set(fault, r, 0, NULL);
        }
    }
    if (r < 0)
        fault->chunk_no = (int64_t)chunk_no;
    return r;
}

/* Return the job after those in progress. */
static struct job *next_job(struct parallel_append *append)
{
    return &append->jobs[(append->first + append->njobs_put) % append->njobs];
}

/* Make a job free, and return it. */
static int get_job(struct parallel_append *append, struct job **out,
                   struct fault *fault)
{
    int r = 0;

    if (append->njobs_put == append->njobs)
        r = add_first(append, fault);
    *out = next_job(append);
    return r;
}

/* Put the next job.  `work`: there is something to do that needs a thread. */
static void put_job(struct parallel_append *append, enum job_kind kind,
                    bool work)
{
    struct job *job = next_job(append);

    job->kind = kind;
    job->done = !work;
    append->njobs_put++;
    if (work)
        pool_submit(append->pool, &job->task);
}

int parallel_append_get_buffer(struct parallel_append *append, uint8_t **out,
                               struct fault *fault)
{
    struct job *job;
    int r = get_job(append, &job, fault);

    if (r == 0)
        *out = job->bytes;
    return r;
}

void parallel_append_put(struct parallel_append *append, size_t len)
{
    next_job(append)->len = len;
    put_job(append, JOB_CONTENT, true);
}

void parallel_append_put_zeros(struct parallel_append *append, size_t len)
{
    next_job(append)->len = len;
    put_job(append, JOB_ZEROS, append->writes_ahead);
}

int parallel_append_copy(struct parallel_append *append, struct frame *from,
                         uint64_t chunk_no, struct fault *fault)
{
    struct job *job;
    int r = get_job(append, &job, fault);

    if (r < 0)
        return r;
    job->from = from;
    job->chunk_no = chunk_no;
    put_job(append, JOB_COPY, append->writes_ahead);
    return 0;
}

int parallel_append_finish(struct parallel_append *append, struct fault *fault)
{
    int r = 0;

    while (append->njobs_put > 0 && r == 0)
        r = add_first(append, fault);
    return r;
}
