/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/parallel_append.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/cpu.h"
#include "base/pool.h"
#include "chunk/chunk_encode.h"

/* Limit of the memory for all chunks in progress, in bytes. */
static const size_t memory_max = (size_t)128 << 20;

/* A chunk in progress. */
struct job {
    struct pool_task task;
    struct parallel_append *append;
    uint8_t *bytes; /* buffer for its content */
    uint8_t *chunk; /* buffer for the encoded chunk */
    size_t len;
    bool zeros;   /* the chunk is zeros, whatever `bytes` holds */
    bool done;    /* guarded by pack->lock */
    ssize_t clen; /* encoded size, or an error; valid once `done` is set */
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

static void finish_job(struct job *job, ssize_t clen)
{
    struct parallel_append *append = job->append;

    pthread_mutex_lock(&append->lock);
    job->clen = clen;
    job->done = true;
    pthread_cond_signal(&append->finished);
    pthread_mutex_unlock(&append->lock);
}

static void run_job(struct pool_task *task)
{
    struct job *job = (struct job *)(void *)task;
    struct parallel_append *append = job->append;
    struct chunk_encoder *encoder;
    ssize_t clen = get_encoder(append, &encoder);

    if (clen == 0) {
        clen = chunk_encode(encoder, &append->params,
                            &(struct chunk_content){ job->bytes, job->len },
                            job->chunk, job->len + CHUNK_OVERHEAD_MAX);
        put_encoder(append, encoder);
    }
    finish_job(job, clen);
}

static unsigned count_jobs(size_t chunksize, unsigned nthreads)
{
    size_t capacity = memory_max / (2 * chunksize + CHUNK_OVERHEAD_MAX);

    if (capacity < 1)
        return 1;
    return capacity < 2 * (size_t)nthreads ? (unsigned)capacity : 2 * nthreads;
}

static int make_jobs(struct parallel_append *append)
{
    for (unsigned i = 0; i < append->njobs; i++) {
        struct job *job = &append->jobs[i];

        job->task.run = run_job;
        job->append = append;
        job->bytes = malloc(append->chunksize);
        job->chunk = malloc(append->chunksize + CHUNK_OVERHEAD_MAX);
        if (!job->bytes || !job->chunk)
            return -ENOMEM;
    }
    return 0;
}

int parallel_append_new(struct frame_writer *writer,
                        const struct chunk_params *params, size_t chunksize,
                        struct parallel_append **out)
{
    struct parallel_append *append = calloc(1, sizeof(*append));
    unsigned nthreads = (unsigned)get_nprocs();
    int r;

    if (!append)
        return -ENOMEM;
    pthread_mutex_init(&append->lock, NULL);
    pthread_cond_init(&append->finished, NULL);
    append->writer = writer;
    append->params = *params;
    append->chunksize = chunksize;
    append->njobs = count_jobs(chunksize, nthreads);
    append->jobs = calloc(append->njobs, sizeof(*append->jobs));
    append->idle = calloc(append->njobs, sizeof(*append->idle));
    r = append->jobs && append->idle ? make_jobs(append) : -ENOMEM;
    if (r == 0)
        r = pool_new(nthreads, &append->pool);
    if (r < 0) {
        parallel_append_free(append);
        return r;
    }
    *out = append;
    return 0;
}

void parallel_append_free(struct parallel_append *append)
{
    if (!append)
        return;
    pool_free(append->pool);
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

static int write_chunk(struct parallel_append *append, const struct job *job,
                       struct frame_written *written, struct fault *fault)
{
    if (job->zeros)
        return frame_writer_write_zeros(append->writer, (uint32_t)job->len,
                                        written, fault);
    if (job->clen < 0)
        return fault_set(fault, (int)job->clen, 0,
                         "the chunk can't be encoded");
    return frame_writer_write(append->writer, job->chunk, (size_t)job->clen,
                              written, fault);
}

/* Wait for the oldest chunk in progress, and add it to the frame. */
static int add_first(struct parallel_append *append, struct fault *fault)
{
    struct job *job = &append->jobs[append->first];
    uint64_t chunk_no = frame_writer_get_info(append->writer)->nchunks;
    struct frame_written written;
    int r;

    wait_for(append, job);
    append->first = (append->first + 1) % append->njobs;
    append->njobs_put--;
    r = write_chunk(append, job, &written, fault);
    if (r == 0) {
        r = frame_writer_insert(append->writer, chunk_no, &written);
        if (r < 0) {
            frame_writer_drop(append->writer, &written);
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

int parallel_append_get_buffer(struct parallel_append *append, uint8_t **out,
                               struct fault *fault)
{
    int r = 0;

    if (append->njobs_put == append->njobs)
        r = add_first(append, fault);
    if (r == 0)
        *out = next_job(append)->bytes;
    return r;
}

void parallel_append_put(struct parallel_append *append, size_t len)
{
    struct job *job = next_job(append);

    job->len = len;
    job->zeros = false;
    job->done = false;
    append->njobs_put++;
    pool_submit(append->pool, &job->task);
}

void parallel_append_put_zeros(struct parallel_append *append, size_t len)
{
    struct job *job = next_job(append);

    job->len = len;
    job->zeros = true;
    job->done = true;
    append->njobs_put++;
}

int parallel_append_finish(struct parallel_append *append, struct fault *fault)
{
    int r = 0;

    while (append->njobs_put > 0 && r == 0)
        r = add_first(append, fault);
    return r;
}
