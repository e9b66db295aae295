/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/cpu.h"
#include "chunk/chunk_format.h"
#include "frame/frame_source.h"
#include "writer/frame_writer_private.h"

/* Encode bytes with the frame's parameters, or with defaults if this build
   cannot use those. */
static ssize_t encode(struct frame_writer *writer, const uint8_t *src,
                      size_t len, uint8_t *dst, size_t cap)
{
    struct chunk_params params = frame_chunk_params(&writer->info);
    struct chunk_encoder *encoder;
    ssize_t r;

    if (chunk_params_check(&params) < 0)
        params = (struct chunk_params){
            .typesize = writer->info.typesize,
            .clevel = 5,
            .split_mode = CHUNK_SPLIT_FORWARD,
        };
    r = chunk_encoder_new(cpu_features(), &encoder);
    if (r < 0)
        return r;
    r = chunk_encode(encoder, &params, &(struct chunk_content){ src, len }, dst,
                     cap);
    chunk_encoder_free(encoder);
    return r;
}

static int write_bytes(struct frame_writer *writer, const uint8_t *src,
                       size_t len, struct frame_written *out,
                       struct fault *fault)
{
    size_t cap = len + CHUNK_OVERHEAD_MAX;
    uint8_t *chunk = malloc(cap);
    ssize_t n = chunk ? encode(writer, src, len, chunk, cap) : -ENOMEM;
    int r;

    if (n < 0)
        r = fault_set(fault, (int)n, 0, NULL);
    else
        r = frame_writer_write(writer, chunk, (size_t)n, out, fault);
    free(chunk);
    return r;
}

/* A chunk to be copied. */
struct original {
    struct frame *frame;
    uint64_t chunk_no;
    struct frame_entry entry;
};

/* Decode a chunk, and encode it again. */
static int copy_decoded(struct frame_writer *writer,
                        const struct original *from, uint32_t nbytes,
                        struct frame_written *out, struct fault *fault)
{
    uint8_t *bytes = malloc(nbytes > 0 ? nbytes : 1);
    int r;

    if (!bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_chunk_read(from->frame, from->chunk_no, bytes, nbytes, fault);
    if (r == 0)
        r = write_bytes(writer, bytes, nbytes, out, fault);
    free(bytes);
    return r;
}

/* Read a chunk as it is stored, and write it. */
static int copy_bytes(struct frame_writer *writer,
                      const struct frame_source *source, uint32_t cbytes,
                      struct frame_written *out, struct fault *fault)
{
    uint8_t *bytes;
    int r;

    if (cbytes > source->avail)
        return fault_set(fault, -EBADMSG, 0, "chunk is cut off");
    bytes = malloc(cbytes);
    r = bytes ? store_object_read_at(source->object, source->off, bytes, cbytes)
              : -ENOMEM;
    if (r < 0)
        fault_set(fault, r, 0, NULL);
    else
        r = frame_writer_write(writer, bytes, cbytes, out, fault);
    free(bytes);
    return r;
}

/* Damaged bytes must not get sums of their own.  What this build cannot decode
   gets none. */
static int check_sums(const struct original *from, struct fault *fault)
{
    int r = frame_chunk_check_all(from->frame, from->chunk_no, fault);

    return r == -ENOTSUP ? 0 : r;
}

static int copy_stored(struct frame_writer *writer, const struct original *from,
                       struct frame_written *out, struct fault *fault)
{
    struct frame_sizes sizes;
    struct frame_source source;
    int r = frame_source_sizes(from->frame, from->chunk_no, &from->entry,
                               &sizes, fault);

    if (r < 0)
        return r;
    if (sizes.header_len == CHUNK_SHORT_HEADER_LEN)
        return copy_decoded(writer, from, sizes.nbytes, out, fault);
    r = check_sums(from, fault);
    if (r == 0)
        r = frame_source_open(from->frame, from->chunk_no, &from->entry,
                              &source, fault);
    if (r < 0)
        return r;
    r = copy_bytes(writer, &source, sizes.cbytes, out, fault);
    if (r == -EBADMSG)
        frame_source_fault(&source, from->chunk_no, r, fault);
    frame_source_close(from->frame, &source);
    return r;
}

static int copy_special(struct frame_writer *writer,
                        const struct original *from, uint32_t nbytes,
                        struct frame_written *out, struct fault *fault)
{
    enum chunk_kind kind = from->entry.kind;
    bool fits_index = !writer->variable && nbytes % writer->info.typesize == 0;

    if (!fits_index && kind == CHUNK_NANS)
        return copy_decoded(writer, from, nbytes, out, fault);
    if (!fits_index)
        return frame_writer_write_zeros(writer, nbytes, out, fault);
    *out = (struct frame_written){
        .entry = frame_special_entry(kind),
        .nbytes = nbytes,
        .check = frame_keys_check_special(kind),
        .epoch = writer->epoch,
    };
    return 0;
}

/* Can an index entry stand for each full-size chunk that is appended from
   another frame? */
static bool fits_run(const struct frame_writer *writer,
                     const struct frame *from)
{
    const struct frame_info *info = &writer->info;

    return !writer->variable && !from->walk && from->info.chunksize > 0 &&
           info->chunksize == from->info.chunksize &&
           info->chunksize % info->typesize == 0 &&
           info->nbytes == info->nchunks * info->chunksize;
}

int frame_writer_append_run(struct frame_writer *writer, struct frame *from,
                            uint64_t chunk_no, uint64_t *n)
{
    uint64_t nfull =
        fits_run(writer, from) ? from->info.nbytes / from->info.chunksize : 0;
    struct frame_entry entry = { 0 };
    uint64_t run;
    int r;

    *n = 0;
    if (chunk_no >= nfull)
        return 0;
    run = frame_special_run(from, chunk_no, &entry);
    if (run > nfull - chunk_no)
        run = nfull - chunk_no;
    r = frame_writer_append_special(writer, entry.kind, run);
    if (r == 0)
        *n = run;
    return r;
}

int frame_writer_copy(struct frame_writer *writer, struct frame *from,
                      uint64_t chunk_no, struct frame_written *out,
                      struct fault *fault)
{
    struct original original = { .frame = from, .chunk_no = chunk_no };
    struct frame_span span;
    int r = frame_get_entry(from, chunk_no, &original.entry, fault);

    if (r == 0 && !original.entry.special)
        return copy_stored(writer, &original, out, fault);
    if (r == 0)
        r = frame_span_of(from, chunk_no, &span, fault);
    return r < 0 ? r : copy_special(writer, &original, span.nbytes, out, fault);
}
