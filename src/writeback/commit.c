/* SPDX-License-Identifier: BSD-3-Clause */
#include "writeback/commit.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/merge.h"
#include "writeback/recover.h"

enum {
    ENCODE_TRIES = 2 /* because chunks that were encoded ahead may be out of
                        date */
};

/* Let the cache count the memory that the frame writer of a file takes. */
static void count_index(struct file *file)
{
    size_t size = file->writeback->writer
                      ? frame_writer_footprint(file->writeback->writer)
                      : 0;

    cache_count_other(file->constant.context->cache,
                      &file->writeback->index_size, size);
}

void commit_leave(struct file *file)
{
    count_index(file);
    gate_leave_committer(file);
}

void commit_close_writer(struct file *file)
{
    frame_writer_close(file->writeback->writer);
    file->writeback->writer = NULL;
    count_index(file);
}

int commit_choose_params(struct file *file, struct fault *fault)
{
    struct frame_params params = { .chunksize = file->states.chunksize };
    int r = 0;

    if (file->states.params.typesize == 0) {
        uint32_t typesize;

        r = encode_choose_typesize(file, &typesize, fault);
        if (r < 0)
            return r;
        pthread_mutex_lock(&file->gate.lock);
        file->states.params.typesize = typesize;
        pthread_mutex_unlock(&file->gate.lock);
    }
    params.chunks = file->states.params;
    r = frame_writer_set_params(file->writeback->writer, &params, fault);
    if (r == 0)
        file->writeback->undecided = false;
    return r;
}

static uint32_t size_of(const struct commit *commit, uint64_t chunk_no)
{
    uint64_t chunksize = commit->file->states.chunksize;
    uint64_t rest = commit->nbytes - chunk_no * chunksize;

    return (uint32_t)(rest < chunksize ? rest : chunksize);
}

/* Put zeros for the last chunk, whose size may change. */
static int put_last_zeros(struct commit *commit, uint64_t chunk_no,
                          struct fault *fault)
{
    struct frame_writer *writer = commit->file->writeback->writer;
    struct frame_written written;
    int r = frame_writer_write_zeros(writer, size_of(commit, chunk_no),
                                     &written, fault);

    if (r < 0)
        return r;
    r = frame_writer_put(writer, chunk_no, &written);
    if (r < 0)
        frame_writer_drop(writer, &written);
    return r;
}

/* Put zeros for a run of chunks, as far as the frame has these chunks. */
static int put_zeros(struct commit *commit, uint64_t first, uint64_t end,
                     struct fault *fault)
{
    struct frame_writer *writer = commit->file->writeback->writer;
    uint64_t nchunks = frame_writer_get_info(writer)->nchunks;
    uint64_t last = end < nchunks ? end : nchunks - 1;
    int r = 0;

    if (nchunks == 0 || first >= nchunks)
        return 0;
    if (first < last)
        r = frame_writer_put_zeros(writer, first, last - first, fault);
    return r == 0 && end >= nchunks ? put_last_zeros(commit, last, fault) : r;
}

static int put_all_zeros(struct commit *commit, struct fault *fault)
{
    const struct ranges *zeros = &commit->file->states.zeros;
    int r = 0;

    for (size_t i = 0; i < zeros->n && r == 0; i++)
        r = put_zeros(commit, zeros->list[i].first, zeros->list[i].end, fault);
    return r;
}

/*
 * Pass the chunks that became zeros to the frame writer.  They are in `applied`
 * from before the first is put, and leave `zeros` when all are put; if that
 * fails, all are put again by the next commit.  Only an exclusive writer adds
 * to `zeros`, so none can come in between.
 */
static int apply_zeros(struct commit *commit, struct fault *fault)
{
    struct file *file = commit->file;
    struct ranges *zeros = &file->states.zeros;
    int r;

    pthread_mutex_lock(&file->gate.lock);
    r = ranges_reserve(&file->states.applied, zeros->n);
    for (size_t i = 0; i < zeros->n && r == 0; i++)
        ranges_add(&file->states.applied, zeros->list[i].first,
                   zeros->list[i].end);
    pthread_mutex_unlock(&file->gate.lock);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);

    r = put_all_zeros(commit, fault);
    if (r < 0)
        return r;
    pthread_mutex_lock(&file->gate.lock);
    zeros->n = 0;
    pthread_mutex_unlock(&file->gate.lock);
    return 0;
}

/* Does an encoded chunk have the size that it has in this commit?  The last
   chunk may have been encoded after the file had grown further. */
static bool has_size(const struct commit *commit, const struct encoded *one)
{
    uint64_t chunk_no = one->writeback.chunk_no;
    uint64_t chunksize = commit->file->states.chunksize;

    return chunksize == 0 ||
           chunk_no >= size_pieces(commit->nbytes, chunksize) ||
           one->written.nbytes == size_of(commit, chunk_no);
}

/* Pass an encoded chunk to the frame writer.  Sets `*again` if it must be
   encoded again. */
static int put_encoded(const struct commit *commit, struct encoded *one,
                       bool *again)
{
    struct file *file = commit->file;
    struct cache *cache = file->constant.context->cache;
    struct cache_writeback writeback = one->writeback;
    int r = has_size(commit, one)
                ? frame_writer_put(file->writeback->writer, writeback.chunk_no,
                                   &one->written)
                : -EINVAL;

    if (r == -ERANGE)
        return 0;
    /* Other errors come from reading the index, and the next try may succeed,
       so the chunk stays in the list. */
    if (r < 0 && r != -EINVAL && r != -ESTALE)
        return r;
    list_remove(&one->node);
    if (r == 0) {
        cache_stage(cache, &writeback);
        return 0;
    }
    frame_writer_drop(file->writeback->writer, &one->written);
    cache_redirty(cache, &writeback);
    *again = true;
    return 0;
}

/* Pass the encoded chunks to the frame writer, as far as the frame has them.
   No other thread uses the list meanwhile, because the committer keeps encoders
   out. */
static int put_all_encoded(const struct commit *commit, bool *again)
{
    int r = 0;

    list_for_each_safe(node, &commit->file->writeback->encoded) {
        r = put_encoded(commit, list_entry(node, struct encoded, node), again);
        if (r < 0)
            break;
    }
    return r;
}

/* Give the frame the size of the commit.  If that fails because the last chunk,
   which could not be encoded, still has another size, commit a smaller size. */
static int resize(struct commit *commit, int partial, struct fault *fault)
{
    struct frame_writer *writer = commit->file->writeback->writer;
    int r = frame_writer_resize(writer, commit->nbytes, fault);

    if (r != -EINVAL || partial == 0)
        return r;
    commit->nbytes = frame_writer_get_info(writer)->nbytes;
    return 0;
}

/* Make the frame writer match the file.  Sets `*again` if some chunks must be
   encoded again first. */
static int apply(struct commit *commit, int partial, bool *again,
                 struct fault *fault)
{
    struct file *file = commit->file;
    struct frame_writer *writer = file->writeback->writer;
    const struct frame_info *info = frame_writer_get_info(writer);
    uint64_t nchunks = info->nchunks;
    int r = 0;

    if (file->states.chunksize > 0)
        nchunks = size_pieces(commit->nbytes, file->states.chunksize);
    if (info->nchunks > nchunks)
        r = frame_writer_delete(writer, nchunks, info->nchunks - nchunks);
    if (r == 0 && file->states.chunksize > 0)
        r = apply_zeros(commit, fault);
    if (r == 0)
        r = put_all_encoded(commit, again);
    if (r == 0 && !*again && file->states.chunksize > 0)
        r = resize(commit, partial, fault);
    if (r == 0 && !*again)
        r = put_all_encoded(commit, again);
    return r < 0 && !fault->what ? fault_set(fault, r, 0, NULL) : r;
}

/* May chunks lie elsewhere than in the newest state? */
static bool has_moved(const struct file *file, struct frame *frame)
{
    const struct file_state *old = file->states.newest;
    const struct store_stat *before = frame_get_stat(old->frame);
    const struct store_stat *now = frame_get_stat(frame);

    return old->epoch == 0 || file->writeback->relocated ||
           (!frame_get_info(frame)->sparse &&
            store_version_compare(before->version, now->version) ==
                VERSION_OTHER_OBJECT);
}

/* Switch to the new state.  From here on new readers see it. */
static void switch_state(struct commit *commit, struct file_state *state)
{
    struct file *file = commit->file;
    struct cache *cache = file->constant.context->cache;
    struct file_state *old = file->states.newest;

    *state = (struct file_state){
        .nrefs = 1,
        .frame = commit->frame,
        .epoch = old->epoch + has_moved(file, commit->frame),
    };
    if (commit->moves_chunks)
        commit->nbytes = frame_get_info(commit->frame)->nbytes;
    cache_mark_stale(cache, &file->chunks);
    pthread_mutex_lock(&file->gate.lock);
    list_append(&file->states.in_use, &state->node);
    file->states.newest = state;
    file->states.applied.n = 0;
    file->writeback->relocated = false;
    if (commit->moves_chunks)
        file->states.nbytes = commit->nbytes;
    file->states.resized =
        file->states.nbytes != commit->nbytes || file->states.zeros.n > 0;
    pthread_mutex_unlock(&file->gate.lock);
    cache_mark_clean(cache, &file->chunks);
    if (commit->moves_chunks)
        cache_invalidate(cache, &file->chunks, 0, UINT64_MAX);
    file_state_put(file, old);
}

static int commit_change(struct commit *commit, struct fault *fault)
{
    struct frame_writer *writer = commit->file->writeback->writer;
    struct file_state *state = calloc(1, sizeof(*state));
    int r;

    if (!state)
        return fault_set(fault, -ENOMEM, 0, NULL);
    count_index(commit->file);
    if (atomic_exchange(&commit->file->writeback->renamed, false))
        frame_writer_note_name(writer);
    frame_writer_set_mtime(writer, commit->mtime);
    r = commit->nosync
            ? frame_writer_commit_nosync(writer, &commit->frame, fault)
            : frame_writer_commit(writer, &commit->frame, fault);
    frame_writer_set_mtime(writer, NULL);
    if (r < 0) {
        free(state);
        return r;
    }
    commit->file->writeback->not_durable = commit->nosync;
    switch_state(commit, state);
    return 0;
}

/* Does an error concern some chunks only? */
static bool is_partial(int error)
{
    return error == -EBADMSG || error == -ENOTSUP;
}

static int run_move(struct commit *commit, const struct writeback_edit *edit,
                    struct fault *fault)
{
    struct file *file = commit->file;
    struct fault ignored;
    int r = edit->run(file->writeback->writer, edit, fault);

    if (r < 0)
        return r;
    commit->moves_chunks = true;
    r = commit_change(commit, fault);
    if (r < 0 && frame_writer_reopen(&file->writeback->writer,
                                     file->states.newest->frame, &ignored) < 0)
        file->gate.failed = r;
    return r;
}

int commit_check_unchanged(struct file *file, struct fault *fault)
{
    int r = frame_writer_check(file->writeback->writer);

    return r == -ESTALE ? fault_set(fault, r, 0, NULL) : 0;
}

/* If a sync failed, its data may be lost, so encode the uncommitted chunks
   again from memory. */
static void encode_again(struct file *file)
{
    if (!frame_writer_has_lost_sync(file->writeback->writer))
        return;
    encode_drop(file, 0, UINT64_MAX);
    cache_redirty_staged(file->constant.context->cache, &file->chunks);
}

/* Encode the dirty chunks and pass them to the frame writer.  Errors that
   concern single chunks go to `*partial`. */
static int collect(struct commit *commit, int *partial,
                   struct fault *partial_fault, struct fault *fault)
{
    struct file *file = commit->file;
    bool again = true;
    int r = commit_check_unchanged(file, fault);

    encode_again(file);
    for (int i = 0; i < ENCODE_TRIES && r == 0 && again; i++) {
        again = false;
        *partial = encode_dirty(file, commit->nbytes, partial_fault);
        if (*partial < 0 && !is_partial(*partial)) {
            *fault = *partial_fault;
            return *partial;
        }
        r = apply(commit, *partial, &again, fault);
    }
    return r;
}

int commit_run_writes(struct commit *commit, struct fault *fault)
{
    struct fault partial_fault = FAULT_NONE;
    int partial = 0;
    bool empties;
    int r;

    gate_begin_collecting(commit->file);
    r = collect(commit, &partial, &partial_fault, fault);
    /* The commit of an empty frame writes where encoders may put chunks, so
       they stay out until it is done. */
    empties = commit->nbytes == 0;
    if (!empties)
        gate_end_collecting(commit->file);
    if (r == 0)
        r = commit_change(commit, fault);
    if (empties)
        gate_end_collecting(commit->file);
    if (r == 0 && partial < 0) {
        *fault = partial_fault;
        r = partial;
    }
    return r;
}

static int run(struct commit *commit, const struct writeback_edit *edit,
               struct fault *fault)
{
    struct file *file = commit->file;
    int r = 0;

    if (file->gate.failed < 0)
        return gate_failure(file, fault);
    if (file->writeback->undecided &&
        (commit->nbytes > 0 || (edit && edit->moves_chunks)))
        r = commit_choose_params(file, fault);
    if (r == 0 && edit && edit->moves_chunks)
        return run_move(commit, edit, fault);
    if (r == 0 && edit)
        r = edit->run(file->writeback->writer, edit, fault);
    if (r < 0)
        return r;
    r = commit_run_writes(commit, fault);
    if (r < 0 && edit && edit->undo)
        edit->undo(file->writeback->writer);
    return r;
}

/* Drop all uncommitted bytes, for good. */
static void invalidate(struct file *file)
{
    gate_begin_collecting(file);
    recover_invalidate(file);
}

int commit_run(struct commit *commit, const struct writeback_edit *edit,
               struct fault *fault)
{
    int r = run(commit, edit, fault);

    if (r == -ESTALE && !merge_is_possible(commit->file)) {
        invalidate(commit->file);
        gate_failure(commit->file, fault);
    }
    return r;
}

void commit_invalidate(struct file *file)
{
    gate_enter_committer(file, false);
    invalidate(file);
    commit_leave(file);
}
