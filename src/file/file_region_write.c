/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "file/file_region_private.h"
#include "file/file_write_private.h"
#include "state/file_private.h"
#include "writeback/encode.h"
#include "writeback/writeback.h"

/* A write to the blocks of a region. */
struct writing {
    struct file *file;
    const struct region_plan *plan;
    const uint8_t *memory;
    uint8_t *scratch; /* for a block */
    struct region_at at;
    uint32_t itemsize;
    struct fault *fault;
};

/* Write bytes of the block, or zeros. */
static int put(const struct writing *writing, uint32_t off,
               const uint8_t *bytes, uint32_t len)
{
    const struct region_plan *plan = writing->plan;

    while (len > 0) {
        const struct view_piece piece = {
            .chunk_no = writing->at.chunk_no,
            .nbytes = plan->block_nbytes,
            .off = writing->at.off + off,
            .len = len,
        };
        ssize_t n =
            file_put_piece(writing->file, &piece, bytes, writing->fault);

        if (n < 0)
            return (int)n;
        off += (uint32_t)n;
        bytes = bytes ? bytes + n : NULL;
        len -= (uint32_t)n;
    }
    return 0;
}

static int write_run(void *context, const struct region_run *run)
{
    const struct writing *writing = context;
    const uint8_t *bytes = writing->memory + run->mem_off;
    uint32_t size = writing->itemsize;

    if (run->nitems > 1 && run->item_stride != size) {
        region_copy_items(
            &(struct region_items){ .from = bytes,
                                    .from_stride = run->item_stride,
                                    .to = writing->scratch,
                                    .to_stride = size,
                                    .n = run->nitems,
                                    .size = size });
        bytes = writing->scratch;
    }
    return put(writing, run->off, bytes, run->nitems * size);
}

/* Write a part of a block.  If it has all items, the block need not be decoded;
   its padding becomes zeros. */
static int write_block(struct writing *writing, const struct region_block *part)
{
    uint32_t nbytes = writing->plan->block_nbytes;

    if (!part->whole)
        return region_each_run(part, write_run, writing);
    if (!part->full)
        memset(writing->scratch, 0, nbytes);
    region_store(part, writing->memory, writing->scratch);
    return put(writing, 0, writing->scratch, nbytes);
}

/* Call a function for each part of a region in a block. */
static int each_block(struct writing *writing,
                      int (*visit)(struct writing *writing,
                                   const struct region_block *part))
{
    const struct region_plan *plan = writing->plan;
    struct region_chunk chunk;
    int r = 0;

    for (uint64_t i = 0; i < plan->nchunks && r == 0; i++) {
        region_find_chunk(plan, i, &chunk);
        writing->at.chunk_no = chunk.chunk_no;
        for (uint64_t k = 0; k < chunk.nblocks && r == 0; k++) {
            struct region_block part;

            region_find_block(plan, &chunk, k, &part);
            writing->at.off = part.block_no * plan->block_nbytes;
            r = visit(writing, &part);
        }
        encode_ahead(writing->file);
    }
    return r;
}

/* Do the work as one of the writers of the file. */
static int run(struct writing *writing,
               int (*visit)(struct writing *writing,
                            const struct region_block *part))
{
    struct file *file = writing->file;
    enum gate_writer as;
    int r;

    writing->scratch = malloc(writing->plan->block_nbytes);
    if (!writing->scratch)
        return fault_set(writing->fault, -ENOMEM, 0, NULL);
    r = gate_enter_writer(file, 0, &as, writing->fault);
    if (r == 0) {
        *writing->fault = FAULT_NONE;
        r = each_block(writing, visit);
        gate_leave_writer(file, as);
    }
    free(writing->scratch);
    return r < 0 ? file_explain(file, r, writing->fault) : 0;
}

static int run_plan(struct file *file, const struct region_plan *plan,
                    const uint8_t *memory,
                    int (*visit)(struct writing *writing,
                                 const struct region_block *part),
                    struct fault *fault)
{
    struct writing writing = { .file = file,
                               .plan = plan,
                               .memory = memory,
                               .at = { .file = file,
                                       .wait = CACHE_WAIT_MEMORY },
                               .itemsize = plan->itemsize,
                               .fault = fault };
    int r = writeback_begin(file, fault);

    if (r < 0)
        return r;
    if (plan->nchunks > 0)
        r = run(&writing, visit);
    writeback_end(file);
    return r;
}

static uint64_t count_bytes(const struct region_plan *plan)
{
    uint64_t nbytes = plan->itemsize;

    for (unsigned i = 0; i < plan->ndim; i++)
        nbytes *= plan->region.count[i];
    return nbytes;
}

int file_region_write(struct file *file, const struct region *region,
                      const uint8_t *memory, struct fault *fault)
{
    struct region_plan plan;
    int r = region_plan_of(file, region, false, &plan, fault);

    if (r == 0)
        r = run_plan(file, &plan, memory, write_block, fault);
    if (r < 0)
        return r;
    counter_add(&file->constant.context->counters.written, count_bytes(&plan));
    return file_take_error(file, fault);
}

/* Are these bytes of the block zeros? */
static int find_nonzero(const struct writing *writing, uint32_t off,
                        uint32_t len, bool *found)
{
    struct cache *cache = writing->file->constant.context->cache;

    *found = false;
    while (len > 0 && !*found) {
        struct cache_pin pin;
        int r = region_pin(&writing->at, off, len, &pin, writing->fault);

        if (r < 0)
            return r;
        if (pin.data) {
            uint32_t n = pin.len < len ? pin.len : len;

            *found =
                pin.data[0] != 0 || memcmp(pin.data, pin.data + 1, n - 1) != 0;
            off += n;
            len -= n;
        } else {
            const struct file_chunk *chunk = pin.chunk;

            *found = chunk->pattern[0] != 0 ||
                     memcmp(chunk->pattern, chunk->pattern + 1,
                            chunk->pattern_len - 1) != 0;
            len = 0;
        }
        cache_unpin(cache, &pin, 1);
    }
    return 0;
}

static int clear_run(void *context, const struct region_run *run)
{
    const struct writing *writing = context;
    uint32_t len = run->nitems * writing->itemsize;
    bool found;
    int r = find_nonzero(writing, run->off, len, &found);

    return r == 0 && found ? put(writing, run->off, NULL, len) : r;
}

static int clear_block(struct writing *writing, const struct region_block *part)
{
    return region_each_run(part, clear_run, writing);
}

/*
 * Along each dimension that grows, the padding between the end of the items and
 * the new one becomes items, across the whole of the other dimensions, as far
 * as chunks are there already.
 */
int file_region_clear(struct file *file, const uint64_t *items,
                      struct fault *fault)
{
    const struct array *array = file->constant.array;
    struct region whole = { .start = { 0 } };
    int r = 0;

    if (array->layout.nitems == 0)
        return 0;
    for (unsigned i = 0; i < array->shape.ndim; i++) {
        uint64_t chunk = array->shape.chunk[i];
        uint64_t have = size_pieces(array->shape.items[i], chunk) * chunk;

        whole.count[i] = items[i] < have ? items[i] : have;
    }
    for (unsigned i = 0; i < array->shape.ndim && r == 0; i++) {
        uint64_t old = array->shape.items[i];
        struct region_plan plan;
        struct region part = whole;

        if (whole.count[i] <= old)
            continue;
        part.start[i] = old;
        part.count[i] = whole.count[i] - old;
        r = region_plan_of(file, &part, true, &plan, fault);
        if (r == 0)
            r = run_plan(file, &plan, NULL, clear_block, fault);
    }
    return r;
}
