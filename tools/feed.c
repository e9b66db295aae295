/* SPDX-License-Identifier: BSD-3-Clause */
#include "feed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "chunk/chunk_typesize.h"
#include "progress.h"
#include "source.h"
#include "threads.h"
#include "writeback/parallel_append.h"

static int report(const char *path, int error)
{
    source_report(path, error, &FAULT_NONE);
    return error;
}

static int choose(const uint8_t *bytes, size_t len, struct file_params *params)
{
    struct chunk_encoder *encoder;
    uint8_t *scratch = malloc(len + CHUNK_OVERHEAD_MAX);
    int r = scratch ? chunk_encoder_new(cpu_features(), &encoder) : -ENOMEM;

    if (r == 0) {
        r = chunk_choose_typesize(encoder, &params->chunk, params->chunksize,
                                  &(struct chunk_content){ bytes, len },
                                  scratch);
        chunk_encoder_free(encoder);
    }
    free(scratch);
    if (r < 0)
        return r;
    params->chunk.typesize = (uint32_t)r;
    return 0;
}

int feed_choose_typesize(struct feed *feed, const char *path,
                         struct file_params *params)
{
    uint8_t *bytes;
    ssize_t n;
    int r = 0;

    if (params->chunk.typesize != 0)
        return 0;
    bytes = malloc(params->chunksize);
    if (!bytes)
        return report(path, -ENOMEM);
    n = feed->sample(feed, bytes, params->chunksize);
    params->chunk.typesize = 1;
    if (n > 0)
        r = choose(bytes, (size_t)n, params);
    free(bytes);
    if (r < 0)
        return report(path, r);
    return n < 0 ? (int)n : 0;
}

/* Put one chunk.  Returns its size, 0 at the end, or a negative errno, which
   was reported. */
static ssize_t put_chunk(struct feed *feed, const char *path,
                         struct parallel_append *append, uint32_t chunksize)
{
    struct fault fault = FAULT_NONE;
    uint8_t *bytes;
    bool zeros;
    ssize_t n = parallel_append_get_buffer(append, &bytes, &fault);

    if (n < 0) {
        source_report(path, (int)n, &fault);
        return n;
    }
    n = feed->read(feed, bytes, chunksize, &zeros);
    if (n > 0 && zeros)
        parallel_append_put_zeros(append, (size_t)n);
    else if (n > 0)
        parallel_append_put(append, (size_t)n);
    return n;
}

static int put_all(struct feed *feed, const char *path,
                   struct parallel_append *append, uint32_t chunksize)
{
    struct fault fault = FAULT_NONE;
    struct progress progress;
    uint64_t done = 0;
    ssize_t n;
    int r;

    progress_start(&progress);
    do {
        n = put_chunk(feed, path, append, chunksize);
        done += n > 0 ? (uint64_t)n : 0;
        progress_update(&progress, done, feed->total);
    } while (n == (ssize_t)chunksize);
    progress_clear(&progress);
    if (n < 0)
        return (int)n;
    r = parallel_append_finish(append, &fault);
    if (r < 0)
        source_report(path, r, &fault);
    return r;
}

int feed_chunks(struct feed *feed, const char *path,
                struct frame_writer *writer, const struct chunk_params *params,
                uint32_t chunksize)
{
    struct parallel_append *append;
    int r = parallel_append_new(
        writer, params, &(struct parallel_size){ chunksize, threads_get() },
        &append);

    if (r < 0)
        return report(path, r);
    r = put_all(feed, path, append, chunksize);
    parallel_append_free(append);
    return r;
}
