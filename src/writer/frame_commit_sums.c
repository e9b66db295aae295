/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/size.h"
#include "chunk/chunk_sums.h"
#include "frame/array_format.h"
#include "frame/array_sum.h"
#include "frame/frame_layer_sums.h"
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

/* Compute the sum of the names of the metalayers in the header. */
static uint64_t sum_names(const struct layers *fixed)
{
    struct metalayer layers[FRAME_METALAYERS_MAX] = { 0 };
    size_t n = fixed->nlayers;

    for (size_t i = 0; i < n && i < FRAME_METALAYERS_MAX; i++) {
        memcpy(layers[i].name, fixed->layers[i].name, sizeof(layers[i].name));
        layers[i].len = fixed->layers[i].len;
    }
    return frame_sums_of_names(layers, n);
}

/* Compute the sums of the contents of layers.  Returns where they end. */
static uint8_t *sum_contents(const struct layers *layers, uint8_t *at)
{
    for (size_t i = 0; i < layers->nlayers; i++, at += FRAME_GUARD_LAYER_LEN)
        store_le64(at, frame_sums_of_bytes(layers->layers[i].bytes,
                                           layers->layers[i].len));
    return at;
}

/* Compute the sum of the start of the trailer, before the first value. */
static uint64_t sum_trailer(const struct frame_commit *commit)
{
    const struct layers *vl = &commit->writer->vl;
    size_t len = commit->trailer_len - FRAME_TRAILER_END_LEN;

    for (size_t i = 0; i < vl->nlayers; i++)
        len -= FRAME_VALUE_HEAD_LEN + (size_t)vl->layers[i].len;
    return frame_sums_of_bytes(commit->tail + commit->index_len, len);
}

/* Compute the sums of all metalayers. */
static int sum_layers(const struct frame_commit *commit,
                      struct frame_sums *sums)
{
    const struct layers *fixed = &commit->writer->fixed;
    const struct layer *array = layers_find(fixed, ARRAY_LAYER_B2ND);

    if (!array)
        array = layers_find(fixed, ARRAY_LAYER_CATERVA);
    sums->layers =
        malloc((sums->nvl + sums->nfixed) * FRAME_GUARD_LAYER_LEN + 1);
    if (!sums->layers)
        return -ENOMEM;
    sum_contents(fixed, sum_contents(&commit->writer->vl, sums->layers));
    sums->trailer = sum_trailer(commit);
    sums->names = sum_names(fixed);
    sums->array = array ? array_sum(array->bytes, array->len) : 0;
    return 0;
}

/* Encode the tags. */
static void write_tags(const struct frame_commit *commit,
                       struct frame_sums *sums)
{
    size_t len = commit->ntags * FRAME_TAG_LEN;

    chunk_tags_encode(commit->tags, commit->ntags, commit->guard - len);
    sums->tags = frame_sums_of_bytes(commit->guard - len, len);
}

/* The sums of the state, as far as their number goes. */
static struct frame_sums count_sums(const struct frame_commit *commit)
{
    const struct frame_writer *writer = commit->writer;
    struct frame_sums sums = {
        .unsummed = commit->places->unsummed,
        .nvl = writer->vl.nlayers,
        .nfixed = writer->fixed.nlayers,
    };

    if (writer->variable)
        sums.ngroups =
            (size_t)size_pieces(writer->info.nchunks, FRAME_GUARD_GROUP);
    return sums;
}

int frame_commit_write_guard(struct frame_commit *commit)
{
    struct frame_sums sums = count_sums(commit);
    size_t index_len =
        (size_t)(commit->guard - commit->tail) - commit->ntags * FRAME_TAG_LEN;
    int r = sum_all_sizes(commit, &sums);

    write_tags(commit, &sums);
    if (r == 0)
        r = sum_layers(commit, &sums);
    if (r == 0)
        r = frame_sums_of_index(commit->tail, index_len, &sums);
    if (r == 0)
        frame_sums_encode(&sums, commit->guard);
    free(sums.sizes);
    free(sums.layers);
    free(sums.index);
    return r;
}

int frame_commit_add_guard(struct frame_commit *commit, size_t len,
                           size_t behind)
{
    const struct frame_writer *writer = commit->writer;
    struct frame_sums sums = count_sums(commit);
    struct chunk_header header;
    struct fault ignored;
    size_t guard_len;
    size_t tags_len;
    uint8_t *tail;
    int r = chunk_header_parse(commit->tail, len, &header, &ignored);

    if (r < 0)
        return r;
    sums.index_len = chunk_sums_len(&header);
    guard_len = frame_sums_guard_len(&sums);
    if ((writer->sums || writer->guarded) && guard_len <= FRAME_GUARD_LEN_MAX) {
        commit->guard_len = guard_len;
        commit->ntags = frame_sums_ntags(writer->info.nchunks);
        chunk_tags_revive(commit->tags, writer->info.nchunks);
    }
    tags_len = commit->ntags * FRAME_TAG_LEN;
    tail = realloc(commit->tail, len + tags_len + commit->guard_len + behind);
    if (!tail)
        return -ENOMEM;
    commit->tail = tail;
    commit->guard = tail + len + tags_len;
    return 0;
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
