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

enum {
    FRAME_END_LEN = 128, /* end of the frame: holds most trailers, and the
                            stamp */
};

/* Open the frame's file, which is the object "" or the index file of a
   directory. */
static int open_object(struct frame *frame, struct fault *fault)
{
    int r =
        frame_object_open(frame->store, &frame->object_name, &frame->object);

    if (r == -EINVAL)
        return frame_fault(frame, r, 0, "index file is no regular file", fault);
    if (r == 0)
        r = store_object_stat(frame->object, &frame->stat);
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
    uint8_t bytes[FRAME_HEADER_MAX];
    struct frame_start start = {
        .bytes = bytes,
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
    start.len =
        start.avail < sizeof(bytes) ? (size_t)start.avail : sizeof(bytes);
    r = frame_read_at(frame, frame->base, bytes, start.len, fault);
    if (r < 0)
        return r;
    frame->header_len =
        start.len < sizeof(frame->header) ? start.len : sizeof(frame->header);
    memcpy(frame->header, bytes, frame->header_len);
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

static int parse_trailer(struct frame *frame, const uint8_t *end,
                         struct fault *fault)
{
    int r =
        frame_header_trailer_len(&frame->info, end, &frame->trailer_len, fault);

    if (r < 0) {
        fault->off += frame->base;
        frame_fault_name(frame, fault);
    }
    return r;
}

/* First and last bytes behind the chunks, as read. */
struct ends {
    uint8_t end[FRAME_END_LEN]; /* end of the frame; `end_len` bytes */
    size_t end_len;
    uint8_t head[INDEX_HEAD_LEN]; /* start of the index; `head_len` bytes */
    size_t head_len;
};

static int open_index(struct frame *frame, const struct ends *ends,
                      struct fault *fault)
{
    uint64_t off = frame_index_off(&frame->info);
    uint64_t end = frame->info.frame_len - frame->trailer_len;
    const struct index_source source = {
        .object = frame->object,
        .off = frame->base + off,
        .end = frame->base + end,
        .head = ends->head,
        .head_len = ends->head_len,
    };
    uint64_t nentries;
    int r;

    if (off > end)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_CBYTES_OFF,
                           "cbytes leaves no room for the index", fault);
    r = index_open(&source, &frame->index, fault);
    if (r < 0) {
        frame_fault_name(frame, fault);
        return r;
    }
    nentries = index_nentries(frame->index);
    if (frame->info.chunksize == 0)
        frame->info.nchunks = nentries;
    if (nentries != frame->info.nchunks)
        return frame_fault(frame, -EBADMSG, frame->base + off,
                           "the index has not one entry for each chunk", fault);
    return 0;
}

void frame_watch_state(const struct frame *frame, struct watch *watch)
{
    const struct watch_state state = {
        .header = frame->header,
        .len = frame->header_len,
        .stamp_off = frame->stamp_off,
        .stamp = frame->stamp,
    };

    watch_set(watch, &state, &frame->stat);
}

/* Read both in one call, the end before the index, because the end holds the
   stamp. */
static int read_bytes(struct frame *frame, struct ends *ends,
                      struct fault *fault)
{
    const struct frame_info *info = &frame->info;
    uint64_t off = info->nbytes > 0 ? frame_index_off(info) : info->header_len;
    uint64_t rest;
    struct store_range ranges[2];

    if (off > info->frame_len)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_CBYTES_OFF,
                           "cbytes is larger than the frame", fault);
    rest = info->frame_len - off;
    ends->end_len = rest < sizeof(ends->end) ? (size_t)rest : sizeof(ends->end);
    ends->head_len =
        rest < sizeof(ends->head) ? (size_t)rest : sizeof(ends->head);
    ranges[0] =
        (struct store_range){ frame->base + info->frame_len - ends->end_len,
                              ends->end_len, ends->end };
    ranges[1] =
        (struct store_range){ frame->base + off, ends->head_len, ends->head };
    return frame_read_ranges(frame, ranges, info->nbytes > 0 ? 2 : 1, fault);
}

static int parse_end(struct frame *frame, const struct ends *ends,
                     struct fault *fault)
{
    if (frame->info.format == FRAME_FORMAT_A)
        return 0;
    if (ends->end_len < FRAME_TRAILER_END_LEN)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_LEN_OFF,
                           "the frame has no room for a trailer", fault);
    return parse_trailer(
        frame, ends->end + ends->end_len - FRAME_TRAILER_END_LEN, fault);
}

/*
 * Find the bytes that tell this state from others with the same header.  If
 * framefs wrote the frame, they are its stamp; otherwise they are the end of
 * the index, or whatever another program left there.
 */
static int find_stamp(struct frame *frame, const struct ends *ends,
                      struct fault *fault)
{
    const struct frame_info *info = &frame->info;
    uint64_t end = info->frame_len - frame->trailer_len;
    size_t behind = frame->trailer_len + FRAME_STAMP_LEN;
    int r = 0;

    if (info->nbytes == 0 || frame_index_off(info) + FRAME_STAMP_LEN > end)
        return 0;
    frame->stamp_off = end - FRAME_STAMP_LEN;
    if (behind > ends->end_len)
        r = frame_read_at(frame, frame->base + frame->stamp_off, frame->stamp,
                          FRAME_STAMP_LEN, fault);
    else
        memcpy(frame->stamp, ends->end + ends->end_len - behind,
               FRAME_STAMP_LEN);
    if (r == 0 &&
        memcmp(frame->stamp, FRAME_STAMP_MAGIC, FRAME_STAMP_MAGIC_LEN) == 0)
        frame->stamp_number = load_le64(frame->stamp + FRAME_STAMP_MAGIC_LEN);
    return r;
}

/* Read the bytes behind the chunks.  Once the stamp is known, the watch can
   tell whether another state has replaced this one. */
static int read_ends(struct frame *frame, struct fault *fault)
{
    struct ends ends;
    int r = read_bytes(frame, &ends, fault);

    if (r == 0)
        r = parse_end(frame, &ends, fault);
    if (r == 0)
        r = find_stamp(frame, &ends, fault);
    if (r < 0)
        return r;
    frame_watch_state(frame, frame->watch);
    if (frame->info.nbytes == 0)
        return 0;
    return open_index(frame, &ends, fault);
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

static int try_open(struct store *store, uint64_t base, struct frame **out,
                    struct fault *fault)
{
    struct frame *frame = NULL;
    int r = frame_open_header(store, base, &frame, fault);

    if (r < 0)
        return r;
    r = read_ends(frame, fault);
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

int frame_open(struct store *store, uint64_t base, struct frame **out,
               struct fault *fault)
{
    struct retry retry = RETRY_REPLACED;
    int r;

    do
        r = try_open(store, base, out, fault);
    while (r == -ESTALE && retry_wait(&retry));
    return r;
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
