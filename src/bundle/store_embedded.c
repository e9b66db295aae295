/* SPDX-License-Identifier: BSD-3-Clause */
#include "bundle/store_embedded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "frame/frame.h"
#include "store/store_backend.h"
#include "store/store_local_ops.h"

struct embedded_store {
    struct store store;
    struct frame *frame;
    uint64_t off; /* start of the part among the decoded bytes */
    uint64_t len;
};

struct embedded_object {
    struct store_object object;
    struct embedded_store *embedded; /* a reference to its store */
};

static struct embedded_store *embedded_of(struct store_object *object)
{
    return ((struct embedded_object *)object)->embedded;
}

/* Fail if another program has written to the frame, because other chunks may
   then lie at the offsets that this frame knows. */
static int embedded_stat(struct store_object *object, struct store_stat *out)
{
    const struct embedded_store *embedded = embedded_of(object);

    if (!frame_is_unwritten(embedded->frame))
        return -ESTALE;
    *out = *frame_get_stat(embedded->frame);
    out->version.size = embedded->len;
    out->allocated = embedded->len;
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

static int read_range(const struct embedded_store *embedded,
                      const struct store_range *range, uint8_t *scratch)
{
    uint64_t off = embedded->off + range->off;

    for (size_t done = 0; done < range->len;) {
        ssize_t n = read_piece(embedded->frame, off + done, range->len - done,
                               range->buf + done, scratch);

        if (n < 0)
            return (int)n;
        done += (size_t)n;
    }
    return 0;
}

static int embedded_read(struct store_object *object,
                         const struct store_range *ranges, size_t nranges)
{
    struct embedded_store *embedded = embedded_of(object);
    uint8_t *scratch = malloc(frame_get_info(embedded->frame)->chunksize);
    int r = scratch ? 0 : -ENOMEM;

    for (size_t i = 0; i < nranges && r == 0; i++) {
        if (ranges[i].len == 0)
            continue;
        if (size_within(ranges[i].off, ranges[i].len, embedded->len))
            r = read_range(embedded, &ranges[i], scratch);
        else
            r = -ENODATA;
    }
    free(scratch);
    return r;
}

static int embedded_check(struct store_object *object, int how)
{
    return frame_check_access(embedded_of(object)->frame, how);
}

static void embedded_object_close(struct store_object *object)
{
    store_close(&embedded_of(object)->store);
    free(object);
}

static const struct store_local_object_ops embedded_local_ops = {
    .check = embedded_check,
};

static const struct store_object_ops embedded_object_ops = {
    .stat = embedded_stat,
    .read = embedded_read,
    .close = embedded_object_close,
    .local = &embedded_local_ops,
};

static int embedded_open_object(struct store *store, const char *name,
                                struct store_object **out)
{
    struct embedded_object *object;

    if (name[0] != '\0')
        return -ENOENT;
    object = malloc(sizeof(*object));
    if (!object)
        return -ENOMEM;
    object->object = (struct store_object){ .ops = &embedded_object_ops };
    object->embedded = (struct embedded_store *)store_get(store);
    *out = &object->object;
    return 0;
}

static void embedded_close(struct store *store)
{
    frame_close(((struct embedded_store *)store)->frame);
    free(store);
}

static const struct store_ops embedded_ops = {
    .directory = false,
    .open = embedded_open_object,
    .close = embedded_close,
};

/* Does the frame have this part, in chunks that embedded_read() can decode? */
static int check_part(const struct frame_info *info, uint64_t off, uint64_t len,
                      struct fault *fault)
{
    if (!size_within(off, len, info->nbytes))
        return fault_set(fault, -EBADMSG, 0,
                         "a value of an embed store passes its end");
    if (info->nbytes > 0 &&
        (info->chunksize == 0 || info->chunksize > STORE_EMBEDDED_CHUNK_MAX))
        return fault_set(fault, -ENOTSUP, 0,
                         "an embed store has chunks of more than 16 MiB, or of "
                         "several sizes");
    return 0;
}

int store_embedded_open(struct store *store, uint64_t off, uint64_t len,
                        struct store **out, struct fault *fault)
{
    struct embedded_store *embedded = calloc(1, sizeof(*embedded));
    int r;

    if (!embedded)
        return fault_set(fault, -ENOMEM, 0, NULL);
    store_init(&embedded->store, &embedded_ops);
    embedded->off = off;
    embedded->len = len;
    r = frame_open(store, 0, &embedded->frame, fault);
    if (r == 0)
        r = check_part(frame_get_info(embedded->frame), off, len, fault);
    if (r < 0) {
        store_close(&embedded->store);
        return r;
    }
    *out = &embedded->store;
    return 0;
}
