/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/pack.h"

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
    struct pack *pack;
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
struct pack {
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
static int get_encoder(struct pack *pack, struct chunk_encoder **out)
{
    struct chunk_encoder *encoder = NULL;

    pthread_mutex_lock(&pack->lock);
    if (pack->nidle > 0)
        encoder = pack->idle[--pack->nidle];
    pthread_mutex_unlock(&pack->lock);
    if (!encoder)
        return chunk_encoder_new(cpu_features(), out);
    *out = encoder;
    return 0;
}

/* The array has a place for each, because there are never more encoders than
   jobs. */
static void put_encoder(struct pack *pack, struct chunk_encoder *encoder)
{
    pthread_mutex_lock(&pack->lock);
    pack->idle[pack->nidle++] = encoder;
    pthread_mutex_unlock(&pack->lock);
}

static void finish_job(struct job *job, ssize_t clen)
{
    struct pack *pack = job->pack;

    pthread_mutex_lock(&pack->lock);
    job->clen = clen;
    job->done = true;
    pthread_cond_signal(&pack->finished);
    pthread_mutex_unlock(&pack->lock);
}

static void run_job(struct pool_task *task)
{
    struct job *job = (struct job *)(void *)task;
    struct pack *pack = job->pack;
    struct chunk_encoder *encoder;
    ssize_t clen = get_encoder(pack, &encoder);

    if (clen == 0) {
        clen = chunk_encode(encoder, &pack->params, job->bytes, job->len,
                            job->chunk, job->len + CHUNK_OVERHEAD_MAX);
        put_encoder(pack, encoder);
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

static int make_jobs(struct pack *pack)
{
    for (unsigned i = 0; i < pack->njobs; i++) {
        struct job *job = &pack->jobs[i];

        job->task.run = run_job;
        job->pack = pack;
        job->bytes = malloc(pack->chunksize);
        job->chunk = malloc(pack->chunksize + CHUNK_OVERHEAD_MAX);
        if (!job->bytes || !job->chunk)
            return -ENOMEM;
    }
    return 0;
}

int pack_new(struct frame_writer *writer, const struct chunk_params *params,
             size_t chunksize, struct pack **out)
{
    struct pack *pack = calloc(1, sizeof(*pack));
    unsigned nthreads = (unsigned)get_nprocs();
    int r;

    if (!pack)
        return -ENOMEM;
    pthread_mutex_init(&pack->lock, NULL);
    pthread_cond_init(&pack->finished, NULL);
    pack->writer = writer;
    pack->params = *params;
    pack->chunksize = chunksize;
    pack->njobs = count_jobs(chunksize, nthreads);
    pack->jobs = calloc(pack->njobs, sizeof(*pack->jobs));
    pack->idle = calloc(pack->njobs, sizeof(*pack->idle));
    r = pack->jobs && pack->idle ? make_jobs(pack) : -ENOMEM;
    if (r == 0)
        r = pool_new(nthreads, &pack->pool);
    if (r < 0) {
        pack_free(pack);
        return r;
    }
    *out = pack;
    return 0;
}

void pack_free(struct pack *pack)
{
    if (!pack)
        return;
    pool_free(pack->pool);
    for (unsigned i = 0; pack->jobs && i < pack->njobs; i++) {
        free(pack->jobs[i].bytes);
        free(pack->jobs[i].chunk);
    }
    for (unsigned i = 0; i < pack->nidle; i++)
        chunk_encoder_free(pack->idle[i]);
    free(pack->jobs);
    free(pack->idle);
    pthread_cond_destroy(&pack->finished);
    pthread_mutex_destroy(&pack->lock);
    free(pack);
}

static void wait_for(struct pack *pack, const struct job *job)
{
    pthread_mutex_lock(&pack->lock);
    while (!job->done)
        pthread_cond_wait(&pack->finished, &pack->lock);
    pthread_mutex_unlock(&pack->lock);
}

static int write_chunk(struct pack *pack, const struct job *job,
                       struct frame_written *written, struct fault *fault)
{
    if (job->zeros)
        return frame_writer_write_zeros(pack->writer, (uint32_t)job->len,
                                        written, fault);
    if (job->clen < 0)
        return fault_set(fault, (int)job->clen, 0,
                         "the chunk can't be encoded");
    return frame_writer_write(pack->writer, job->chunk, (size_t)job->clen,
                              written, fault);
}

/* Wait for the oldest chunk in progress, and add it to the frame. */
static int add_first(struct pack *pack, struct fault *fault)
{
    struct job *job = &pack->jobs[pack->first];
    uint64_t chunk_no = frame_writer_get_info(pack->writer)->nchunks;
    struct frame_written written;
    int r;

    wait_for(pack, job);
    pack->first = (pack->first + 1) % pack->njobs;
    pack->njobs_put--;
    r = write_chunk(pack, job, &written, fault);
    if (r == 0) {
        r = frame_writer_insert(pack->writer, chunk_no, &written);
        if (r < 0) {
            frame_writer_drop(pack->writer, &written);
            fault_set(fault, r, 0, NULL);
        }
    }
    if (r < 0)
        fault->chunk_no = (int64_t)chunk_no;
    return r;
}

/* Return the job after those in progress. */
static struct job *next_job(struct pack *pack)
{
    return &pack->jobs[(pack->first + pack->njobs_put) % pack->njobs];
}

int pack_room(struct pack *pack, uint8_t **out, struct fault *fault)
{
    int r = 0;

    if (pack->njobs_put == pack->njobs)
        r = add_first(pack, fault);
    if (r == 0)
        *out = next_job(pack)->bytes;
    return r;
}

void pack_put(struct pack *pack, size_t len)
{
    struct job *job = next_job(pack);

    job->len = len;
    job->zeros = false;
    job->done = false;
    pack->njobs_put++;
    pool_submit(pack->pool, &job->task);
}

void pack_put_zeros(struct pack *pack, size_t len)
{
    struct job *job = next_job(pack);

    job->len = len;
    job->zeros = true;
    job->done = true;
    pack->njobs_put++;
}

int pack_finish(struct pack *pack, struct fault *fault)
{
    int r = 0;

    while (pack->njobs_put > 0 && r == 0)
        r = add_first(pack, fault);
    return r;
}
