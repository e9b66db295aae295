/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_H
#define CHUNK_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "chunk/chunk_items.h"

/*
 * Codec numbers, as in byte 22 of a chunk header.  6 and 7 stand for the two
 * format numbers 5 and 7 that have no codec number of their own.
 *
 * Format: Codecs inside Blosc2 chunks, 1 "Ids" and 7 "Plugin codecs".
 */
enum codec_id {
    CODEC_BLOSCLZ = 0,
    CODEC_LZ4 = 1,
    CODEC_LZ4HC = 2,
    CODEC_SNAPPY = 3,
    CODEC_ZLIB = 4,
    CODEC_ZSTD = 5,
    CODEC_LIZARD = 6,
    CODEC_NONE = 7, /* the container is to say which codec it is */
    CODEC_NDLZ = 32,
    CODEC_ZFP_ACC = 33,
    CODEC_ZFP_PREC = 34,
    CODEC_ZFP_RATE = 35,
    CODEC_OPENHTJ2K = 36,
    CODEC_GROK = 37,
    CODEC_OPENZL = 38,
    CODEC_J2K = 39,
    CODEC_HTJ2K = 40,
};

enum {
    CODEC_NIDS = 256,    /* a codec number has a byte in a chunk header */
    CODEC_LEVEL_MAX = 9, /* of all codecs; chunks of level 0 are not encoded */
    CODEC_NTRIALS = 3,   /* levels, see struct codec */
};

/*
 * The memory that a codec keeps from one stream to the next.  The codec makes
 * each of the two when it first needs it, and frees it in its fini().
 */
struct codec_context {
    void *decoder;
    void *encoder;
};

/* The contexts of one thread. */
struct codec_state {
    struct codec_context contexts[CODEC_NIDS]; /* by codec number */
};

/* A dictionary, digested for one codec; constant, so threads may share it. */
struct codec_dict;

struct chunk_params;
struct codec;

/* A stream to decode or to encode. */
struct codec_stream {
    const struct codec *codec;
    struct codec_context *context;   /* that codec's, of this thread */
    const struct codec_dict *dict;   /* NULL: none */
    const struct chunk_items *items; /* NULL only for a codec that does not
                                        use the shape of blocks */
    uint8_t typesize;                /* of the chunk header */
    uint8_t meta;                    /* parameter of the codec */
    int level;                       /* to encode: 1 (fastest) to
                                      CODEC_LEVEL_MAX (smallest) */
    const uint8_t *src;
    size_t src_len; /* bytes, more than 0 */
    uint8_t *dst;
    size_t dst_len; /* bytes: of the decoded stream, or room to encode */
};

/*
 * One codec.  The caller always knows the decoded size of a stream beforehand.
 */
struct codec {
    enum codec_id id;
    const char *name;

    /* At levels below this one, it usually pays to split blocks; 0: never. */
    int split_below;
    bool wants_large_blocks; /* slow codecs find more matches in them */
    bool must_split;         /* each stream is a plane of bytes, so blocks have
                                to be split always */
    bool uses_shape;         /* it suits only blocks of an array, because it
                                uses their shape */
    bool codes_items; /* it encodes numbers, so no filter may go before it that
                         rearranges their bytes */
    bool is_lossy;    /* decoding does not give back what was encoded, nor does
                         encoding that once more */
    bool has_meta;    /* it has a parameter, which users must give */
    bool meta_is_signed; /* that is a number from -128 to 127 */

    /* Levels to try when a program looks for the codec that suits some data.
       Unused elements are 0. */
    uint8_t trial_levels[CODEC_NTRIALS];

    /*
     * Can chunks be encoded with these parameters?  NULL if any will do.
     * Returns 0 or -EINVAL.
     */
    int (*check)(const struct chunk_params *params);

    /* Tell why no stream of this chunk can be decoded, as a phrase; NULL if it
       can be.  The member is NULL if it always can be. */
    const char *(*refuse)(const struct codec_stream *stream);

    /*
     * Decode a stream to exactly `dst_len` bytes.  The dictionary, if any, is
     * from new_dict().
     * Returns 0, -EBADMSG or -ENOMEM.
     */
    int (*decode)(const struct codec_stream *stream);

    /*
     * Encode a stream to at most `dst_len` bytes.  The dictionary, if any, is
     * from new_encode_dict() for the same level.
     * Returns the encoded size, 0 if it would exceed `dst_len`, or -ENOMEM.
     * NULL for a codec that can only decode.
     */
    ssize_t (*encode)(const struct codec_stream *stream);

    /* Free the members of the context.  NULL if the codec keeps
       nothing. */
    void (*fini)(struct codec_context *context);

    /*
     * Digest a dictionary of 1 to 32768 bytes, which are copied.
     * Returns 0, -EBADMSG or -ENOMEM.  NULL if the codec takes no dictionary;
     * that of a chunk is then ignored.
     */
    int (*new_dict)(const uint8_t *bytes, size_t len, struct codec_dict **out);
    void (*free_dict)(struct codec_dict *dict);
    /* Return the bytes of memory that a dictionary of new_dict() takes up. */
    size_t (*dict_footprint)(const struct codec_dict *dict);

    /*
     * Make a dictionary from `nsamples` samples of `sample_len` bytes each,
     * one after the other.
     * Returns its size, at most `dst_cap`, or 0 if the samples do not yield
     * one.  NULL if the codec takes no dictionary.
     */
    size_t (*make_dict)(const uint8_t *samples, size_t sample_len,
                        unsigned nsamples, uint8_t *dst, size_t dst_cap);

    /*
     * Digest a dictionary as new_dict() does, but to encode with `level`.
     * free_dict() frees it.  NULL if make_dict() is NULL.
     */
    int (*new_encode_dict)(const uint8_t *bytes, size_t len, int level,
                           struct codec_dict **out);
};

/* Return the codec of a number, or NULL if this build lacks it and there is no
   plug-in for it. */
const struct codec *codec_by_id(unsigned id);

/* Return the codec of a name such as "lz4hc", or of the number of a plug-in
   such as "200"; or NULL if there is none or it can only decode. */
const struct codec *codec_by_name(const char *name);

/*
 * Return the name of a registered codec number, even if this build lacks the
 * codec; "unknown" for all other numbers.
 */
const char *codec_name(unsigned id);

/* Make the contexts of one thread.  Returns 0 or -ENOMEM. */
int codec_state_new(struct codec_state **out);

/* Accepts NULL. */
void codec_state_free(struct codec_state *state);

/* Return the context of a codec. */
static inline struct codec_context *codec_get_context(struct codec_state *state,
                                                      const struct codec *codec)
{
    return &state->contexts[codec->id];
}

#endif
