/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/file_region_private.h"
#include "state/file_private.h"

enum {
    /* Bytes of blocks for each thread: fewer take no longer than it takes to
       wake another one. */
    THREAD_MIN = 2 << 20,
    TASK_SLICES = 4,     /* for each thread, so that all end about together */
    RUN_MAX = 256 << 10, /* bytes of blocks that are read together, few enough
                             for the CPU's caches.  The same for all reads, so
                             that buffers in the cache have one size */
};

/* A part of the blocks of one chunk; one thread reads it. */
struct slice {
    struct region_chunk chunk;
    uint64_t first; /* number among the blocks of the chunk */
    uint64_t end;
};

/* A read of a region by several threads.  pool_job.lock guards `next`, `error`
   and `fault`. */
struct job {
    struct pool_job pool;
    struct file *file;
    const struct region_plan *plan;
    uint8_t *memory;
    uint64_t nparts; /* slices of a chunk */
    uint64_t nslices;
    bool drop_behind;
    bool once;      /* the reader is not likely to want the blocks again */
    uint64_t *left; /* for each task the slice that it found no memory for, or
                       nslices */
    uint64_t next;  /* slice that no thread has begun */
    int error;
    struct fault *fault;
};

/* One thread's work on a slice. */
struct reader {
    struct job *job;
    enum cache_wait wait;
    uint8_t *scratch; /* for a block; NULL: not needed yet */
};

static int need_scratch(struct reader *reader, struct fault *fault)
{
    if (!reader->scratch)
        reader->scratch = malloc(reader->job->plan->block_nbytes);
    return reader->scratch ? 0 : fault_set(fault, -ENOMEM, 0, NULL);
}

/* Fill the scratch with the items of a special chunk. */
static void fill(struct reader *reader, const struct file_chunk *chunk,
                 uint64_t off)
{
    uint32_t len = reader->job->plan->block_nbytes;
    uint32_t done = 0;

    while (done < len) {
        size_t start = (off + done) % chunk->pattern_len;
        size_t n = chunk->pattern_len - start;

        if (n > len - done)
            n = len - done;
        memcpy(reader->scratch + done, chunk->pattern + start, n);
        done += (uint32_t)n;
    }
}

int region_pin(const struct region_at *at, uint32_t off, uint32_t len,
               struct cache_pin *out, struct fault *fault)
{
    const struct view_piece piece = { .chunk_no = at->chunk_no,
                                      .off = at->off + off,
                                      .span = len,
                                      .once = at->once };

    return file_pin(at->file, &piece, at->wait, out, fault);
}

/* Copy a block to the scratch, because the cache does not keep it in one
   piece. */
static int assemble(struct reader *reader, const struct region_at *at,
                    struct fault *fault)
{
    uint32_t len = reader->job->plan->block_nbytes;
    struct cache *cache = at->file->constant.context->cache;
    uint32_t done = 0;
    int r = need_scratch(reader, fault);

    while (done < len && r == 0) {
        struct cache_pin pin;

        r = region_pin(at, done, len - done, &pin, fault);
        if (r < 0)
            break;
        if (pin.data) {
            memcpy(reader->scratch + done, pin.data, pin.len);
            done += pin.len;
        } else {
            fill(reader, pin.chunk, at->off);
            done = len;
        }
        cache_unpin(cache, &pin, 1);
    }
    return r;
}

/* Return the number of blocks from the one with number `i` on that follow one
   another in the chunk, and are read together. */
static uint32_t count_run(const struct job *job, const struct slice *slice,
                          uint64_t i)
{
    const struct region_plan *plan = job->plan;
    uint32_t most = RUN_MAX / plan->block_nbytes;
    uint32_t first = region_block_no(plan, &slice->chunk, i);
    uint32_t n = 1;

    while (n < most && i + n < slice->end &&
           region_block_no(plan, &slice->chunk, i + n) == first + n)
        n++;
    return n;
}

/* Copy the items of blocks that are all in memory. */
static void load_blocks(const struct reader *reader, const struct slice *slice,
                        uint64_t i, uint32_t n, const uint8_t *blocks)
{
    const struct region_plan *plan = reader->job->plan;

    for (uint32_t k = 0; k < n; k++) {
        struct region_block part;

        region_find_block(plan, &slice->chunk, i + k, &part);
        region_load(&part, blocks, reader->job->memory);
        blocks += plan->block_nbytes;
    }
}

/* Read some of `n` blocks that follow one another.  Returns how many, or an
   error. */
static int read_some(struct reader *reader, const struct slice *slice,
                     uint64_t i, uint32_t n, struct fault *fault)
{
    const struct region_plan *plan = reader->job->plan;
    struct file *file = reader->job->file;
    uint32_t block_no = region_block_no(plan, &slice->chunk, i);
    struct region_at at = { file, slice->chunk.chunk_no,
                            block_no * plan->block_nbytes, reader->wait,
                            reader->job->once };
    struct cache_pin pin;
    int r = region_pin(&at, 0, n * plan->block_nbytes, &pin, fault);

    if (r < 0)
        return r;
    n = pin.len / plan->block_nbytes;
    if (pin.data && n > 0)
        load_blocks(reader, slice, i, n, pin.data);
    cache_unpin(file->constant.context->cache, &pin, 1);
    if (pin.data && n > 0)
        return (int)n;
    r = assemble(reader, &at, fault);
    if (r < 0)
        return r;
    load_blocks(reader, slice, i, 1, reader->scratch);
    return 1;
}

static int read_slice(struct reader *reader, const struct slice *slice,
                      struct fault *fault)
{
    struct job *job = reader->job;
    uint64_t i = slice->first;

    *fault = FAULT_NONE;
    while (i < slice->end) {
        uint32_t n = count_run(job, slice, i);

        while (n > 0) {
            int r = read_some(reader, slice, i, n, fault);

            if (r < 0)
                return r;
            i += (uint32_t)r;
            n -= (uint32_t)r;
        }
    }
    if (job->drop_behind)
        cache_drop_behind(job->file->constant.context->cache,
                          &job->file->chunks, slice->chunk.chunk_no,
                          slice->chunk.chunk_no + 1);
    return 0;
}

static void find_slice(const struct job *job, uint64_t no, struct slice *out)
{
    uint64_t part = no % job->nparts;

    region_find_chunk(job->plan, no / job->nparts, &out->chunk);
    out->first = out->chunk.nblocks * part / job->nparts;
    out->end = out->chunk.nblocks * (part + 1) / job->nparts;
}

/* Note the result of a slice, and take the next one.  Returns false if there is
   none, or one has failed. */
static bool take_slice(struct job *job, int error, const struct fault *fault,
                       uint64_t *no)
{
    bool more;

    pthread_mutex_lock(&job->pool.lock);
    if (error < 0 && job->error == 0) {
        job->error = error;
        *job->fault = *fault;
    }
    more = job->error == 0 && job->next < job->nslices;
    if (more)
        *no = job->next++;
    pthread_mutex_unlock(&job->pool.lock);
    return more;
}

/* Read slices until there are no more.  Returns the number of one for which
   there was no memory, without waiting, or job.nslices. */
static uint64_t read_slices(struct job *job, enum cache_wait wait)
{
    struct reader reader = { .job = job, .wait = wait };
    struct fault fault = FAULT_NONE;
    uint64_t left = job->nslices;
    struct slice slice;
    uint64_t no;
    int r = 0;

    while (take_slice(job, r, &fault, &no)) {
        find_slice(job, no, &slice);
        r = read_slice(&reader, &slice, &fault);
        if (r == -EAGAIN) {
            left = no;
            break;
        }
    }
    free(reader.scratch);
    return left;
}

/* The thread that wants the region waits for memory; others leave a slice. */
static void work(struct pool_job *pool_job, unsigned no)
{
    struct job *job = (struct job *)(void *)pool_job;

    if (no == 0)
        read_slices(job, CACHE_WAIT_MEMORY);
    else
        job->left[no - 1] = read_slices(job, CACHE_WAIT_DECODE);
}

/* Read the slices that tasks have left. */
static void read_left(struct job *job, unsigned ntasks)
{
    struct reader reader = { .job = job, .wait = CACHE_WAIT_MEMORY };

    for (unsigned i = 0; i < ntasks && job->error == 0; i++) {
        struct slice slice;

        if (job->left[i] == job->nslices)
            continue;
        find_slice(job, job->left[i], &slice);
        job->error = read_slice(&reader, &slice, job->fault);
    }
    free(reader.scratch);
}

/* Return how many threads are to read `nbytes` of blocks of each chunk. */
static unsigned count_threads(const struct job *job, uint64_t nbytes)
{
    unsigned n = job->file->constant.context->nthreads;
    uint64_t all;

    if (job->nslices < n)
        n = (unsigned)job->nslices;
    if (size_mul(nbytes, job->plan->nchunks, &all) && all / THREAD_MIN < n)
        n = (unsigned)(all / THREAD_MIN);
    return n > 0 ? n : 1;
}

/* Cut the work into slices.  Returns the number of tasks that help this
   thread. */
static unsigned cut_work(struct job *job)
{
    const struct region_plan *plan = job->plan;
    const struct file_context *context = job->file->constant.context;
    uint64_t wanted = (uint64_t)TASK_SLICES * context->nthreads;
    struct region_chunk chunk;
    uint64_t nbytes;

    region_find_chunk(plan, plan->nchunks / 2, &chunk);
    nbytes = chunk.nblocks * plan->block_nbytes;
    job->drop_behind = context->cache_size / 2 / nbytes < plan->nchunks;
    job->nparts = 1;
    if (plan->nchunks < wanted && !job->drop_behind)
        job->nparts = (wanted + plan->nchunks - 1) / plan->nchunks;
    if (job->nparts > chunk.nblocks)
        job->nparts = chunk.nblocks;
    job->nslices = plan->nchunks * job->nparts;
    return count_threads(job, nbytes) - 1;
}

static int read_together(struct job *job, unsigned ntasks)
{
    int r;

    job->left = malloc((ntasks + 1) * sizeof(*job->left));
    for (unsigned i = 0; job->left && i < ntasks; i++)
        job->left[i] = job->nslices;
    r = job->left
            ? pool_run(job->file->constant.context->pool, &job->pool, ntasks)
            : -ENOMEM;
    if (r == 0)
        read_left(job, ntasks);
    else
        fault_set(job->fault, r, 0, NULL);
    free(job->left);
    return r < 0 ? r : job->error;
}

/* Is a region at most a block away from the one that was read before?  Then the
   next one may want the same blocks. */
static bool follow(struct file *file, struct region_reader *reader,
                   const struct region_plan *plan)
{
    pthread_mutex_t *lock = &file->constant.context->readers_lock;
    bool near = true;

    pthread_mutex_lock(lock);
    for (unsigned i = 0; i < plan->ndim; i++) {
        uint64_t start = plan->region.start[i];
        uint64_t end = start + plan->region.count[i];
        uint32_t block = plan->dims[i].block;

        near &=
            start <= reader->end[i] + block && reader->start[i] <= end + block;
        reader->start[i] = start;
        reader->end[i] = end;
    }
    pthread_mutex_unlock(lock);
    return near;
}

static uint64_t count_bytes(const struct region_plan *plan)
{
    uint64_t nbytes = plan->itemsize;

    for (unsigned i = 0; i < plan->ndim; i++)
        nbytes *= plan->region.count[i];
    return nbytes;
}

int region_plan_of(struct file *file, const struct region *region, bool padded,
                   struct region_plan *out, struct fault *fault)
{
    if (!file->constant.array)
        return fault_set(fault, -ENODATA, 0,
                         "not an array, or not opened as one");
    if (region_plan_init(out, file->constant.array, region, padded) < 0)
        return fault_set(fault, -ERANGE, 0, "the array has no such items");
    return 0;
}

int file_region_read(struct file *file, struct region_reader *reader,
                     const struct region *region, uint8_t *memory,
                     struct fault *fault)
{
    struct region_plan plan;
    struct job job = { .pool = { .run = work },
                       .file = file,
                       .plan = &plan,
                       .memory = memory,
                       .fault = fault };
    int r = region_plan_of(file, region, false, &plan, fault);

    if (r < 0 || plan.nchunks == 0)
        return r;
    job.once = reader && !follow(file, reader, &plan);
    r = read_together(&job, cut_work(&job));
    if (r == 0)
        counter_add(&file->constant.context->counters.read, count_bytes(&plan));
    return r;
}
