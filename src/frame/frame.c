/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/retry.h"
#include "frame/array_meta.h"
#include "frame/frame_object.h"
#include "frame/frame_private.h"
#include "frame/frame_source.h"

/* Open the frame's file, which is the object "" or the index file of a
   directory. */
static int open_object(struct frame *frame, struct fault *fault)
{
    int r = frame_object_open(frame->store, &frame->object_name, &frame->object,
                              &frame->stat);

    if (r == -EINVAL)
        return frame_fault(frame, r, 0, "index file is no regular file", fault);
    if (r < 0)
        return frame_fault(frame, r, 0, NULL, fault);
    return 0;
}

/* frame_header_parse() or frame_parse_claim() */
typedef int parse_header(const struct frame_start *start,
                         struct frame_info *out, struct fault *fault);

static int read_header_by(struct frame *frame, parse_header *parse,
                          struct fault *fault)
{
    struct frame_start start = {
        .bytes = frame->header,
        .sparse = store_is_directory(frame->store),
    };
    int r;

    if (start.sparse && frame->base != 0)
        return frame_fault(frame, -EINVAL, 0,
                           "a sparse frame cannot lie inside a file", fault);
    if (frame->base > frame->stat.version.size)
        return frame_fault(frame, -EBADMSG, frame->stat.version.size,
                           "file ends before the frame", fault);
    start.avail = frame->stat.version.size - frame->base;
    start.len = start.avail < sizeof(frame->header) ? (size_t)start.avail
                                                    : sizeof(frame->header);
    r = frame_read_at(frame, frame->base, frame->header, start.len, fault);
    if (r < 0)
        return r;
    frame->header_len = start.len;
    r = parse(&start, &frame->info, fault);
    if (r < 0) {
        fault->off += frame->base;
        frame_fault_name(frame, fault);
    }
    return r;
}

static int read_header(struct frame *frame, struct fault *fault)
{
    return read_header_by(frame, frame_header_parse, fault);
}

int frame_read_info(struct store *store, uint64_t base, struct frame_info *out,
                    struct store_stat *stat, struct fault *fault)
{
    struct frame frame = { .store = store, .base = base };
    int r = open_object(&frame, fault);

    if (r == 0)
        r = read_header(&frame, fault);
    if (r == 0) {
        *out = frame.info;
        *stat = frame.stat;
    }
    store_object_close(frame.object);
    return r;
}

int frame_read_claim(struct store *store, uint64_t base, struct frame_info *out,
                     struct fault *fault)
{
    struct frame frame = { .store = store, .base = base };
    int r = open_object(&frame, fault);

    if (r == 0)
        r = read_header_by(&frame, frame_parse_claim, fault);
    if (r == 0)
        *out = frame.info;
    store_object_close(frame.object);
    return r;
}

/* Has the short last chunk been moved, so that a full one is last?  The header
   does not say.  Format: frame.md, 6. */
static bool last_chunk_is_full(struct frame *frame)
{
    uint64_t last = frame->info.nchunks - 1;
    struct frame_entry entry;
    struct frame_sizes sizes;
    struct fault ignored;

    return frame_get_entry(frame, last, &entry, &ignored) == 0 &&
           !entry.special &&
           frame_source_sizes(frame, last, &entry, &sizes, &ignored) == 0 &&
           sizes.nbytes == frame->info.chunksize;
}

bool frame_chunks_differ(struct frame *frame)
{
    const struct frame_info *info = &frame->info;

    if (info->nchunks == 0)
        return false;
    if (frame->sums)
        return frame->sums->ngroups > 0;
    if (info->chunksize == 0)
        return true;
    return info->nchunks > 1 && info->nbytes % info->chunksize != 0 &&
           last_chunk_is_full(frame);
}

static int watch_frame(struct frame *frame, struct fault *fault)
{
    bool sparse = store_is_directory(frame->store);
    int r = watch_new(frame->store, sparse ? NULL : frame->object,
                      frame->object_name, frame->base, &frame->watch);

    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int frame_open_header(struct store *store, uint64_t base, struct frame **out,
                      struct fault *fault)
{
    struct frame *frame = calloc(1, sizeof(*frame));
    int r;

    if (!frame)
        return fault_set(fault, -ENOMEM, 0, NULL);
    frame->base = base;
    frame->store = store_get(store);
    r = open_object(frame, fault);
    if (r == 0)
        r = watch_frame(frame, fault);
    if (r == 0)
        r = read_header(frame, fault);
    if (r < 0) {
        frame_close(frame);
        return r;
    }
    *out = frame;
    return 0;
}

/* Do the default codec and filters use the shape of blocks? */
static bool info_uses_shape(const struct frame_info *info)
{
    struct chunk_header header = {
        .kind = CHUNK_BLOCKS,
        .codec = (uint8_t)info->codec,
    };

    memcpy(header.filters, info->filters, CHUNK_NFILTERS);
    return chunk_uses_shape(&header);
}

static int try_open(struct store *store, uint64_t base, bool unchecked,
                    struct frame **out, struct fault *fault)
{
    struct frame *frame = NULL;
    int r = frame_open_header(store, base, &frame, fault);

    if (r < 0)
        return r;
    frame->unchecked = unchecked;
    r = frame_read_ends(frame, fault);
    if (r == 0 && info_uses_shape(&frame->info))
        r = array_meta_read_block(frame, &frame->info.block, fault);
    if (r == 0 && frame_chunks_differ(frame)) {
        r = frame_walk_new(frame, &frame->walk);
        if (r < 0)
            fault_set(fault, r, 0, NULL);
    }
    r = frame_check_kept(frame, r, fault);
    if (r < 0) {
        frame_close(frame);
        return r;
    }
    if (frame->info.nchunks > 0)
        store_expect(store, frame->info.cbytes / frame->info.nchunks);
    *out = frame;
    return 0;
}

static int open_newest(struct store *store, uint64_t base, bool unchecked,
                       struct frame **out, struct fault *fault)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    do
        r = try_open(store, base, unchecked, out, fault);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
}

int frame_open(struct store *store, uint64_t base, struct frame **out,
               struct fault *fault)
{
    return open_newest(store, base, false, out, fault);
}

int frame_open_unchecked(struct store *store, uint64_t base, struct frame **out,
                         struct fault *fault)
{
    return open_newest(store, base, true, out, fault);
}

void frame_close(struct frame *frame)
{
    if (!frame)
        return;
    frame_walk_free(frame->walk);
    index_close(frame->index);
    if (frame->keys)
        frame_keys_fini(frame->keys);
    free(frame->keys);
    free(frame->tags);
    frame_sums_free(frame->sums);
    watch_free(frame->watch);
    store_object_close(frame->object);
    store_close(frame->store);
    generation_put(frame->generation);
    free(frame);
}

const struct frame_info *frame_get_info(const struct frame *frame)
{
    return &frame->info;
}

const struct store_stat *frame_get_stat(const struct frame *frame)
{
    return &frame->stat;
}

static bool is_same_state(const struct frame *a, const struct frame *b)
{
    return store_version_compare(a->stat.version, b->stat.version) >=
               VERSION_SAME_OBJECT &&
           a->info.nbytes == b->info.nbytes &&
           a->info.cbytes == b->info.cbytes &&
           a->info.frame_len == b->info.frame_len;
}

int frame_check_current(const struct frame *frame, struct store_stat *stat,
                        struct fault *fault)
{
    struct frame now;
    int r =
        frame_read_info(frame->store, frame->base, &now.info, &now.stat, fault);

    if (r == -EBADMSG || r == -ENOENT ||
        (r == 0 && !is_same_state(frame, &now)))
        return frame_fault(frame, -ESTALE, frame->base,
                           "another program has changed the frame", fault);
    if (r == 0)
        *stat = now.stat;
    return r;
}

bool frame_is_unwritten(const struct frame *frame)
{
    struct store_stat now;
    int r = frame->info.sparse
                ? store_stat(frame->store, frame->object_name, &now)
                : store_object_stat(frame->object, &now);

    return r == 0 && store_version_compare(frame->stat.version, now.version) >=
                         VERSION_SAME_CONTENT;
}

/* The span of a chunk if all chunks but the last have one size. */
static struct frame_span regular_span(const struct frame_info *info,
                                      uint64_t chunk_no)
{
    uint64_t off = chunk_no * info->chunksize;
    uint64_t rest = info->nbytes - off;

    return (struct frame_span){
        .chunk_no = chunk_no,
        .off = off,
        .nbytes = rest < info->chunksize ? (uint32_t)rest : info->chunksize,
    };
}

int frame_locate(struct frame *frame, uint64_t off, struct frame_span *out,
                 struct fault *fault)
{
    if (off >= frame->info.nbytes)
        return fault_set(fault, -ERANGE, 0, NULL);
    if (frame->walk)
        return frame_walk_locate(frame->walk, off, out, fault);
    *out = regular_span(&frame->info, off / frame->info.chunksize);
    return 0;
}

int frame_span_of(struct frame *frame, uint64_t chunk_no,
                  struct frame_span *out, struct fault *fault)
{
    if (chunk_no >= frame->info.nchunks)
        return fault_set(fault, -ERANGE, 0, NULL);
    if (frame->walk)
        return frame_walk_span_of(frame->walk, chunk_no, out, fault);
    *out = regular_span(&frame->info, chunk_no);
    return 0;
}
