/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_sums.h"
#include "writer/frame_commit.h"

/* Compute the sum of the sizes of a group of chunks. */
static int sum_sizes(struct chunk_table *chunks, size_t group_no, uint8_t *dst)
{
    uint64_t first = (uint64_t)group_no * FRAME_GUARD_GROUP;
    uint64_t rest = chunk_table_count(chunks) - first;
    size_t n = rest < FRAME_GUARD_GROUP ? (size_t)rest : FRAME_GUARD_GROUP;
    uint32_t nbytes[FRAME_GUARD_GROUP];
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        struct table_chunk chunk;

        r = chunk_table_get(chunks, first + i, &chunk);
        nbytes[i] = chunk.nbytes;
    }
    store_le64(dst, r == 0 ? frame_sums_of_sizes(nbytes, n) : 0);
    return r;
}

/* Compute the sums of the sizes of all chunks. */
static int sum_all_sizes(const struct frame_commit *commit,
                         struct frame_sums *sums)
{
    int r = 0;

    sums->sizes = malloc(sums->ngroups * FRAME_GUARD_SIZES_LEN + 1);
    if (!sums->sizes)
        return -ENOMEM;
    for (size_t i = 0; i < sums->ngroups && r == 0; i++)
        r = sum_sizes(commit->chunks, i,
                      sums->sizes + i * FRAME_GUARD_SIZES_LEN);
    return r;
}

static int write_guard(struct frame_commit *commit, size_t index_len,
                       struct frame_sums *sums)
{
    int r = sum_all_sizes(commit, sums);

    if (r == 0)
        r = frame_sums_of_index(commit->tail, index_len, sums);
    if (r == 0)
        frame_sums_encode(sums, commit->guard);
    free(sums->sizes);
    free(sums->index);
    return r;
}

int frame_commit_add_guard(struct frame_commit *commit, size_t len,
                           size_t behind)
{
    const struct frame_writer *writer = commit->writer;
    struct frame_sums sums = {
        .unsummed = commit->places->unsummed,
    };
    struct chunk_header header;
    struct fault ignored;
    uint8_t *tail;
    int r = chunk_header_parse(commit->tail, len, &header, &ignored);

    if (r < 0)
        return r;
    sums.index_len = chunk_sums_len(&header);
    if (writer->variable)
        sums.ngroups =
            (size_t)size_pieces(writer->info.nchunks, FRAME_GUARD_GROUP);
    if (writer->sums || writer->guarded)
        commit->guard_len = frame_sums_guard_len(&sums);
    if (commit->guard_len > FRAME_GUARD_LEN_MAX)
        commit->guard_len = 0;
    tail = realloc(commit->tail, len + commit->guard_len + behind);
    if (!tail)
        return -ENOMEM;
    commit->tail = tail;
    commit->guard = tail + len;
    return commit->guard_len > 0 ? write_guard(commit, len, &sums) : 0;
}

int frame_commit_seal(struct frame_commit *commit)
{
    uint8_t *end = commit->tail + commit->index_len + commit->trailer_len -
                   FRAME_TRAILER_END_LEN;
    struct frame_info info = commit->info;

    if (commit->guard_len == 0)
        return 0;
    if (commit->writer->variable)
        info.chunksize = 0;
    end[FRAME_FINGERPRINT_TYPE_OFF] = FRAME_FINGERPRINT_128;
    return frame_sums_fingerprint(&info, commit->guard, commit->guard_len,
                                  end + FRAME_FINGERPRINT_OFF);
}
