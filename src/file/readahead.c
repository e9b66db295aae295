/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/readahead.h"

#include <errno.h>
#include <stdlib.h>

#include "file/fetch_ahead.h"
#include "file/file.h"
#include "file/file_chunk.h"
#include "file/view.h"
#include "state/file_private.h"

enum {
    STEP = 1 << 20,          /* bytes for one task */
    STREAK_MIN = 2,          /* reads in a row that make a reader sequential */
    SLACK_READS = 4,         /* distance by which reads may be out of order, in
                         reads */
    STREAMS_BYTES = 1 << 20, /* bytes that a reader reads until it counts the
                                others again */
};

/* A range of bytes to decode ahead. */
struct readahead_task {
    struct pool_task task;
    struct store_waiter waiter;       /* for its stored bytes */
    struct readahead *ahead;          /* a reference, */
    struct reader_progress *progress; /* and one of its reader */
    struct file *file;
    uint64_t off;
    uint64_t end;
};

int readahead_new(struct file *file, size_t limit, size_t least)
{
    struct readahead *ahead = calloc(1, sizeof(*ahead));

    if (!ahead)
        return -ENOMEM;
    file->constant.ahead = ahead;
    ahead->limit = limit;
    ahead->least = least;
    ahead->fetches = fetch_ahead_window(file) > 0;
    ahead->nrefs = 1;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->finished, NULL);
    return 0;
}

static void put(struct readahead *ahead)
{
    bool last;

    pthread_mutex_lock(&ahead->lock);
    last = --ahead->nrefs == 0;
    pthread_mutex_unlock(&ahead->lock);
    if (!last)
        return;
    pthread_cond_destroy(&ahead->finished);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

static void free_task(struct readahead_task *task)
{
    reader_progress_put(task->progress);
    put(task->ahead);
    free(task);
}

/* Withdraw the tasks that have not started. */
static void withdraw(struct file *file)
{
    struct list late;
    size_t n;

    list_init(&late);
    n = pool_withdraw(file->constant.context->pool, file->constant.ahead,
                      &late);
    list_for_each_safe(node, &late) {
        struct pool_task *task = list_entry(node, struct pool_task, node);

        free_task((struct readahead_task *)(void *)task);
    }
    pthread_mutex_lock(&file->constant.ahead->lock);
    file->constant.ahead->ntasks -= n;
    pthread_mutex_unlock(&file->constant.ahead->lock);
}

void readahead_free(struct file *file)
{
    struct readahead *ahead = file->constant.ahead;

    pthread_mutex_lock(&ahead->lock);
    ahead->stopping = true;
    pthread_mutex_unlock(&ahead->lock);
    withdraw(file);
    pthread_mutex_lock(&ahead->lock);
    while (ahead->ntasks > 0)
        pthread_cond_wait(&ahead->finished, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    put(ahead);
}

/* Update a reader after a read.  Returns true if this read has made it
   sequential. */
static bool note_read_locked(struct file_reader *reader, uint64_t off,
                             size_t len)
{
    uint64_t slack = (uint64_t)len * SLACK_READS;
    uint64_t end = off + len;

    if (off > reader->next_off + slack || off + slack < reader->next_off) {
        file_reader_end(reader);
        *reader = (struct file_reader){
            .next_off = end,
            .behind_off = off,
            .nfollowed = reader->nfollowed,
            .njumps = reader->njumps + 1,
        };
        return false;
    }
    reader->nfollowed++;
    if (end <= reader->next_off)
        return false;
    reader->next_off = end;
    if (reader->streak == STREAK_MIN)
        return false;
    reader->streak++;
    return reader->streak == STREAK_MIN;
}

/* Return the bytes to decode in one task: not more than the longest window,
   because plan_locked() asks for whole tasks. */
static size_t task_size(const struct readahead *ahead)
{
    return ahead->limit < STEP ? ahead->limit : STEP;
}

/* Count the readers that share the cache: while this one reads some bytes, all
   sequential readers together read as many times that as there are readers.  A
   slow reader counts many, and a fast one few; so the bytes that wait for a
   reader match what it reads. */
static void count_streams_locked(struct file_context *context,
                                 struct file_reader *reader, size_t len)
{
    if (reader->streak < STREAK_MIN || len == 0)
        return;
    if (reader->own_bytes == 0)
        reader->all_bytes = context->streamed;
    context->streamed += len;
    reader->own_bytes += len;
    if (reader->own_bytes < STREAMS_BYTES)
        return;
    reader->nstreams =
        (context->streamed - reader->all_bytes + reader->own_bytes - 1) /
        reader->own_bytes;
    context->nstreams = reader->nstreams;
    reader->own_bytes = 0;
}

/*
 * The longest window of a reader.  Bytes that were decoded ahead and evicted
 * are decoded twice; so what all readers need fits in the cache, with the
 * chunks that they are in and those that are about to be released.
 */
static size_t window_max_locked(const struct file *file,
                                const struct file_reader *reader, size_t len)
{
    const struct file_context *context = file->constant.context;
    const struct readahead *ahead = file->constant.ahead;
    uint64_t nstreams =
        reader->nstreams > 0 ? reader->nstreams : context->nstreams;
    uint64_t used = 2 * (uint64_t)ahead->least + SLACK_READS * (uint64_t)len;
    uint64_t room = context->cache_size - context->cache_size / 4;

    if (nstreams <= 1)
        return ahead->limit;
    room /= nstreams;
    room = room > used ? room - used : 0;
    return room < ahead->limit ? (size_t)room : ahead->limit;
}

/* Choose the bytes to decode next.  There are none while half a window is still
   ahead of the reader. */
static void plan_locked(const struct file *file, struct file_reader *reader,
                        size_t len, uint64_t *from, uint64_t *to)
{
    uint64_t size = file_size(file);
    size_t step = task_size(file->constant.ahead);
    size_t max = window_max_locked(file, reader, len);

    *from = *to = 0;
    if (reader->streak < STREAK_MIN)
        return;
    if (reader->window == 0)
        reader->window = file->constant.ahead->least > step
                             ? file->constant.ahead->least
                             : step;
    if (reader->window > max)
        reader->window = max;
    if (reader->ahead_off < reader->next_off)
        reader->ahead_off = reader->next_off;
    if (reader->ahead_off - reader->next_off >= reader->window / 2)
        return;

    *from = *to = reader->ahead_off;
    if (max < step)
        return;
    *to = reader->next_off + reader->window;
    *to = *to >= size ? size : *to - *to % step;
    if (*to > *from) {
        reader->ahead_off = *to;
        reader->window *= 2;
    }
}

/* Return the end of the bytes that a reader has finished with. */
static uint64_t passed_locked(const struct file_reader *reader, size_t len)
{
    uint64_t slack = (uint64_t)len * SLACK_READS;

    return reader->next_off > slack ? reader->next_off - slack : 0;
}

/*
 * Choose bytes that a reader has finished with, some chunks at a time, if the
 * file is larger than half of the cache.  Keeping them would only evict
 * everything else, and if the cache reuses the buffers of a few chunks, they
 * stay in the CPU's cache.
 */
static void plan_behind_locked(const struct file *file,
                               struct file_reader *reader, size_t len,
                               uint64_t *from, uint64_t *to)
{
    uint64_t passed = passed_locked(reader, len);

    *from = *to = reader->behind_off;
    if (reader->streak < STREAK_MIN ||
        file_size(file) <= file->constant.context->cache_size / 2 ||
        passed < reader->behind_off + file->constant.ahead->least)
        return;
    *to = reader->behind_off = passed;
}

/* Release the chunks that end in a range of bytes. */
static void let_go(struct file *file, uint64_t from, uint64_t to)
{
    uint64_t first;
    uint64_t end;
    struct fault fault;

    if (view_passed(file, from, &first, &fault) == 0 &&
        view_passed(file, to, &end, &fault) == 0)
        cache_drop_behind(file->constant.context->cache, &file->chunks, first,
                          end);
}

/* Is a task to go on?  If the pool is late, the reader has already decoded the
   bytes itself, and finished with them. */
static bool is_wanted(const struct readahead_task *task)
{
    bool stopping;

    pthread_mutex_lock(&task->ahead->lock);
    stopping = task->ahead->stopping;
    pthread_mutex_unlock(&task->ahead->lock);
    return !stopping && !reader_progress_is_past(task->progress, task->off);
}

/* Bring the blocks of a piece into the cache. */
static int decode_piece(struct file *file, struct view_piece *piece)
{
    struct fault fault;
    struct cache_pin pin;

    while (piece->span > 0) {
        int r = file_pin(file, piece, CACHE_WAIT_NEVER, &pin, &fault);

        if (r < 0)
            return r;
        piece->off += pin.len;
        piece->span -= pin.len;
        cache_unpin(file->constant.context->cache, &pin, 1);
    }
    return 0;
}

static void end_task(struct readahead_task *task)
{
    struct readahead *ahead = task->ahead;

    pthread_mutex_lock(&ahead->lock);
    if (--ahead->ntasks == 0)
        pthread_cond_signal(&ahead->finished);
    pthread_mutex_unlock(&ahead->lock);
    free_task(task);
}

/* Errors are ignored, because the reader gets them when it comes to these
   bytes. */
static void run_task(struct pool_task *pool_task)
{
    struct readahead_task *task = (struct readahead_task *)(void *)pool_task;
    struct file *file = task->file;
    struct fault fault;

    while (task->off < task->end && is_wanted(task)) {
        struct view_piece piece;
        int r =
            view_locate(file, task->off, task->end - task->off, &piece, &fault);

        if (r == 0)
            r = decode_piece(file, &piece);
        if (r < 0)
            break;
        task->off += piece.row;
    }
    end_task(task);
}

/* Put a task into the pool, once its bytes are there.  If they cannot be had,
   or if there is no memory for them, the reader has to ask for them. */
static void take_task(struct store_waiter *waiter)
{
    struct readahead_task *task =
        list_entry(waiter, struct readahead_task, waiter);
    struct readahead *ahead = task->ahead;
    bool wanted;

    pthread_mutex_lock(&ahead->lock);
    wanted = !ahead->stopping && !waiter->failed;
    ahead->ntasks += wanted;
    pthread_mutex_unlock(&ahead->lock);
    if (wanted)
        pool_submit(task->file->constant.context->pool, &task->task);
    else
        free_task(task);
}

static void submit(struct file *file, struct file_reader *reader, uint64_t off,
                   uint64_t end)
{
    struct readahead *ahead = file->constant.ahead;
    struct readahead_task *task = malloc(sizeof(*task));
    struct reader_progress *progress;

    pthread_mutex_lock(&file->constant.context->readers_lock);
    progress = reader_progress_get(reader);
    pthread_mutex_unlock(&file->constant.context->readers_lock);
    if (!task || !progress) {
        reader_progress_put(progress);
        free(task);
        return;
    }
    *task =
        (struct readahead_task){ .task = { .run = run_task, .owner = ahead },
                                 .ahead = ahead,
                                 .progress = progress,
                                 .file = file,
                                 .off = off,
                                 .end = end };
    pthread_mutex_lock(&ahead->lock);
    ahead->nrefs++;
    pthread_mutex_unlock(&ahead->lock);
    store_waiter_begin(&task->waiter, take_task);
    if (ahead->fetches && fetch_ahead(file, off, end, &task->waiter) < end)
        atomic_store(&task->waiter.failed, true);
    store_waiter_asked(&task->waiter);
}

/* Choose the bytes to fetch next, behind those that are decoded. */
static void plan_fetch_locked(struct file *file, struct file_reader *reader,
                              uint64_t window, uint64_t *from, uint64_t *to)
{
    uint64_t size = file_size(file);

    *from = *to = 0;
    if (reader->streak < STREAK_MIN)
        return;
    if (reader->fetch_off < reader->ahead_off)
        reader->fetch_off = reader->ahead_off;
    if (reader->fetch_off + STEP > reader->ahead_off + window)
        return;
    *from = reader->fetch_off;
    *to = reader->ahead_off + window;
    if (*to > size)
        *to = size;
    if (*to < *from)
        *to = *from;
    reader->fetch_off = *to;
}

/* Fetch ahead of a reader.  If there is no memory, the reader tries again as it
   goes on. */
static void fetch(struct file *file, struct file_reader *reader)
{
    pthread_mutex_t *lock = &file->constant.context->readers_lock;
    uint64_t window = fetch_ahead_window(file);
    uint64_t done;
    uint64_t from;
    uint64_t to;

    pthread_mutex_lock(lock);
    plan_fetch_locked(file, reader, window, &from, &to);
    pthread_mutex_unlock(lock);
    if (from == to)
        return;
    done = fetch_ahead(file, from, to, NULL);
    if (done >= to)
        return;
    pthread_mutex_lock(lock);
    if (reader->fetch_off == to)
        reader->fetch_off = done;
    pthread_mutex_unlock(lock);
}

void readahead_follow(struct file *file, struct file_reader *reader,
                      uint64_t off, size_t len)
{
    struct readahead *ahead = file->constant.ahead;
    size_t step = task_size(ahead);
    uint64_t behind;
    uint64_t done;
    uint64_t from;
    uint64_t to;
    bool begun;

    if (!reader || ahead->limit == 0)
        return;

    pthread_mutex_lock(&file->constant.context->readers_lock);
    begun = note_read_locked(reader, off, len);
    reader_progress_note(reader, passed_locked(reader, len));
    count_streams_locked(file->constant.context, reader, len);
    plan_behind_locked(file, reader, len, &behind, &done);
    plan_locked(file, reader, len, &from, &to);
    pthread_mutex_unlock(&file->constant.context->readers_lock);

    if (begun &&
        view_is_wide(file->constant.view, file->constant.context->cache_size))
        counter_add(&file->constant.context->counters.wide, 1);
    if (behind < done)
        let_go(file, behind, done);
    while (from < to) {
        uint64_t next = from - from % step + step;

        if (next > to)
            next = to;
        submit(file, reader, from, next);
        from = next;
    }
    if (ahead->fetches)
        fetch(file, reader);
}
