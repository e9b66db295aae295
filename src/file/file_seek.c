/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "file/file.h"
#include "file/view.h"
#include "state/file_private.h"

/* Is a chunk a hole?  A dirty chunk is not.  A clean chunk is one if it was
   made zeros, if the frame does not have it yet, or if the frame stores it as a
   special value other than NaN. */
static int is_hole(struct file *file, struct file_state *state,
                   uint64_t chunk_no, bool *hole, struct fault *fault)
{
    struct frame_entry entry;
    int r;

    if (cache_is_uncommitted(file->constant.context->cache, &file->chunks,
                             chunk_no)) {
        *hole = false;
        return 0;
    }
    pthread_mutex_lock(&file->gate.lock);
    *hole = ranges_have(&file->states.zeros, chunk_no) ||
            ranges_have(&file->states.applied, chunk_no) ||
            (file->states.chunksize > 0 &&
             chunk_no >= frame_get_info(state->frame)->nchunks);
    pthread_mutex_unlock(&file->gate.lock);
    if (*hole)
        return 0;
    r = frame_get_entry(state->frame, chunk_no, &entry, fault);
    if (r == 0)
        *hole = entry.special && entry.kind != CHUNK_NANS;
    return r;
}

/* A look for a hole, or for data. */
struct seek {
    struct file *file;
    struct file_state *state;
    uint64_t off; /* where to start */
    bool hole;    /* whether to look for a hole */
    struct fault *fault;
};

/* Find a hole, or data, in a file that has changed.  This looks at one chunk
   after the other, because some may exist in memory only. */
static int seek_changed(const struct seek *seek, uint64_t *out)
{
    uint64_t size = file_size(seek->file);
    uint64_t off = seek->off;

    while (off < size) {
        struct frame_span span;
        bool is;
        int r = file_locate(seek->file, off, &span, seek->fault);

        if (r == 0)
            r = is_hole(seek->file, seek->state, span.chunk_no, &is,
                        seek->fault);
        if (r < 0)
            return r;
        if (is == seek->hole) {
            *out = off;
            return 0;
        }
        off = span.off + span.nbytes;
    }
    if (!seek->hole)
        return -ENXIO;
    *out = size;
    return 0;
}

/* The same for a file without changes, by the index alone. */
static int seek_committed(const struct seek *seek, uint64_t *out)
{
    struct frame *frame = seek->state->frame;
    struct frame_span span;
    uint64_t chunk_no;
    int r;

    r = frame_locate(frame, seek->off, &span, seek->fault);
    if (r < 0)
        return r;
    r = frame_next(frame, span.chunk_no, seek->hole, &chunk_no, seek->fault);
    if (r < 0)
        return r;
    if (chunk_no == span.chunk_no) {
        *out = seek->off;
        return 0;
    }

    r = frame_span_of(frame, chunk_no, &span, seek->fault);
    if (r == -ERANGE && !seek->hole)
        return -ENXIO;
    if (r < 0 && r != -ERANGE)
        return r;
    *out = r == 0 ? span.off : file_size(seek->file);
    return 0;
}

/* Find the next chunk that is not a hole; `nchunks` if there is none. */
static int next_data(const struct seek *seek, uint64_t chunk_no,
                     uint64_t nchunks, uint64_t *out)
{
    bool hole = true;
    int r = 0;

    if (!seek->file->states.begun)
        r = frame_next(seek->state->frame, chunk_no, false, &chunk_no,
                       seek->fault);
    else
        while (chunk_no < nchunks) {
            r = is_hole(seek->file, seek->state, chunk_no, &hole, seek->fault);
            if (r < 0 || !hole)
                break;
            chunk_no++;
        }
    *out = chunk_no < nchunks ? chunk_no : nchunks;
    return r;
}

/* A row of chunks, which together hold a contiguous range of an array. */
struct slab {
    uint64_t nchunks;
    uint64_t nbytes; /* bytes of the array; fewer in the last slab */
};

static struct slab slab_of(const struct layout *layout)
{
    const struct layout_dim *first = &layout->dims[0];
    uint64_t nrows =
        first->chunk < first->nitems ? first->chunk : first->nitems;

    return (struct slab){
        .nchunks = layout->nchunks / first->nchunks,
        .nbytes = layout->nbytes / first->nitems * nrows,
    };
}

/* Find the next slab that is all hole, or the next one that is not.  If there
   is none, the number is that behind the last slab. */
static int next_slab(const struct seek *seek, const struct slab *slab,
                     uint64_t *slab_no)
{
    uint64_t nchunks = seek->file->constant.view->array->layout.nchunks;

    while (*slab_no < nchunks / slab->nchunks) {
        uint64_t chunk_no;
        int r = next_data(seek, *slab_no * slab->nchunks, nchunks, &chunk_no);

        if (r < 0)
            return r;
        if (!seek->hole)
            *slab_no = chunk_no / slab->nchunks;
        if (!seek->hole || chunk_no / slab->nchunks > *slab_no)
            break;
        ++*slab_no;
    }
    return 0;
}

/* A slab of an array counts as a hole if all its chunks are holes. */
static int seek_array(const struct seek *seek, uint64_t *out)
{
    const struct view *view = seek->file->constant.view;
    const struct layout *layout = &view->array->layout;
    uint64_t off = seek->off;
    uint64_t slab_no;
    struct slab slab;
    int r;

    *out = off;
    if (off < view->header_len && !seek->hole)
        return 0;
    off = off < view->header_len ? 0 : off - view->header_len;
    if (off < layout->nbytes) {
        slab = slab_of(layout);
        slab_no = off / slab.nbytes;
        r = next_slab(seek, &slab, &slab_no);
        if (r < 0)
            return r;
        if (off < slab_no * slab.nbytes)
            off = slab_no * slab.nbytes;
    }
    if (off >= layout->nbytes && !seek->hole)
        return -ENXIO;
    *out = view->header_len + (off < layout->nbytes ? off : layout->nbytes);
    return 0;
}

/* A chunk is a hole as a whole, or has none. */
static int seek_chunk(const struct seek *seek, uint64_t *out)
{
    const struct view *view = seek->file->constant.view;
    bool is = false;
    int r = 0;

    if (!view->stored)
        r = is_hole(seek->file, seek->state, view->chunk.chunk_no, &is,
                    seek->fault);
    if (r < 0)
        return r;
    if (is != seek->hole && !seek->hole)
        return -ENXIO;
    *out = is == seek->hole ? seek->off : view->len;
    return 0;
}

int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault)
{
    struct seek seek = {
        .file = file, .off = off, .hole = hole, .fault = fault
    };
    int r;

    if (off >= file_size(file))
        return -ENXIO;
    seek.state = file_state_get(file);
    if (file->constant.view->one)
        r = seek_chunk(&seek, out);
    else if (file->constant.view->array)
        r = seek_array(&seek, out);
    else if (file->states.begun)
        r = seek_changed(&seek, out);
    else
        r = seek_committed(&seek, out);
    file_state_put(file, seek.state);
    return r;
}
