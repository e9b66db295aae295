/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "writer/frame_writer_private.h"

/* Write a chunk once more, with sums.  A damaged one stays as it is. */
static int add_to_chunk(struct frame_writer *writer, struct frame *frame,
                        uint64_t chunk_no, struct fault *fault)
{
    struct frame_written written;
    int r = frame_writer_copy(writer, frame, chunk_no, &written, fault);

    if (r == -EBADMSG || r == -ENOTSUP)
        return 0;
    if (r < 0)
        return r;
    if (written.summed)
        r = frame_writer_put(writer, chunk_no, &written);
    if (r < 0 || !written.summed)
        frame_writer_drop(writer, &written);
    return r < 0 ? fault_set(fault, r, 0, NULL) : 0;
}

int frame_writer_add_sums(struct frame_writer *writer, struct frame *frame,
                          struct fault *fault)
{
    int r = 0;

    for (uint64_t i = 0; i < writer->info.nchunks && r == 0; i++) {
        struct table_chunk chunk;

        r = chunk_table_next_stored(writer->chunks, &i, &chunk);
        if (r < 0)
            return fault_set(fault, r, 0, NULL);
        if (r == 0)
            break;
        r = sum_places_have(&writer->places, (uint64_t)chunk.entry)
                ? 0
                : add_to_chunk(writer, frame, i, fault);
    }
    return r;
}
