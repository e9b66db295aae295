/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame/walk_group.h"

#include <errno.h>
#include <stdlib.h>

#include "base/size.h"
#include "chunk/chunk_format.h"
#include "frame/frame_private.h"

enum {
    WALK_FILES_MAX = 1 << 22 /* chunk files that a walk opens at most */
};

uint64_t walk_group_count(const struct frame *frame)
{
    return size_pieces(frame->info.nchunks, WALK_GROUP);
}

int walk_group_check(const struct frame *frame, uint64_t nstored,
                     struct fault *fault)
{
    if (frame->info.sparse && nstored > WALK_FILES_MAX)
        return frame_fault(frame, -ENOTSUP, 0,
                           "too many chunk files of differing size", fault);
    if (!frame->info.sparse && nstored > frame->info.cbytes / FRAME_CHUNK_MIN)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_CBYTES_OFF,
                           "the chunks section has no room for all chunks",
                           fault);
    return 0;
}

/* Add the size of a stored chunk, or return its error. */
static int count_stored(struct frame *frame, struct walk_reading *reading,
                        size_t i, struct fault *fault)
{
    uint64_t chunk_no = reading->first + i;
    struct frame_sizes *sizes = &reading->sizes[i];
    uint32_t chunksize = frame->info.chunksize;

    if (sizes->error < 0) {
        /* Read it again to learn where and why it fails. */
        int r = frame_source_sizes(frame, chunk_no, &reading->entries[i], sizes,
                                   fault);

        if (r < 0)
            return r;
    }
    if (chunksize > 0 && sizes->nbytes > chunksize) {
        frame_fault(frame, -EBADMSG, reading->entries[i].place,
                    "chunk is larger than the chunksize", fault);
        fault->chunk_no = (int64_t)chunk_no;
        return -EBADMSG;
    }
    reading->tally.nbytes += sizes->nbytes;
    reading->tally.nstored++;
    return 0;
}

int walk_group_read(struct frame *frame, uint64_t group_no,
                    struct walk_reading *reading, struct fault *fault)
{
    uint64_t rest;
    int r;

    reading->first = group_no * WALK_GROUP;
    rest = frame->info.nchunks - reading->first;
    reading->n = rest < WALK_GROUP ? (size_t)rest : WALK_GROUP;
    reading->tally = (struct walk_tally){ 0 };

    r = frame_read_raw(frame, reading->first, reading->n, reading->raw, fault);
    for (size_t i = 0; i < reading->n && r == 0; i++)
        r = frame_parse_entry(frame, reading->first + i, reading->raw[i],
                              &reading->entries[i], fault);
    if (r == 0)
        r = frame_source_sizes_of(frame, reading->entries, reading->n,
                                  reading->sizes, fault);
    for (size_t i = 0; i < reading->n && r == 0; i++) {
        if (reading->entries[i].special)
            reading->tally.nspecial++;
        else
            r = count_stored(frame, reading, i, fault);
    }
    return r;
}

/* Add up the sizes of all stored chunks. */
static int walk_all(struct frame *frame, struct walk_reading *reading,
                    struct walk_tally *total, struct fault *fault)
{
    uint64_t ngroups = walk_group_count(frame);

    *total = (struct walk_tally){ 0 };
    for (uint64_t i = 0; i < ngroups; i++) {
        int r = walk_group_read(frame, i, reading, fault);

        if (r < 0)
            return r;
        total->nbytes += reading->tally.nbytes;
        total->nstored += reading->tally.nstored;
        total->nspecial += reading->tally.nspecial;
        r = walk_group_check(frame, total->nstored, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Returns the size that special chunks must have for the sum to be right; 0 if
   there is none. */
static uint64_t fitting_size(const struct frame_info *info,
                             const struct walk_tally *total)
{
    uint64_t most = info->chunksize > 0 ? info->chunksize : CHUNK_NBYTES_MAX;
    uint64_t missing;

    if (total->nbytes > info->nbytes)
        return 0;
    missing = info->nbytes - total->nbytes;
    if (info->chunksize > 0 && missing % info->chunksize == 0 &&
        missing / info->chunksize == total->nspecial)
        return info->chunksize;
    return total->nspecial == 1 && missing <= most ? missing : 0;
}

int walk_group_special_nbytes(struct frame *frame, uint32_t *out,
                              struct fault *fault)
{
    struct walk_reading *reading = malloc(sizeof(*reading));
    struct walk_tally total;
    uint64_t nbytes;
    int r;

    if (!reading)
        return fault_set(fault, -ENOMEM, 0, NULL);
    r = walk_all(frame, reading, &total, fault);
    free(reading);
    if (r < 0)
        return r;
    nbytes = fitting_size(&frame->info, &total);
    if (nbytes == 0)
        return frame_fault(frame, -EBADMSG, frame->base + FRAME_NBYTES_OFF,
                           "the sizes of special chunks are lost", fault);
    *out = (uint32_t)nbytes;
    return 0;
}
