/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "chunk/chunk_encode.h"
#include "chunk/chunk_format.h"
#include "frame/frame_source.h"
#include "repair/repair_private.h"
#include "writer/frame_writer.h"

/* Choose the parameters of the new frame. */
static struct frame_params params_of(const struct repair *repair)
{
    const struct frame_info *info = &repair->view.info;
    struct frame_params params = {
        .chunks = frame_chunk_params(info),
        .chunksize = info->chunksize,
    };

    for (size_t i = 0; i < repair->chunks.n && !params.vlblocks; i++)
        params.vlblocks = repair->chunks.chunks[i].state == REPAIR_GOOD &&
                          repair->chunks.chunks[i].kind == CHUNK_VLBLOCKS;
    if (chunk_params_check(&params.chunks) < 0)
        params.chunks = (struct chunk_params){
            .typesize = info->typesize,
            .clevel = 5,
            .split_mode = CHUNK_SPLIT_FORWARD,
        };
    return params;
}

static int write_layers(const struct repair *repair,
                        struct frame_writer *writer, struct fault *fault)
{
    const struct layers *fixed = &repair->fixed;
    const struct layers *vl = &repair->vl;
    int r = 0;

    for (size_t i = 0; i < fixed->nlayers && r == 0; i++)
        r = frame_writer_set_metalayer(writer, fixed->layers[i].name,
                                       fixed->layers[i].bytes,
                                       fixed->layers[i].len);
    for (size_t i = 0; i < vl->nlayers && r == 0; i++)
        r = frame_writer_set_vlmetalayer(
            writer, vl->layers[i].name, vl->layers[i].bytes, vl->layers[i].len);
    return r < 0 ? fault_set(fault, r, 0, "a metalayer can't be saved") : 0;
}

/* Write a chunk that is a header alone: NaNs, or uninitialised. */
static int write_special(struct frame_writer *writer,
                         const struct repair_chunk *chunk,
                         struct frame_written *out, struct fault *fault)
{
    uint32_t typesize = frame_writer_get_info(writer)->typesize;
    const struct chunk_header header = {
        .kind = chunk->kind == CHUNK_NANS ? CHUNK_NANS : CHUNK_UNINIT,
        .typesize = typesize <= UINT8_MAX ? (uint8_t)typesize : 1,
        .nbytes = chunk->nbytes,
        .blocksize = 1,
        .cbytes = CHUNK_LONG_HEADER_LEN,
    };
    uint8_t bytes[CHUNK_LONG_HEADER_LEN];

    chunk_header_write(&header, bytes);
    return frame_writer_write(writer, bytes, sizeof(bytes), out, fault);
}

/* A chunk, and its bytes as they are stored. */
struct stored {
    const struct repair_chunk *chunk;
    uint8_t *bytes;
};

/* Encode a chunk with a short header again, because frames no longer contain
   such chunks. */
static int convert_header(struct repair *repair, struct frame_writer *writer,
                          const struct stored *stored,
                          struct frame_written *out, struct fault *fault)
{
    const struct repair_chunk *chunk = stored->chunk;
    struct chunk_params params = params_of(repair).chunks;
    size_t cap = (size_t)chunk->nbytes + CHUNK_OVERHEAD_MAX;
    struct chunk_encoder *encoder = NULL;
    uint8_t *decoded = malloc(chunk->nbytes);
    uint8_t *encoded = malloc(cap);
    const struct chunk_items items = repair_items(repair);
    ssize_t n = -ENOMEM;

    if (decoded && encoded && chunk_encoder_new(cpu_features(), &encoder) == 0)
        n = chunk_decode(
            &(struct stored_chunk){ stored->bytes, chunk->cbytes, &items },
            decoded, chunk->nbytes, repair->decoder, fault);
    if (n >= 0)
        n = chunk_encode(encoder, &params,
                         &(struct chunk_content){ decoded, (size_t)n }, encoded,
                         cap);
    if (n >= 0)
        n = frame_writer_write(writer, encoded, (size_t)n, out, fault);
    else
        fault_set(fault, (int)n, 0, NULL);
    chunk_encoder_free(encoder);
    free(decoded);
    free(encoded);
    return (int)n;
}

static int write_stored(struct repair *repair, struct frame_writer *writer,
                        const struct repair_chunk *chunk,
                        struct frame_written *out, struct fault *fault)
{
    const struct frame_entry entry = { .place = chunk->place };
    const struct stored stored = { chunk, malloc(chunk->cbytes) };
    struct frame_source source;
    int r;

    if (!stored.bytes)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = frame_source_open(&repair->view, 0, &entry, &source, fault);
    if (r < 0) {
        free(stored.bytes);
        return r;
    }
    r = store_object_read_at(source.object, source.off, stored.bytes,
                             chunk->cbytes);
    frame_source_close(&repair->view, &source);
    if (r < 0)
        fault_set(fault, r, source.off, NULL);
    else if (chunk->header_len == CHUNK_SHORT_HEADER_LEN &&
             chunk->nbytes <= FRAME_WRITER_CONVERT_MAX)
        r = convert_header(repair, writer, &stored, out, fault);
    else
        r = frame_writer_write(writer, stored.bytes, chunk->cbytes, out, fault);
    free(stored.bytes);
    return r;
}

static int write_chunk(struct repair *repair, struct frame_writer *writer,
                       const struct repair_chunk *chunk, struct fault *fault)
{
    struct frame_written written;
    int r;

    if (chunk->nbytes == 0)
        return 0;
    if (chunk->state == REPAIR_GOOD)
        r = write_stored(repair, writer, chunk, &written, fault);
    else if (chunk->state == REPAIR_SPECIAL && chunk->kind != CHUNK_ZEROS)
        r = write_special(writer, chunk, &written, fault);
    else
        r = frame_writer_write_zeros(writer, chunk->nbytes, &written, fault);
    if (r < 0)
        return r;
    r = frame_writer_insert(writer, frame_writer_get_info(writer)->nchunks,
                            &written);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

/* Write a list entry: a chunk, and the equal ones that it stands for. */
static int write_run(struct repair *repair, struct frame_writer *writer,
                     const struct repair_chunk *chunk, struct fault *fault)
{
    const struct frame_info *info = frame_writer_get_info(writer);
    uint64_t n = repair_count(chunk);
    int r = 0;

    if (n > 1 && chunk->kind == CHUNK_ZEROS && info->chunksize > 0 &&
        chunk->nbytes == info->chunksize)
        return frame_writer_resize(writer, info->nbytes + n * chunk->nbytes,
                                   fault);
    for (uint64_t i = 0; i < n && r == 0; i++)
        r = write_chunk(repair, writer, chunk, fault);
    return r;
}

static int write_all(struct repair *repair, struct frame_writer *writer,
                     struct fault *fault)
{
    const struct repair_list *list = &repair->chunks;
    uint64_t done = 0;
    int r = write_layers(repair, writer, fault);

    if (r == 0 && list->n > 0 && repair->view.info.chunksize == 0)
        r = frame_writer_make_variable(writer, fault);
    for (size_t i = 0; i < list->n && r == 0; i++) {
        r = write_run(repair, writer, &list->chunks[i], fault);
        if (r == 0)
            r = repair_progress(repair, done += list->chunks[i].cbytes,
                                repair->view.info.cbytes);
    }
    if (r == 0 && repair->nbytes_padded > 0)
        r = frame_writer_resize(writer,
                                frame_writer_get_info(writer)->nbytes +
                                    repair->nbytes_padded,
                                fault);
    return r;
}

int repair_write(struct repair *repair, struct store *to, struct fault *fault)
{
    struct frame_params params = params_of(repair);
    struct frame_writer *writer;
    struct frame *frame;
    int r = frame_writer_new(to, &params, &writer, fault);

    if (r < 0)
        return r;
    r = write_all(repair, writer, fault);
    if (r == 0)
        r = frame_writer_commit(writer, &frame, fault);
    if (r == 0)
        frame_close(frame);
    frame_writer_close(writer);
    return r;
}
