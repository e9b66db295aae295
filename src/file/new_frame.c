/* SPDX-License-Identifier: BSD-3-Clause */
#include "file/new_frame.h"

#include <errno.h>
#include <stdlib.h>

#include "array/array.h"

/* Set the sizes of blocks and chunks that follow from the shape of an array. */
static int set_sizes(struct frame_params *params,
                     const struct block_shape *block,
                     const struct layout *layout)
{
    uint64_t blocksize = (uint64_t)layout->block_nitems * layout->itemsize;

    if (layout->nchunks > FRAME_WRITER_CHUNKS_MAX)
        return -EFBIG;
    params->chunks.block = *block;
    params->chunks.blocksize = (uint32_t)blocksize;
    params->chunksize = layout->chunk_nitems * layout->itemsize;
    return 0;
}

/* Make the content of the metalayer of an array. */
static int make_layer(const struct file_array *array, const char **name,
                      uint8_t **content, size_t *len, struct fault *fault)
{
    ssize_t n;
    int r;

    if (!array->like) {
        *name = ARRAY_LAYER_B2ND;
        r = array_encode(&array->shape, array->dtype, content, len);
        return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
    }
    n = array_read_content(array->like, name, content, fault);
    if (n < 0)
        return (int)n;
    *len = (size_t)n;
    r = array_set_parts(*content, &array->shape);
    if (r < 0) {
        free(*content);
        return fault_set(fault, r, 0,
                         "an array of this kind can have no blocks");
    }
    return 0;
}

/* Add the metalayer of an array to a new frame, and chunks for all its
   items. */
static int fill_array(struct frame_writer *writer,
                      const struct file_array *array,
                      const struct layout *layout, struct fault *fault)
{
    uint64_t chunksize = (uint64_t)layout->chunk_nitems * layout->itemsize;
    const char *name;
    uint8_t *content;
    size_t len;
    int r = make_layer(array, &name, &content, &len, fault);

    if (r < 0)
        return r;
    r = frame_writer_set_metalayer(writer, name, content, len);
    free(content);
    if (r < 0)
        return fault_set(fault, r, 0, NULL);
    return frame_writer_resize(writer, layout->nchunks * chunksize, fault);
}

static int create_array(struct store *store, const struct file_params *params,
                        struct frame_writer **out, struct fault *fault)
{
    const struct block_shape block = layout_block_shape(&params->array->shape);
    struct frame_params first = params_frame(params);
    struct frame_writer *writer;
    struct layout layout;
    int r = -EINVAL;

    if (params->chunk.typesize > 0)
        r = layout_init(&layout, &params->array->shape, params->chunk.typesize,
                        fault);
    if (r == 0)
        r = set_sizes(&first, &block, &layout);
    if (r < 0)
        return fault_set(fault, r == -EBADMSG ? -EINVAL : r, 0, fault->what);
    r = frame_writer_new_like(store, params->array->like, &first, &writer,
                              fault);
    if (r < 0)
        return r;
    r = fill_array(writer, params->array, &layout, fault);
    if (r < 0)
        frame_writer_close(writer);
    else
        *out = writer;
    return r;
}

int new_frame_begin(struct store *store, const struct file_params *params,
                    struct new_frame *out, struct fault *fault)
{
    int r;

    *fault = FAULT_NONE;
    if (params->array) {
        r = create_array(store, params, &out->writer, fault);
    } else {
        const struct frame_params first = params_frame(params);

        r = frame_writer_new(store, &first, &out->writer, fault);
    }
    if (r < 0)
        return r;
    if (params->array)
        r = frame_writer_commit(out->writer, &out->frame, fault);
    else
        r = frame_writer_begin(out->writer, &out->frame, fault);
    if (r < 0)
        frame_writer_close(out->writer);
    return r;
}
