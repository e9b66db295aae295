/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/file.h"

#include <errno.h>
#include <stdlib.h>

#include "file/file_chunk.h"
#include "file/new_frame.h"
#include "file/readahead.h"
#include "file/view.h"
#include "frame/frame_object.h"
#include "state/file_private.h"
#include "store/store_local.h"
#include "store/store_settling.h"
#include "writeback/encode.h"
#include "writeback/file_writeback.h"
#include "writeback/frame_lock.h"
#include "writeback/lease.h"
#include "writeback/lock_file.h"
#include "writeback/writeback.h"

int file_view_size(struct frame *frame, const struct view_spec *spec,
                   uint64_t *size, struct fault *fault)
{
    struct view view;
    int r = view_init(&view, spec, frame, fault);

    if (r < 0)
        return r;
    *size = view_size(&view, frame_get_info(frame)->nbytes);
    view_fini(&view);
    return 0;
}

int file_peek(const struct file_context *context, struct store *store,
              uint64_t base, struct file_peek *out, struct fault *fault)
{
    const struct view_spec spec = { .view = context->view };
    struct frame *frame;
    int r = frame_open_header(store, base, &frame, fault);

    if (r < 0)
        return r;
    r = file_view_size(frame, &spec, &out->size, fault);
    if (r == 0)
        out->info = *frame_get_info(frame);
    frame_close(frame);
    return r;
}

/* A frame that is being opened, and what the file shows of it. */
struct opening {
    const struct file_context *context;
    struct store *store;
    uint64_t base;
    const struct view_spec *spec;
    struct frame *frame;
    struct view view;
    uint64_t count; /* of the lock file; 0 if there is none */
};

/* Open the frame and set up its view. */
static int try_open(struct opening *opening, struct fault *fault)
{
    struct frame *frame;
    int r = file_state_open(opening->context, opening->store, opening->base,
                            &frame, fault);

    if (r < 0)
        return r;
    r = view_init(&opening->view, opening->spec, frame, fault);
    if (r < 0) {
        frame_close(frame);
        return r;
    }
    opening->frame = frame;
    return 0;
}

/* Has another program been writing the frame, perhaps? */
static bool is_torn(int error)
{
    return error == -EBADMSG || error == -ENODATA;
}

/* The same, but try again while another program writes the frame.  The frame
   may have changed during the first try, of which nothing is known. */
static int open_settled(struct opening *opening, struct fault *fault)
{
    struct store_settling settling;
    struct store_stat stat;
    int r = try_open(opening, fault);

    if (!is_torn(r) || frame_object_stat(opening->store, NULL, &stat) < 0)
        return r;
    settling = store_settling_begin(stat.version);
    do
        r = try_open(opening, fault);
    while (is_torn(r) && frame_object_stat(opening->store, NULL, &stat) == 0 &&
           store_settling_wait(&settling, stat.version));
    return r;
}

/*
 * Open the frame while no other program has locked it.
 *
 *  lock_file  the lock file of the frame; NULL if it has none
 */
static int open_frame(struct opening *opening, struct lock_file *lock_file,
                      struct fault *fault)
{
    int r;

    if (!lock_file)
        return open_settled(opening, fault);
    r = lock_file_lock_shared(lock_file, fault);
    if (r < 0)
        return r;
    r = lock_file_count(lock_file, &opening->count, fault);
    if (r == 0)
        r = open_settled(opening, fault);
    lock_file_unlock_shared(lock_file);
    return r;
}

/* A file together with its parts that only some layers know. */
struct whole {
    struct file file;
    struct file_writeback writeback;
    struct frame_lock frame_lock;
    struct view view;
};

/* Make a file for a frame.  It takes over the frame and the view. */
static int file_new(struct file_context *context, struct frame *frame,
                    const struct view *view, struct file **out)
{
    const struct frame_info *info = frame_get_info(frame);
    struct whole *whole = calloc(1, sizeof(*whole));
    struct file_state *state = calloc(1, sizeof(*state));
    struct file *file;
    int r;

    if (!whole || !state) {
        free(whole);
        free(state);
        return -ENOMEM;
    }
    *state = (struct file_state){ .nrefs = 1, .frame = frame };
    file = &whole->file;
    list_init(&file->states.in_use);
    list_append(&file->states.in_use, &state->node);
    file->states.newest = state;
    file_writeback_init(file, &whole->writeback, &whole->frame_lock);
    file->constant.context = context;
    file->constant.view = &whole->view;
    file->constant.array = view->array;
    whole->view = *view;
    file->states.nbytes = info->nbytes;
    gate_init(&file->gate, &file_writeback_gate_ops);
    cache_file_init(&file->chunks, &file_chunk_ops);
    r = readahead_new(file, context->readahead, info->chunksize);
    if (r < 0) {
        free(whole);
        free(state);
        return r;
    }
    *out = file;
    return 0;
}

int file_open_view(struct file_context *context, const struct view_spec *spec,
                   struct store *store, struct file **out, struct fault *fault)
{
    struct opening opening = {
        .context = context, .store = store, .base = spec->base, .spec = spec
    };
    struct lock_file *lock_file;
    int r = lock_file_get(context, store, &lock_file);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = open_frame(&opening, lock_file, fault);
    if (r == 0) {
        r = file_new(context, opening.frame, &opening.view, out);
        if (r < 0) {
            view_fini(&opening.view);
            frame_close(opening.frame);
            fault_set(fault, r, 0, NULL);
        }
    }
    if (r < 0) {
        lock_file_put(context, lock_file);
        return r;
    }
    frame_lock_set_lock_file(*out, lock_file, opening.count);
    return 0;
}

int file_open(struct file_context *context, struct store *store, uint64_t base,
              struct file **out, struct fault *fault)
{
    const struct view_spec spec = { .base = base, .view = context->view };

    return file_open_view(context, &spec, store, out, fault);
}

static void file_free(struct file *file)
{
    file_writeback_fini(file);
    file_state_put(file, file->states.newest);
    frame_lock_close(file);
    store_close(file->constant.store);
    view_fini(file->constant.view);
    ranges_fini(&file->states.zeros);
    ranges_fini(&file->states.applied);
    gate_fini(&file->gate);
    free(file);
}

static int join_flusher(struct file *file, struct fault *fault)
{
    struct frame *frame = file->states.newest->frame;
    int r = flusher_add(file->constant.context->flusher, file,
                        frame_get_stat(frame)->version.dev);

    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int file_open_writable(struct file_context *context, struct store *store,
                       struct file **out, struct fault *fault)
{
    return file_open_writable_view(context, context->view, store, out, fault);
}

int file_open_writable_view(struct file_context *context, enum file_view view,
                            struct store *store, struct file **out,
                            struct fault *fault)
{
    const struct view_spec spec = { .view = view };
    struct file *file;
    int r = file_open_view(context, &spec, store, &file, fault);

    if (r < 0)
        return r;
    file->constant.writable = true;
    file->constant.store = store_get(store);
    r = writeback_check(file, frame_get_info(file->states.newest->frame),
                        fault);
    if (r == 0)
        r = lease_prepare(store, fault);
    if (r == 0)
        r = lease_lock_in_use(store, context->lock_timeout, fault);
    if (r == 0)
        r = frame_writer_check_frame(file->states.newest->frame, fault);
    if (r == 0)
        r = join_flusher(file, fault);
    if (r < 0) {
        readahead_free(file);
        file_free(file);
        return r;
    }
    *out = file;
    return 0;
}

/* Make a file for a frame that was just made.  It takes over the frame writer
   that made the frame. */
static int file_new_created(struct file_context *context,
                            const struct new_frame *new,
                            const struct file_params *params, struct file **out,
                            struct fault *fault)
{
    const struct frame_info *info = frame_writer_get_info(new->writer);
    bool in_row = context->view == FILE_VIEW_CHUNKS;
    const struct view_spec spec = { .view = params->array && in_row
                                                ? FILE_VIEW_ARRAY
                                                : context->view };
    struct view view;
    int r = view_init(&view, &spec, new->frame, fault);

    if (r < 0)
        return r;
    r = file_new(context, new->frame, &view, out);
    if (r < 0) {
        view_fini(&view);
        return fault_set(fault, r, 0, NULL);
    }
    (*out)->constant.writable = true;
    (*out)->constant.ahead->least = info->chunksize;
    file_writeback_begin_new(*out, new->writer, params);
    return 0;
}

static int find_lock_file(struct file *file, struct store *store,
                          struct fault *fault)
{
    struct lock_file *lock_file;
    uint64_t count = 0;
    int r = lock_file_get(file->constant.context, store, &lock_file);

    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    if (!lock_file)
        return 0;
    r = lock_file_count(lock_file, &count, fault);
    frame_lock_set_lock_file(file, lock_file, count);
    return r;
}

/* Check that chunks of a new frame fit into the cache.  An array is not
   checked, because its chunks follow from its shape, and it may stay zeros. */
static int check_params(const struct file_context *context,
                        const struct file_params *params, struct fault *fault)
{
    *fault = FAULT_NONE;
    return params->array ? 0
                         : file_check_cache(context, &params->chunk,
                                            params->chunksize, 0, fault);
}

int file_create(struct file_context *context, struct store *store,
                const struct file_params *params, struct file **out,
                struct fault *fault)
{
    struct new_frame new;
    struct file *file;
    int r = check_params(context, params, fault);

    if (r == 0)
        r = lease_take(store, context->lock_timeout, NULL, fault);
    if (r == 0)
        r = lease_lock_in_use(store, context->lock_timeout, fault);
    if (r < 0)
        return r;
    r = new_frame_begin(store, params, &new, fault);
    store_unlease(store);
    if (r < 0)
        return r;
    r = file_new_created(context, &new, params, &file, fault);
    if (r < 0) {
        frame_close(new.frame);
        frame_writer_close(new.writer);
        return r;
    }
    r = find_lock_file(file, store, fault);
    if (r == 0)
        r = join_flusher(file, fault);
    if (r < 0) {
        readahead_free(file);
        file_free(file);
        return r;
    }
    file->constant.store = store_get(store);
    *out = file;
    return 0;
}

/* Release everything that a file has, including uncommitted bytes. */
static void release(struct file *file)
{
    encode_ahead_end(file);
    encode_drop(file, 0, UINT64_MAX);
    readahead_free(file);
    cache_file_drop(file->constant.context->cache, &file->chunks);
    file_free(file);
}

int file_finish(struct file *file)
{
    struct fault fault;

    if (!file->constant.writable)
        return 0;
    flusher_remove(file->constant.context->flusher, file);
    return writeback_finish(file, &fault);
}

int file_close(struct file *file)
{
    int r;

    if (!file)
        return 0;
    r = file_finish(file);
    release(file);
    return r;
}

void file_discard(struct file *file)
{
    if (!file)
        return;
    flusher_remove(file->constant.context->flusher, file);
    release(file);
}
