/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/encode.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_typesize.h"
#include "writeback/file_writeback.h"

/* Chunks that several threads encode.  pool_job.lock guards `error` and
   `fault`. */
struct job {
    struct pool_job pool;
    struct file *file;
    uint64_t nbytes;
    int error;
    struct fault *fault;
};

/* The encoder and the buffers for encoding one chunk. */
struct encode_buffers {
    struct chunk_encoder *encoder;
    uint8_t *chunk;
    size_t cap; /* size of `chunk` */
    struct cache_pinned_chunk pinned;
};

/* Find how much of a chunk lies in a file of `nbytes`.  Returns 0, or -ERESTART
   if the chunk starts beyond the end. */
static int length(const struct file *file, uint64_t nbytes,
                  const struct cache_writeback *writeback, uint32_t *out)
{
    uint64_t start = writeback->chunk_no * file->states.chunksize;

    *out = writeback->nbytes;
    if (file->states.chunksize == 0)
        return 0;
    if (start >= nbytes)
        return -ERESTART;
    if (nbytes - start < *out)
        *out = (uint32_t)(nbytes - start);
    return 0;
}

static void buffers_fini(struct encode_buffers *buffers, struct file *file,
                         const struct cache_writeback *writeback)
{
    free(buffers->chunk);
    codec_pool_put_encoder(&file->constant.context->codec_pool,
                           buffers->encoder);
    cache_unpin_chunk(file->constant.context->cache, writeback,
                      &buffers->pinned);
}

/* Describe why a chunk could not be brought into memory.  A read error (-EIO)
   becomes -EBADMSG, because it concerns this chunk alone, as damaged bytes do,
   and must not stop the commit of other chunks. */
static int pin_error(const struct cache_writeback *writeback, int error,
                     struct fault *fault)
{
    if (error != -EIO && !fault->what)
        fault_set(fault, error, 0, NULL);
    if (fault->chunk_no < 0)
        fault->chunk_no = (int64_t)writeback->chunk_no;
    if (error != -EIO)
        return error;
    fault->what = "the chunk can't be read";
    return -EBADMSG;
}

/* Allocate memory only after cache_pin_chunk() has reserved it in the cache. */
static int buffers_init(struct encode_buffers *buffers, struct file *file,
                        const struct cache_writeback *writeback,
                        uint32_t nbytes, struct fault *fault)
{
    struct file_fill fill = { .file = file, .fault = fault };
    int r = cache_pin_chunk(file->constant.context->cache, writeback, nbytes,
                            &fill, &buffers->pinned);

    if (r < 0)
        return pin_error(writeback, r, fault);
    buffers->cap = (size_t)nbytes + CHUNK_OVERHEAD_MAX;
    buffers->chunk = malloc(buffers->cap);
    r = buffers->chunk
            ? codec_pool_get_encoder(&file->constant.context->codec_pool,
                                     &buffers->encoder)
            : -ENOMEM;
    if (r < 0) {
        buffers_fini(buffers, file, writeback);
        return fault_set(fault, r, 0, NULL);
    }
    return 0;
}

static int write_chunk(struct file *file, struct encode_buffers *buffers,
                       uint32_t nbytes, struct frame_written *written,
                       struct fault *fault)
{
    const struct chunk_pieces pieces = {
        .pieces = buffers->pinned.pieces,
        .piece_len = buffers->pinned.piece_len,
        .nbytes = nbytes,
    };
    ssize_t len = chunk_encode_pieces(buffers->encoder, &file->states.params,
                                      &pieces, buffers->chunk, buffers->cap);
    int r;

    if (len < 0)
        return fault_set(fault, (int)len, 0, "the chunk can't be encoded");
    counter_add(&file->constant.context->counters.encoded, nbytes);
    counter_add(&file->constant.context->counters.encoded_to, (uint64_t)len);
    r = frame_writer_write(file->writeback->writer, buffers->chunk, (size_t)len,
                           written, fault);
    file->writeback->no_space = encode_is_no_space(r) ? (size_t)len : 0;
    return r;
}

bool encode_is_no_space(int error)
{
    return error == -ENOSPC || error == -EDQUOT || error == -EIO ||
           error == -EROFS;
}

/* Queue an encoded chunk for the commit.  If an older encoding of the chunk is
   queued, this one replaces it. */
static void add_encoded(struct file *file,
                        const struct cache_writeback *writeback,
                        const struct frame_written *written)
{
    struct file_chunk *chunk = writeback->chunk;
    struct encoded old;
    bool replaces;

    pthread_mutex_lock(&file->gate.lock);
    replaces = !list_empty(&chunk->encoded.node);
    old = chunk->encoded;
    if (!replaces)
        list_append(&file->writeback->encoded, &chunk->encoded.node);
    chunk->encoded.writeback = *writeback;
    chunk->encoded.written = *written;
    pthread_mutex_unlock(&file->gate.lock);
    if (!replaces)
        return;
    frame_writer_drop(file->writeback->writer, &old.written);
    cache_end_writeback(file->constant.context->cache, &old.writeback);
}

int encode_chunk(struct file *file, const struct cache_writeback *writeback,
                 uint64_t nbytes, struct fault *fault)
{
    struct encode_buffers buffers = { 0 };
    struct frame_written written;
    uint32_t len;
    int r = length(file, nbytes, writeback, &len);

    *fault = FAULT_NONE;
    if (r == 0)
        r = buffers_init(&buffers, file, writeback, len, fault);
    if (r == 0) {
        r = write_chunk(file, &buffers, len, &written, fault);
        if (r == 0)
            add_encoded(file, writeback, &written);
        buffers_fini(&buffers, file, writeback);
    }
    if (r < 0)
        cache_redirty(file->constant.context->cache, writeback);
    return r == -ERESTART ? 0 : r;
}

void encode_drop(struct file *file, uint64_t first, uint64_t end)
{
    struct list dropped;

    list_init(&dropped);
    pthread_mutex_lock(&file->gate.lock);
    list_for_each_safe(node, &file->writeback->encoded) {
        uint64_t chunk_no =
            list_entry(node, struct encoded, node)->writeback.chunk_no;

        if (chunk_no >= first && chunk_no < end) {
            list_remove(node);
            list_append(&dropped, node);
        }
    }
    pthread_mutex_unlock(&file->gate.lock);
    while (!list_empty(&dropped)) {
        struct encoded *one = list_entry(dropped.next, struct encoded, node);
        struct cache_writeback writeback = one->writeback;

        list_remove(&one->node);
        frame_writer_drop(file->writeback->writer, &one->written);
        cache_redirty(file->constant.context->cache, &writeback);
    }
}

/* Record the result of encoding a chunk.  Returns whether to go on: if there is
   no space for one chunk, there is none for the next. */
static bool note(struct job *job, int r, const struct fault *fault)
{
    bool worth;

    pthread_mutex_lock(&job->pool.lock);
    if (r < 0 && (job->error == 0 || encode_is_no_space(r))) {
        job->error = r;
        *job->fault = *fault;
    }
    worth = !encode_is_no_space(job->error);
    pthread_mutex_unlock(&job->pool.lock);
    return worth;
}

/* Does nobody want the chunks any more?  Then this fails the job. */
static bool is_abandoned(struct job *job)
{
    const struct fault none = FAULT_NONE;

    if (!job->file->writeback->abandoned)
        return false;
    note(job, -ECANCELED, &none);
    return true;
}

/* Encode tagged chunks until there are no more, until one finds the disk full,
   or until the file is abandoned. */
static void work(struct pool_job *pool_job, unsigned no __attribute__((unused)))
{
    struct job *job = (struct job *)(void *)pool_job;
    struct cache *cache = job->file->constant.context->cache;
    struct fault fault = FAULT_NONE;
    struct cache_writeback writeback;
    int r = 0;

    while (note(job, r, &fault) && !is_abandoned(job) &&
           cache_begin_writeback(cache, &job->file->chunks, CACHE_TAGGED,
                                 UINT64_MAX, &writeback))
        r = encode_chunk(job->file, &writeback, job->nbytes, &fault);
}

/* Make the pool of threads that wait for servers, if there is none. */
static int make_senders(struct file_context *context, unsigned n)
{
    int r = 0;

    pthread_mutex_lock(&context->senders_lock);
    if (!context->senders)
        r = pool_new(n, &context->senders);
    if (r == 0 && context->nsenders == 0)
        context->nsenders = n;
    pthread_mutex_unlock(&context->senders_lock);
    return r;
}

void encode_choose_pool(struct file *file)
{
    struct file_context *context = file->constant.context;
    unsigned n = frame_writer_nwriters(file->writeback->writer);

    file->writeback->pool = context->pool;
    file->writeback->nencoders = context->nthreads;
    if (n > context->nthreads && make_senders(context, n) == 0) {
        file->writeback->pool = context->senders;
        file->writeback->nencoders = context->nsenders;
    }
}

int encode_dirty(struct file *file, uint64_t nbytes, struct fault *fault)
{
    size_t n =
        cache_tag_writeback(file->constant.context->cache, &file->chunks);
    unsigned ntasks = file->writeback->nencoders;
    struct job job = {
        .pool = { .run = work }, .file = file, .nbytes = nbytes, .fault = fault
    };

    if (n == 0)
        return 0;
    if (ntasks > n)
        ntasks = (unsigned)n;
    /* If a chunk found no space before, this thread works alone, because one
       chunk is enough to find out whether there is space now. */
    if (file->writeback->no_space > 0)
        ntasks = 1;
    if (pool_run(file->writeback->pool, &job.pool, ntasks - 1) < 0)
        return fault_set(fault, -ENOMEM, 0, NULL);
    return job.error;
}

/* The first piece of the chunk is enough to choose from. */
static int choose(struct file *file, struct encode_buffers *buffers,
                  uint32_t nbytes, uint32_t *out)
{
    const struct cache_pinned_chunk *pinned = &buffers->pinned;
    const struct chunk_content content = {
        .bytes = pinned->pieces[0],
        .nbytes = nbytes < pinned->piece_len ? nbytes : pinned->piece_len,
    };
    int r =
        chunk_choose_typesize(buffers->encoder, &file->states.params,
                              file->states.chunksize, &content, buffers->chunk);

    if (r < 0)
        return r;
    *out = (uint32_t)r;
    return 0;
}

int encode_choose_typesize(struct file *file, uint32_t *out,
                           struct fault *fault)
{
    struct cache_writeback writeback;
    struct encode_buffers buffers = { 0 };
    uint32_t len;
    int r;

    *out = 1;
    if (!cache_begin_writeback(file->constant.context->cache, &file->chunks,
                               CACHE_DIRTY, UINT64_MAX, &writeback))
        return 0;
    r = length(file, file->states.nbytes, &writeback, &len);
    if (r == 0)
        r = buffers_init(&buffers, file, &writeback, len, fault);
    if (r == 0) {
        r = choose(file, &buffers, len, out);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
        buffers_fini(&buffers, file, &writeback);
    }
    cache_redirty(file->constant.context->cache, &writeback);
    return r == -ERESTART ? 0 : r;
}
