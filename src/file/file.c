/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "file/file_private.h"

enum {
    AHEAD_PART = 4,          /* part of the cache that one reader may fill */
    OPEN_TRIES = 20,         /* while the frame is being written */
    OPEN_PAUSE_NS = 1000000, /* between two of them */
    RECENT_SECONDS = 2,      /* age of a file that may still be written */
};

const struct file_options file_default_options = {
    .cache_size = (size_t)256 << 20,
    .nthreads = 0,
    .readahead = (size_t)8 << 20,
};

int file_context_new(const struct file_options *options,
                     struct file_context **out)
{
    struct file_context *context = calloc(1, sizeof(*context));
    size_t ahead_max = options->cache_size / AHEAD_PART;
    unsigned nthreads = options->nthreads;
    int r;

    if (!context)
        return -ENOMEM;

    pthread_mutex_init(&context->readers_lock, NULL);
    if (nthreads == 0)
        nthreads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    context->readahead =
        options->readahead < ahead_max ? options->readahead : ahead_max;
    r = cache_new(options->cache_size, &context->cache);
    if (r == 0)
        r = decoders_init(&context->decoders, nthreads + 1);
    if (r == 0)
        r = pool_new(nthreads, &context->pool);
    if (r < 0) {
        file_context_free(context);
        return r;
    }

    *out = context;
    return 0;
}

void file_context_free(struct file_context *context)
{
    if (!context)
        return;

    pool_free(context->pool);
    decoders_fini(&context->decoders);
    cache_free(context->cache);
    pthread_mutex_destroy(&context->readers_lock);
    free(context);
}

/* The state of a frame's file, or of its index file. */
static int stat_store(struct store *store, struct store_stat *out)
{
    struct store_object *object;
    int r;

    if (store_is_directory(store)) {
        r = store_open(store, frame_index_names[0], &object);
        if (r == -ENOENT)
            r = store_open(store, frame_index_names[1], &object);
    } else {
        r = store_open(store, "", &object);
    }
    if (r < 0)
        return r;

    r = store_object_stat(object, out);
    store_object_close(object);
    return r;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_stat(const struct store_stat *a, const struct store_stat *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           same_time(a->mtime, b->mtime) && same_time(a->ctime, b->ctime);
}

static bool is_recent(const struct store_stat *stat)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return llabs(now.tv_sec - stat->mtime.tv_sec) <= RECENT_SECONDS;
}

/*
 * May a frame that was refused be half-way through a change?  `last` is its
 * state before the attempt, and receives the one after it.
 */
static bool may_settle(struct store *store, struct store_stat *last)
{
    struct store_stat now;
    bool changed;

    if (stat_store(store, &now) < 0)
        return false;
    changed = !same_stat(&now, last);
    *last = now;
    return changed || is_recent(&now);
}

/* Open a frame, again and again while another program writes it. */
static int open_frame(struct store *store, uint64_t base, struct frame **out,
                      struct fault *fault)
{
    const struct timespec pause = { .tv_nsec = OPEN_PAUSE_NS };
    struct store_stat stat = { 0 };
    int r = stat_store(store, &stat);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);

    for (int tries = 1;; tries++) {
        r = frame_open(store, base, out, fault);
        if ((r != -EBADMSG && r != -ENODATA) || tries == OPEN_TRIES ||
            !may_settle(store, &stat))
            return r;
        nanosleep(&pause, NULL);
    }
}

int file_open(struct file_context *context, struct store *store, uint64_t base,
              struct file **out, struct fault *fault)
{
    struct file *file = calloc(1, sizeof(*file));
    int r;

    if (!file)
        return fault_set(fault, -ENOMEM, 0, NULL);

    r = open_frame(store, base, &file->frame, fault);
    if (r < 0) {
        free(file);
        return r;
    }
    file->context = context;
    cache_file_init(&file->chunks, &file_chunk_ops);
    readahead_init(&file->ahead, context->readahead);

    *out = file;
    return 0;
}

void file_close(struct file *file)
{
    if (!file)
        return;

    readahead_fini(&file->ahead);
    cache_file_drop(file->context->cache, &file->chunks);
    frame_close(file->frame);
    free(file);
}

bool file_is_current(const struct file *file, const struct store_stat *now)
{
    return same_stat(frame_get_stat(file->frame), now);
}

struct frame *file_frame(struct file *file)
{
    return file->frame;
}

uint64_t file_size(const struct file *file)
{
    return frame_get_info(file->frame)->nbytes;
}

int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault)
{
    struct frame_span span;
    uint64_t chunk_no;
    int r;

    if (off >= file_size(file))
        return -ENXIO;

    r = frame_locate(file->frame, off, &span, fault);
    if (r < 0)
        return r;
    r = frame_next(file->frame, span.chunk_no, hole, &chunk_no, fault);
    if (r < 0)
        return r;
    if (chunk_no == span.chunk_no) {
        *out = off;
        return 0;
    }

    r = frame_span_of(file->frame, chunk_no, &span, fault);
    if (r == -ERANGE && !hole)
        return -ENXIO;
    if (r < 0 && r != -ERANGE)
        return r;
    *out = r == 0 ? span.off : file_size(file);
    return 0;
}
