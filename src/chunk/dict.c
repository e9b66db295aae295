/* SPDX-License-Identifier: BSD-3-Clause */
#include "chunk/dict.h"

#include "base/bytes.h"
#include "chunk/chunk_format.h"

/* Limits of the size of a dictionary, and of the samples it is made from. */
enum {
    DICT_SHARE = 20, /* it is at most this part of the chunk */
    DICT_MIN = 256,
    NSAMPLES_MIN = 8,
    SAMPLE_SHARE = 16, /* the samples are this part of the chunk */
};

bool dict_plan(uint32_t nbytes, size_t nstreams, size_t capacity,
               struct dict_plan *out)
{
    size_t nsamples = nstreams < NSAMPLES_MIN ? NSAMPLES_MIN : nstreams;
    size_t max = nbytes / DICT_SHARE;

    if (max > CHUNK_DICT_MAX)
        max = CHUNK_DICT_MAX;
    if (max < DICT_MIN || capacity < CHUNK_DICT_PREFIX_LEN + max ||
        nbytes / nsamples < SAMPLE_SHARE)
        return false;

    *out = (struct dict_plan){
        .nsamples = (unsigned)nsamples,
        .sample_len = nbytes / nsamples / SAMPLE_SHARE,
        .dict_max = max,
    };
    return true;
}

ssize_t dict_write(const struct codec *codec, int level,
                   const struct dict_plan *plan, uint8_t *dst,
                   struct codec_dict **out)
{
    uint8_t *dict = dst + CHUNK_DICT_PREFIX_LEN;
    size_t len = codec->make_dict(plan->samples, plan->sample_len,
                                  plan->nsamples, dict, plan->dict_max);
    int r;

    if (len == 0)
        return 0;
    r = codec->new_encode_dict(dict, len, level, out);
    if (r < 0)
        return r;
    store_le32(dst, (uint32_t)len);
    return (ssize_t)(CHUNK_DICT_PREFIX_LEN + len);
}
