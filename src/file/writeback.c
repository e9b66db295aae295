/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/writeback.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "file/encode.h"
#include "file/new_frame.h"
#include "file/reload.h"

enum {
    DEFAULT_CHUNKSIZE = 1 << 20, /* of frames that leave it open */
    LOOSE_MIN = 1 << 20,         /* bytes that no frame is made shorter for */
    ENCODE_TRIES = 2,            /* as those encoded ahead may be out of date */
};

/* A commit on its way. */
struct round {
    struct file *file;
    uint64_t nbytes;     /* size of the file that it makes durable */
    struct frame *frame; /* the state that came of it */
    bool reshapes;       /* see struct writeback_edit */
};

/* Become the committer, beside whom there is no reshaper but `reshaping`. */
static void enter(struct file *file, bool reshaping)
{
    pthread_mutex_lock(&file->lock);
    while (file->committing || (file->reshaping && !reshaping))
        pthread_cond_wait(&file->changed, &file->lock);
    file->committing = true;
    pthread_mutex_unlock(&file->lock);
}

static void leave(struct file *file)
{
    pthread_mutex_lock(&file->lock);
    file->committing = file->collecting = false;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
}

/* From here on nobody else encodes, */
static void begin_collecting(struct file *file)
{
    pthread_mutex_lock(&file->lock);
    file->collecting = true;
    while (file->nencoders > 0)
        pthread_cond_wait(&file->changed, &file->lock);
    pthread_mutex_unlock(&file->lock);
}

/* and here they may again. */
static void end_collecting(struct file *file)
{
    pthread_mutex_lock(&file->lock);
    file->collecting = false;
    pthread_mutex_unlock(&file->lock);
}

/* What chunks of this frame are to be like. */
static int begin_frame(struct file *file, struct fault *fault)
{
    const struct frame_info *info = frame_change_get_info(file->change);
    int r;

    file->params = frame_chunk_params(info);
    r = chunk_params_check(&file->params);
    if (r < 0)
        return fault_set(fault, -ENOTSUP, 0,
                         "chunks of this kind can be read, but not made");
    if (info->vlblocks)
        return fault_set(fault, -ENOTSUP, 0,
                         "frames of blocks of variable size are not changed");
    if (frame_change_is_variable(file->change))
        return 0;
    if (info->chunksize > 0) {
        file->grid = info->chunksize;
        return 0;
    }
    file->undecided = true;
    file->grid = info->typesize < DEFAULT_CHUNKSIZE
                     ? DEFAULT_CHUNKSIZE - DEFAULT_CHUNKSIZE % info->typesize
                     : info->typesize;
    return 0;
}

static int unstick(struct file *file, struct fault *fault)
{
    int r;

    file_enter_alone(file);
    r = file->stuck < 0 ? reload_frame(file, fault) : 0;
    file_leave_alone(file);
    return r;
}

int writeback_begin(struct file *file, struct fault *fault)
{
    int r = 0;

    if (!file->writable)
        return fault_set(fault, -EROFS, 0, NULL);
    if (file->begun)
        return file->stuck < 0 ? unstick(file, fault) : 0;
    enter(file, false);
    if (!file->begun) {
        r = frame_change_open(file->state->frame, &file->change, fault);
        if (r == 0)
            r = begin_frame(file, fault);
        if (r == 0) {
            file->begun = true;
        } else {
            frame_change_close(file->change);
            file->change = NULL;
        }
    }
    leave(file);
    return r;
}

static uint32_t size_of(const struct round *round, uint64_t chunk_no)
{
    uint64_t grid = round->file->grid;
    uint64_t rest = round->nbytes - chunk_no * grid;

    return (uint32_t)(rest < grid ? rest : grid);
}

/* Put zeros for a chunk. */
static int put_zeros(struct round *round, uint64_t chunk_no,
                     struct fault *fault)
{
    struct frame_change *change = round->file->change;
    struct frame_written written;
    int r = frame_change_write_zeros(change, size_of(round, chunk_no), &written,
                                     fault);

    if (r == 0)
        r = frame_change_put(change, chunk_no, &written);
    return r;
}

/* Let the change know of chunks that became zeros.  From here on it does. */
static int apply_zeros(struct round *round, struct fault *fault)
{
    struct file *file = round->file;
    const struct frame_info *info = frame_change_get_info(file->change);
    struct ranges zeros;
    int r;

    pthread_mutex_lock(&file->lock);
    r = ranges_reserve(&file->applied, file->zeros.n);
    zeros = file->zeros;
    if (r == 0) {
        for (size_t i = 0; i < zeros.n; i++)
            ranges_add(&file->applied, zeros.list[i].first, zeros.list[i].end);
        file->zeros = (struct ranges){ 0 };
    }
    pthread_mutex_unlock(&file->lock);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);

    for (size_t i = 0; i < zeros.n && r == 0; i++)
        for (uint64_t chunk_no = zeros.list[i].first;
             chunk_no < zeros.list[i].end && chunk_no < info->nchunks && r == 0;
             chunk_no++)
            r = put_zeros(round, chunk_no, fault);
    ranges_fini(&zeros);
    return r;
}

/* Put a chunk that was encoded.  Sets `*again` if it must be encoded anew. */
static int put_encoded(struct file *file, struct encoded *one, bool *again)
{
    struct cache *cache = file->context->cache;
    struct cache_taken taken = one->taken;
    int r = frame_change_put(file->change, taken.chunk_no, &one->written);

    if (r == -ERANGE)
        return 0;
    if (r == -ENOMEM)
        return r;
    list_remove(&one->node);
    if (r == 0) {
        cache_stage(cache, &taken);
        return 0;
    }
    frame_change_drop(file->change, &one->written);
    cache_untake(cache, &taken);
    *again = true;
    return 0;
}

/* Put the chunks that were encoded, as far as the frame has them.  Nobody else
   looks at their list meanwhile. */
static int put_all_encoded(struct file *file, bool *again)
{
    int r = 0;

    list_for_each_safe(node, &file->encoded) {
        r = put_encoded(file, list_entry(node, struct encoded, node), again);
        if (r < 0)
            break;
    }
    return r;
}

/* Make the change what the file is, unless some chunks must be encoded anew. */
static int apply(struct round *round, bool *again, struct fault *fault)
{
    struct file *file = round->file;
    struct frame_change *change = file->change;
    const struct frame_info *info = frame_change_get_info(change);
    uint64_t nchunks = info->nchunks;
    int r = 0;

    if (file->grid > 0)
        nchunks = size_pieces(round->nbytes, file->grid);
    if (info->nchunks > nchunks)
        r = frame_change_delete(change, nchunks, info->nchunks - nchunks);
    if (r == 0 && file->grid > 0)
        r = apply_zeros(round, fault);
    if (r == 0)
        r = put_all_encoded(file, again);
    if (r == 0 && !*again && file->grid > 0)
        r = frame_change_resize(change, round->nbytes, fault);
    if (r == 0 && !*again)
        r = put_all_encoded(file, again);
    return r < 0 && !fault->what ? fault_set(fault, r, 0, NULL) : r;
}

/* May chunks lie elsewhere than in the state before? */
static bool has_moved(const struct file *file, struct frame *frame)
{
    const struct file_state *old = file->state;
    const struct store_stat *before = frame_get_stat(old->frame);
    const struct store_stat *now = frame_get_stat(frame);

    return old->epoch == 0 || file->sunk ||
           (!frame_get_info(frame)->sparse && before->ino != now->ino);
}

/* The new state is there: from here on readers see it. */
static void switch_state(struct round *round, struct file_state *state)
{
    struct file *file = round->file;
    struct cache *cache = file->context->cache;
    struct file_state *old = file->state;
    bool may_be_short;

    *state = (struct file_state){
        .nrefs = 1,
        .frame = round->frame,
        .epoch = old->epoch + has_moved(file, round->frame),
    };
    if (round->reshapes)
        round->nbytes = frame_get_info(round->frame)->nbytes;
    cache_outdate(cache, &file->chunks);
    pthread_mutex_lock(&file->lock);
    list_append(&file->states, &state->node);
    file->state = state;
    file->applied.n = 0;
    file->sunk = false;
    if (round->reshapes)
        file->nbytes = round->nbytes;
    file->reshaped = file->nbytes != round->nbytes || file->zeros.n > 0;
    may_be_short = file->nbytes != round->nbytes || file->extending;
    pthread_mutex_unlock(&file->lock);
    /* What was written behind the size of this commit, or is being written, is
       not in it. */
    if (may_be_short && file->grid > 0 && round->nbytes % file->grid != 0)
        cache_soil(cache, &file->chunks, round->nbytes / file->grid);
    cache_settle(cache, &file->chunks);
    if (round->reshapes)
        cache_retire(cache, &file->chunks, 0, UINT64_MAX);
    file_state_put(file, old);
}

static int commit_change(struct round *round, struct fault *fault)
{
    struct file_state *state = calloc(1, sizeof(*state));
    int r;

    if (!state)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_change_commit(round->file->change, &round->frame, fault);
    if (r < 0) {
        free(state);
        return r;
    }
    round->file->fleeting = false;
    switch_state(round, state);
    return 0;
}

/* Errors that concern some chunks only. */
static bool is_partial(int error)
{
    return error == -EBADMSG || error == -ENOTSUP;
}

static int run_reshape(struct round *round, const struct writeback_edit *edit,
                       struct fault *fault)
{
    struct file *file = round->file;
    struct fault ignored;
    int r = edit->run(file->change, edit, fault);

    if (r < 0)
        return r;
    round->reshapes = true;
    r = commit_change(round, fault);
    if (r < 0 &&
        frame_change_reopen(&file->change, file->state->frame, &ignored) < 0)
        file->stuck = r;
    return r;
}

/* Before anything is written to where a frame has nothing: do others have?  Not
   all ways in which they may change it are seen. */
static int check_own(struct file *file, struct fault *fault)
{
    int r = frame_change_check(file->change);

    return r == -ESTALE ? fault_set(fault, r, 0, NULL) : 0;
}

/* Encode what is dirty, and make it part of the change.  What some chunks
   alone are to blame for goes to `*partial`. */
static int collect(struct round *round, int *partial,
                   struct fault *partial_fault, struct fault *fault)
{
    struct file *file = round->file;
    bool again = true;
    int r = check_own(file, fault);

    for (int i = 0; i < ENCODE_TRIES && r == 0 && again; i++) {
        again = false;
        *partial = encode_dirty(file, round->nbytes, partial_fault);
        if (*partial < 0 && !is_partial(*partial)) {
            *fault = *partial_fault;
            return *partial;
        }
        r = apply(round, &again, fault);
    }
    return r;
}

/* Commit what was written. */
static int run_writes(struct round *round, struct fault *fault)
{
    struct fault partial_fault = FAULT_NONE;
    int partial = 0;
    int r;

    begin_collecting(round->file);
    r = collect(round, &partial, &partial_fault, fault);

    end_collecting(round->file);
    if (r == 0)
        r = commit_change(round, fault);
    if (r == 0 && partial < 0) {
        *fault = partial_fault;
        r = partial;
    }
    return r;
}

static int run_round(struct round *round, const struct writeback_edit *edit,
                     struct fault *fault)
{
    struct file *file = round->file;
    int r = 0;

    if (file->stuck < 0)
        return reload_error(file, fault);
    if (file->undecided && (round->nbytes > 0 || (edit && edit->reshapes)))
        r = new_frame_decide(file, fault);
    if (r == 0 && edit && edit->reshapes)
        return run_reshape(round, edit, fault);
    if (r == 0 && edit)
        r = edit->run(file->change, edit, fault);
    return r < 0 ? r : run_writes(round, fault);
}

/*
 * Is so much of the frame's file free that it should end at `goal`?  What is
 * encoded for the next commit would count as free.
 */
static bool is_loose(struct file *file, uint64_t *goal)
{
    struct frame_usage usage = frame_change_get_usage(file->change);
    bool waits;

    pthread_mutex_lock(&file->lock);
    waits = !list_empty(&file->encoded);
    pthread_mutex_unlock(&file->lock);
    *goal = usage.live / 2 * 3;
    return !waits && usage.used > usage.live / 4 * 7 &&
           usage.used - usage.live > LOOSE_MIN;
}

/*
 * A commit of most of a frame leaves as much space free before it as it takes.
 * Move some of it there; and then, what was in its place being free, the index
 * behind it.  If that fails it can wait.
 */
static void tighten(struct file *file)
{
    struct fault fault;
    uint64_t goal;

    for (int i = 0; i < 2 && is_loose(file, &goal); i++) {
        struct round round = { .file = file, .nbytes = file->nbytes };
        int r = frame_change_sink(file->change, goal, &fault);

        file->sunk = file->sunk || r != 0;
        if (r < 0 || run_writes(&round, &fault) < 0)
            break;
    }
}

int writeback_prepare(struct file *file, struct fault *fault)
{
    bool entered;
    int r;

    pthread_mutex_lock(&file->lock);
    entered = !file->committing && !file->reshaping;
    if (entered)
        file->committing = true;
    pthread_mutex_unlock(&file->lock);
    if (!entered)
        return file->undecided ? -EAGAIN : 0;
    r = check_own(file, fault);
    if (r == 0 && file->undecided)
        r = new_frame_decide(file, fault);
    leave(file);
    return r;
}

/* Is there anything to commit? */
static bool is_changed(struct file *file)
{
    bool reshaped;

    pthread_mutex_lock(&file->lock);
    reshaped = file->reshaped;
    pthread_mutex_unlock(&file->lock);
    return reshaped || cache_is_held(file->context->cache, &file->chunks);
}

static int commit(struct file *file, const struct writeback_edit *edit,
                  bool reshaping, struct fault *fault)
{
    struct round round = { .file = file };
    int r = 0;

    *fault = FAULT_NONE;
    enter(file, reshaping);
    round.nbytes = file->nbytes;
    if (edit || is_changed(file)) {
        r = run_round(&round, edit, fault);
        if (r == -ESTALE) {
            begin_collecting(file);
            reload_give_up(file);
            reload_error(file, fault);
        }
        if (r == 0 && !reshaping)
            tighten(file);
    }
    leave(file);
    return r;
}

int writeback_commit(struct file *file, const struct writeback_edit *edit,
                     struct fault *fault)
{
    return commit(file, edit, false, fault);
}

int writeback_reshape(struct file *file, const struct writeback_edit *edit,
                      struct fault *fault)
{
    return commit(file, edit, true, fault);
}

int writeback_flush(struct file *file)
{
    struct fault fault;
    int r = file->begun ? writeback_commit(file, NULL, &fault) : 0;

    if (r < 0) {
        pthread_mutex_lock(&file->lock);
        file->error = r;
        file->fault = fault;
        pthread_mutex_unlock(&file->lock);
    }
    return r;
}

int file_take_error(struct file *file, struct fault *fault)
{
    int r;

    pthread_mutex_lock(&file->lock);
    r = file->error;
    if (r < 0)
        *fault = file->fault;
    file->error = 0;
    pthread_mutex_unlock(&file->lock);
    return r;
}

int writeback_finish(struct file *file, struct fault *fault)
{
    struct frame_usage usage;
    struct frame *frame;
    int r;

    if (!file->begun)
        return 0;
    r = writeback_commit(file, NULL, fault);
    if (r < 0)
        return r;
    usage = frame_change_get_usage(file->change);
    if (usage.used > 2 * usage.live &&
        frame_change_compact(file->change, &frame, fault) == 0)
        frame_close(frame);
    return 0;
}

static int change_nothing(struct frame_change *change,
                          const struct writeback_edit *edit,
                          struct fault *fault)
{
    (void)change;
    (void)edit;
    (void)fault;
    return 0;
}

int file_sync(struct file *file, struct fault *fault)
{
    static const struct writeback_edit nothing = { .run = change_nothing };
    struct fault told;
    int r;

    if (!file->begun)
        return 0;
    if (file->stuck == -ESTALE)
        return reload_error(file, fault);
    r = writeback_commit(file, file->fleeting ? &nothing : NULL, fault);
    file_take_error(file, &told);
    return r;
}

bool file_is_settled(struct file *file)
{
    bool committing;

    pthread_mutex_lock(&file->lock);
    committing = file->committing;
    pthread_mutex_unlock(&file->lock);
    return !committing && !is_changed(file);
}

/* Become the committer, if there is none, and nothing to commit. */
static bool try_enter(struct file *file)
{
    bool entered;

    pthread_mutex_lock(&file->lock);
    entered = !file->committing && !file->reshaping && !file->reshaped;
    if (entered)
        file->committing = true;
    pthread_mutex_unlock(&file->lock);
    return entered;
}

/* Is the frame as it was opened?  The header is compared, too: what others
   change soon after that may not change the times. */
static bool is_as_opened(struct file *file)
{
    const struct frame_info *info = frame_get_info(file->state->frame);
    struct frame_info stored;
    struct store_stat stat;
    struct fault fault;

    return frame_read_info(file->store, 0, &stored, &stat, &fault) == 0 &&
           file_is_current(file, &stat) && stored.nbytes == info->nbytes &&
           stored.cbytes == info->cbytes && stored.frame_len == info->frame_len;
}

bool file_is_own(struct file *file)
{
    bool own;

    if (!try_enter(file))
        return true;
    if (file->begun)
        own = is_changed(file) || frame_change_check(file->change) != -ESTALE;
    else
        own = is_as_opened(file);
    leave(file);
    return own;
}

uint64_t file_dirty(struct file *file)
{
    return cache_count_unsaved(file->context->cache, &file->chunks);
}

bool file_unsaved(struct file *file, uint64_t *off, uint64_t *end)
{
    uint64_t first;
    uint64_t behind;
    bool lost;

    pthread_mutex_lock(&file->lock);
    *off = file->lost_off;
    *end = file->lost_end;
    lost = file->lost_end > 0;
    pthread_mutex_unlock(&file->lock);
    if (!cache_find_held(file->context->cache, &file->chunks, &first, &behind))
        return lost;
    *off = first * file->grid;
    *end = behind * file->grid;
    if (*end > file->nbytes || file->grid == 0)
        *end = file->nbytes;
    return true;
}
