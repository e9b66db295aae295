/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/chunk_sums.h"
#include "frame/frame_chunk_private.h"

/* Blocks to be decoded or checked. */
struct work {
    const struct frame_chunk *chunk;
    const struct blocks_run *run;
    struct chunk_decoder *decoder;
};

/* blocks_decode() or blocks_check() */
typedef int process_blocks(const struct blocks_source *source,
                           const struct chunk *chunk,
                           const struct blocks_run *run,
                           struct chunk_decoder *decoder, struct fault *fault);

static int process_settled(process_blocks *process, const struct work *work,
                           const struct blocks_source *from,
                           struct fault *fault)
{
    struct chunk_settling settling = { 0 };
    int r;

    do
        r = process(from, work->chunk->chunk, work->run, work->decoder, fault);
    while (frame_chunk_settle(from->object, r, &settling, fault));
    return r;
}

static int process_run(struct frame *frame, process_blocks *process,
                       const struct work *work, struct fault *fault)
{
    const struct open_chunk *open = (const struct open_chunk *)work->chunk;
    uint64_t chunk_no = work->chunk->span.chunk_no;
    struct frame_source source = open->source;
    struct blocks_source from = {
        .bytes = open->bytes,
        .sums =
            !open->bytes && open->sums ? chunk_sums_blocks(open->sums) : NULL,
    };
    int r;

    if (!open->bytes) {
        r = frame_source_open(frame, chunk_no, &work->chunk->entry, &source,
                              fault);
        if (r < 0)
            return r;
        from.object = source.object;
        from.off = source.off;
    }
    r = process_settled(process, work, &from, fault);
    if (r < 0)
        frame_source_fault(&source, chunk_no, r, fault);
    if (open->bytes)
        return r;
    frame_source_close(frame, &source);
    return frame_check_kept(frame, r, fault);
}

int frame_chunk_decode(struct frame *frame, const struct frame_chunk *chunk,
                       const struct blocks_run *run,
                       struct chunk_decoder *decoder, struct fault *fault)
{
    return process_run(frame, blocks_decode,
                       &(struct work){ chunk, run, decoder }, fault);
}

int frame_chunk_check(struct frame *frame, const struct frame_chunk *chunk,
                      const struct blocks_run *run,
                      struct chunk_decoder *decoder, struct fault *fault)
{
    return process_run(frame, blocks_check,
                       &(struct work){ chunk, run, decoder }, fault);
}

int frame_chunk_check_all(struct frame *frame, uint64_t chunk_no,
                          struct fault *fault)
{
    struct chunk_decoder *decoder;
    struct frame_chunk *chunk;
    struct frame_entry entry;
    int r = frame_get_entry(frame, chunk_no, &entry, fault);

    if (r < 0 || !frame_chunk_has_sums(frame, &entry))
        return r;
    r = chunk_decoder_new(cpu_features(), &decoder);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_chunk_open(frame, chunk_no, &chunk, fault);
    if (r == 0) {
        const struct blocks_run all = { .n = chunk->nblocks };

        r = frame_chunk_check(frame, chunk, &all, decoder, fault);
        frame_chunk_close(chunk);
    }
    chunk_decoder_free(decoder);
    return r;
}

/* Decode a chunk, or repeat its pattern. */
static int read_whole(struct frame *frame, const struct frame_chunk *chunk,
                      uint8_t *dst, struct fault *fault)
{
    const struct blocks_run all = { .n = chunk->nblocks, .dst = dst };
    struct chunk_decoder *decoder;
    uint32_t nbytes = chunk->span.nbytes;
    int r;

    if (chunk->nblocks == 0) {
        for (uint32_t done = 0; done < nbytes;) {
            size_t n = nbytes - done < chunk->pattern_len ? nbytes - done
                                                          : chunk->pattern_len;

            memcpy(dst + done, chunk->pattern, n);
            done += (uint32_t)n;
        }
        return 0;
    }
    r = chunk_decoder_new(cpu_features(), &decoder);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    r = frame_chunk_decode(frame, chunk, &all, decoder, fault);
    chunk_decoder_free(decoder);
    return r;
}

int frame_chunk_read(struct frame *frame, uint64_t chunk_no, uint8_t *dst,
                     size_t len, struct fault *fault)
{
    struct frame_chunk *chunk;
    int r = frame_chunk_open(frame, chunk_no, &chunk, fault);

    if (r < 0)
        return r;
    r = chunk->span.nbytes == len
            ? read_whole(frame, chunk, dst, fault)
            : fault_set(fault, -EBADMSG, 0, "chunk has another size");
    frame_chunk_close(chunk);
    return r;
}
