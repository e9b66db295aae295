/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/heap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame.h"
#include "store/store_backend.h"
#include "store/store_local_ops.h"

struct heap {
    struct store store;
    struct frame *frame;
    uint64_t off; /* start of the part among the decoded bytes */
    uint64_t len;
};

struct heap_object {
    struct store_object object;
    struct heap *heap; /* a reference to its store */
};

static struct heap *heap_of(struct store_object *object)
{
    return ((struct heap_object *)object)->heap;
}

/* Fail if another program has written to the frame, because other chunks may
   then lie at the offsets that this frame knows. */
static int heap_stat(struct store_object *object, struct store_stat *out)
{
    const struct heap *heap = heap_of(object);

    if (!frame_is_unwritten(heap->frame))
        return -ESTALE;
    *out = *frame_get_stat(heap->frame);
    out->version.size = heap->len;
    out->allocated = heap->len;
    return 0;
}

/*
 * Copy decoded bytes out of one chunk.
 *
 *  off      offset of the first byte, below the end of the frame
 *  scratch  room for a decoded chunk
 *
 * Returns the number of bytes copied, which ends with the chunk, or an error.
 */
static ssize_t read_piece(struct frame *frame, uint64_t off, size_t len,
                          uint8_t *dst, uint8_t *scratch)
{
    struct fault fault = FAULT_NONE;
    struct frame_span span;
    size_t skip;
    int r = frame_locate(frame, off, &span, &fault);

    if (r == 0)
        r = frame_chunk_read(frame, span.chunk_no, scratch, span.nbytes,
                             &fault);
    if (r < 0)
        return r;
    skip = (size_t)(off - span.off);
    if (len > span.nbytes - skip)
        len = span.nbytes - skip;
    memcpy(dst, scratch + skip, len);
    return (ssize_t)len;
}

static int read_range(const struct heap *heap, const struct store_range *range,
                      uint8_t *scratch)
{
    uint64_t off = heap->off + range->off;

    for (size_t done = 0; done < range->len;) {
        ssize_t n = read_piece(heap->frame, off + done, range->len - done,
                               range->buf + done, scratch);

        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

static int heap_read(struct store_object *object,
                     const struct store_range *ranges, size_t nranges)
{
    struct heap *heap = heap_of(object);
    uint8_t *scratch = malloc(frame_get_info(heap->frame)->chunksize);
    int r = scratch ? 0 : -ENOMEM;

    for (size_t i = 0; i < nranges && r == 0; i++) {
        if (ranges[i].len == 0)
            continue;
        if (size_within(ranges[i].off, ranges[i].len, heap->len))
            r = read_range(heap, &ranges[i], scratch);
        else
            r = -ENODATA;
    }
    free(scratch);
    return r;
}

static int heap_check(struct store_object *object, int how)
{
    return frame_check_access(heap_of(object)->frame, how);
}

static void heap_object_close(struct store_object *object)
{
    store_close(&heap_of(object)->store);
    free(object);
}

static const struct store_local_object_ops heap_local_ops = {
    .check = heap_check,
};

static const struct store_object_ops heap_object_ops = {
    .stat = heap_stat,
    .read = heap_read,
    .close = heap_object_close,
    .local = &heap_local_ops,
};

static int heap_open_object(struct store *store, const char *name,
                            struct store_object **out)
{
    struct heap_object *object;

    if (name[0] != '\0')
        return -ENOENT;
    object = malloc(sizeof(*object));
    if (!object)
        return -ENOMEM;
    object->object = (struct store_object){ .ops = &heap_object_ops };
    object->heap = (struct heap *)store_get(store);
    *out = &object->object;
    return 0;
}

static void heap_close(struct store *store)
{
    frame_close(((struct heap *)store)->frame);
    free(store);
}

static const struct store_ops heap_ops = {
    .directory = false,
    .open = heap_open_object,
    .close = heap_close,
};

/* Does the frame have this part, in chunks that heap_read() can decode? */
static int check_part(const struct frame_info *info, uint64_t off, uint64_t len,
                      struct fault *fault)
{
    if (!size_within(off, len, info->nbytes))
        return fault_set(fault, -EBADMSG, 0,
                         "a value of an embed store passes its end");
    if (info->nbytes > 0 &&
        (info->chunksize == 0 || info->chunksize > HEAP_CHUNK_MAX))
        return fault_set(fault, -ENOTSUP, 0,
                         "an embed store has chunks of more than 16 MiB, or of "
                         "several sizes");
    return 0;
}

int heap_open(struct store *store, uint64_t off, uint64_t len,
              struct store **out, struct fault *fault)
{
    struct heap *heap = calloc(1, sizeof(*heap));
    int r;

    if (!heap)
        return fault_set(fault, -ENOMEM, 0, NULL);
    store_init(&heap->store, &heap_ops);
    heap->off = off;
    heap->len = len;
    r = frame_open(store, 0, &heap->frame, fault);
    if (r == 0)
        r = check_part(frame_get_info(heap->frame), off, len, fault);
    if (r < 0) {
        store_close(&heap->store);
        return r;
    }
    *out = &heap->store;
    return 0;
}
