/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "file/hole.h"
#include "file/view.h"
#include "state/file_private.h"

/* One chunk as it is stored, compressed.  It is empty if it exists in the index
   only.  It is read from the store, past the cache. */

struct stored {
    uint64_t chunk_no;
    atomic_bool checked;        /* it has been compared with its sums */
    struct store_object *bytes; /* NULL: it is empty */
    uint64_t len;
};

/* Find the bytes of the chunk. */
static int find_bytes(struct stored *stored, struct frame *frame,
                      struct fault *fault)
{
    struct frame_span span;
    struct store_stat stat;
    int r = frame_span_of(frame, stored->chunk_no, &span, fault);

    if (r == 0)
        r = frame_chunk_bytes(frame, stored->chunk_no, &stored->bytes, fault);
    if (r < 0 || !stored->bytes)
        return r;
    r = store_object_stat(stored->bytes, &stat);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    stored->len = stat.version.size;
    return 0;
}

static int init(struct view *view, const struct view_spec *spec,
                struct frame *frame, struct fault *fault)
{
    struct stored *stored = view->state = calloc(1, sizeof(*stored));
    int r;

    if (!stored)
        return fault_set(fault, -ENOMEM, 0, NULL);
    stored->chunk_no = spec->chunk_no;
    r = find_bytes(stored, frame, fault);
    return r == -ERANGE ? fault_set(fault, -ESTALE, 0, NULL) : r;
}

static void fini(struct view *view)
{
    struct stored *stored = view->state;

    if (stored)
        store_object_close(stored->bytes);
    free(stored);
}

static uint64_t size(const struct view *view,
                     uint64_t nbytes __attribute__((unused)))
{
    const struct stored *stored = view->state;

    return stored->len;
}

static int passed(struct file *file, uint64_t off __attribute__((unused)),
                  uint64_t *out, struct fault *fault __attribute__((unused)))
{
    const struct stored *stored = file->constant.view->state;

    *out = stored->chunk_no;
    return 0;
}

/* read() is called instead. */
static int locate(struct file *file __attribute__((unused)),
                  uint64_t off __attribute__((unused)),
                  uint64_t len __attribute__((unused)),
                  struct view_piece *out __attribute__((unused)),
                  struct fault *fault)
{
    return fault_set(fault, -ENOTSUP, 0, NULL);
}

/* It has no holes. */
static int seek(const struct hole_search *search, uint64_t *out)
{
    const struct stored *stored = search->file->constant.view->state;

    *out = search->hole ? stored->len : search->off;
    return 0;
}

/* Compare the whole chunk with its sums, before the first byte is read.  A
   chunk that this build cannot open may be read as it is. */
static int check(struct file *file, struct stored *stored, struct fault *fault)
{
    struct file_state *state;
    int r;

    if (atomic_load(&stored->checked))
        return 0;
    state = file_state_get(file);
    *fault = FAULT_NONE;
    r = frame_chunk_check_all(state->frame, stored->chunk_no, fault);
    file_state_put(file, state);
    if (fault->mismatch)
        counter_add(&file->constant.context->counters.mismatches, 1);
    if (r < 0 && r != -ENOTSUP)
        return r;
    atomic_store(&stored->checked, true);
    return 0;
}

static int read_bytes(struct file *file, uint64_t off, uint8_t *bytes,
                      size_t len, struct fault *fault)
{
    struct stored *stored = file->constant.view->state;
    int r = check(file, stored, fault);

    if (r < 0)
        return r;
    r = store_object_read_at(stored->bytes, off, bytes, len);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

const struct view_ops view_stored_ops = {
    .init = init,
    .fini = fini,
    .size = size,
    .passed = passed,
    .locate = locate,
    .seek = seek,
    .read = read_bytes,
};
