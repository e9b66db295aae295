/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/encode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/size.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_typesize.h"

/*
 * What several tasks work on.
 *
 * Locking.  `lock` is a leaf and guards all below it.
 */
struct job {
    struct file *file;
    uint64_t nbytes;

    pthread_mutex_t lock;
    pthread_cond_t finished;
    size_t nleft; /* chunks to take */
    unsigned ntasks;
    struct encoded_list *out;
    int error;
    struct fault *fault;
};

struct job_task {
    struct pool_task task;
    struct job *job;
};

/* Two pieces of memory for one chunk, which the cache counts. */
struct desk {
    ssize_t size; /* as the cache counts it */
    uint8_t *bytes;
    uint8_t *chunk;
    size_t cap; /* of `chunk` */
};

static int desk_init(struct desk *desk, struct file *file,
                     const struct cache_taken *taken)
{
    desk->size = cache_set_aside(file->context->cache, taken);
    if (desk->size < 0)
        return (int)desk->size;
    desk->cap = (size_t)taken->nbytes + CHUNK_OVERHEAD_MAX;
    desk->bytes = malloc(taken->nbytes);
    desk->chunk = malloc(desk->cap);
    return desk->bytes && desk->chunk ? 0 : -ENOMEM;
}

static void desk_fini(struct desk *desk, struct file *file)
{
    free(desk->bytes);
    free(desk->chunk);
    if (desk->size > 0)
        cache_give_back(file->context->cache, (size_t)desk->size);
}

static int gather(struct file *file, const struct cache_taken *taken,
                  struct desk *desk, struct fault *fault)
{
    struct file_fill fill = { .file = file, .fault = fault };
    int r = desk_init(desk, file, taken);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = cache_gather(file->context->cache, taken, &fill, desk->bytes);
    if (r < 0)
        fault->chunk_no = (int64_t)taken->chunk_no;
    return r;
}

/* Bytes of a chunk that are below the end of the file. */
static uint32_t length(const struct job *job, const struct cache_taken *taken)
{
    uint32_t grid = job->file->grid;
    uint64_t rest = job->nbytes - taken->chunk_no * grid;

    if (grid == 0)
        return taken->nbytes;
    return rest < grid ? (uint32_t)rest : grid;
}

static int encode(struct job *job, struct chunk_encoder *encoder,
                  const struct cache_taken *taken,
                  struct frame_written *written, struct fault *fault)
{
    struct file *file = job->file;
    struct desk desk = { 0 };
    int r = gather(file, taken, &desk, fault);

    if (r == 0) {
        ssize_t len = chunk_encode(encoder, &file->params, desk.bytes,
                                   length(job, taken), desk.chunk, desk.cap);

        if (len < 0)
            r = fault_set(fault, (int)len, 0, "the chunk can't be encoded");
        else
            r = frame_change_write(file->change, desk.chunk, (size_t)len,
                                   written, fault);
    }
    desk_fini(&desk, file);
    return r;
}

static void note_error(struct job *job, int error, const struct fault *fault)
{
    pthread_mutex_lock(&job->lock);
    if (job->error == 0) {
        job->error = error;
        *job->fault = *fault;
    }
    pthread_mutex_unlock(&job->lock);
}

static void encode_one(struct job *job, struct chunk_encoder *encoder,
                       const struct cache_taken *taken)
{
    struct cache *cache = job->file->context->cache;
    struct fault fault = FAULT_NONE;
    struct encoded encoded = { .taken = *taken };
    uint32_t grid = job->file->grid;
    int r;

    if (grid > 0 && taken->chunk_no >= size_pieces(job->nbytes, grid)) {
        cache_put_taken(cache, taken, false);
        return;
    }
    r = encode(job, encoder, taken, &encoded.written, &fault);
    if (r < 0) {
        cache_put_taken(cache, taken, false);
        if (r != -ERESTART)
            note_error(job, r, &fault);
        return;
    }
    pthread_mutex_lock(&job->lock);
    job->out->list[job->out->n++] = encoded;
    pthread_mutex_unlock(&job->lock);
}

static bool take(struct job *job, struct cache_taken *taken)
{
    bool more;

    pthread_mutex_lock(&job->lock);
    more = job->nleft > 0;
    job->nleft -= more;
    pthread_mutex_unlock(&job->lock);
    return more &&
           cache_take(job->file->context->cache, &job->file->chunks, taken);
}

static void run_task(struct pool_task *pool_task)
{
    struct job_task *task = (struct job_task *)(void *)pool_task;
    struct job *job = task->job;
    struct fault fault = FAULT_NONE;
    struct chunk_encoder *encoder;
    struct cache_taken taken;
    int r = chunk_encoder_new(cpu_features(), &encoder);

    if (r < 0)
        note_error(job, r, &fault);
    while (r == 0 && take(job, &taken))
        encode_one(job, encoder, &taken);
    if (r == 0)
        chunk_encoder_free(encoder);
    pthread_mutex_lock(&job->lock);
    if (--job->ntasks == 0)
        pthread_cond_signal(&job->finished);
    pthread_mutex_unlock(&job->lock);
}

/* Let the pool do it, and wait. */
static void run_job(struct job *job, struct job_task *tasks, unsigned ntasks)
{
    job->ntasks = ntasks;
    for (unsigned i = 0; i < ntasks; i++) {
        tasks[i] = (struct job_task){ .task.run = run_task, .job = job };
        pool_submit(job->file->context->pool, &tasks[i].task);
    }
    pthread_mutex_lock(&job->lock);
    while (job->ntasks > 0)
        pthread_cond_wait(&job->finished, &job->lock);
    pthread_mutex_unlock(&job->lock);
}

int encode_dirty(struct file *file, uint64_t nbytes, struct encoded_list *out,
                 struct fault *fault)
{
    size_t n = cache_count_dirty(file->context->cache, &file->chunks);
    unsigned ntasks = file->context->nthreads;
    struct job job = {
        .file = file, .nbytes = nbytes, .nleft = n, .out = out, .fault = fault
    };
    struct job_task *tasks;

    *out = (struct encoded_list){ 0 };
    if (n == 0)
        return 0;
    if (ntasks > n)
        ntasks = (unsigned)n;
    tasks = calloc(ntasks, sizeof(*tasks));
    out->list = calloc(n, sizeof(*out->list));
    if (!tasks || !out->list) {
        free(tasks);
        return fault_set(fault, -ENOMEM, 0, NULL);
    }
    pthread_mutex_init(&job.lock, NULL);
    pthread_cond_init(&job.finished, NULL);
    run_job(&job, tasks, ntasks);
    pthread_cond_destroy(&job.finished);
    pthread_mutex_destroy(&job.lock);
    free(tasks);
    return job.error;
}

int encode_choose_typesize(struct file *file, uint32_t *out,
                           struct fault *fault)
{
    struct job job = { .file = file, .nbytes = file->nbytes };
    struct cache *cache = file->context->cache;
    struct chunk_encoder *encoder;
    struct desk desk = { 0 };
    struct cache_taken taken;
    int r;

    *out = 1;
    if (!cache_take(cache, &file->chunks, &taken))
        return 0;
    r = chunk_encoder_new(cpu_features(), &encoder);
    if (r == 0) {
        r = gather(file, &taken, &desk, fault);
        if (r == 0)
            r = chunk_choose_typesize(encoder, &file->params, file->grid,
                                      desk.bytes, length(&job, &taken),
                                      desk.chunk, out);
        chunk_encoder_free(encoder);
    }
    desk_fini(&desk, file);
    cache_put_taken(cache, &taken, false);
    return r < 0 && r != -ERESTART ? fault_set(fault, r, 0, NULL) : 0;
}
