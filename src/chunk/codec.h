/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CHUNK_CODEC_H
#define CHUNK_CODEC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/* Codec contexts of one thread, each made when it is first needed. */
struct codec_state;

/* A dictionary, digested for one codec; constant, so threads may share it. */
struct codec_dict;

/*
 * One codec.  The caller always knows the decoded size of a stream beforehand.
 */
struct codec {
    enum codec_id id;
    const char *name;

    /*
     * Decode the `src_len` > 0 bytes of `src` to exactly `dst_len` bytes.
     * `dict` is NULL or came from new_dict().
     * Returns 0, -EBADMSG or -ENOMEM.
     */
    int (*decode)(struct codec_state *state, const struct codec_dict *dict,
                  const uint8_t *src, size_t src_len, uint8_t *dst,
                  size_t dst_len);

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
     * Encode the `src_len` > 0 bytes of `src` to at most `dst_cap` bytes.
     * `level` is 1 (fastest) to 9 (smallest); `dict` is NULL or came from
     * new_encode_dict() for the same level.
     * Returns the encoded size, 0 if it would exceed `dst_cap`, or -ENOMEM.
     */
    ssize_t (*encode)(struct codec_state *state, const struct codec_dict *dict,
                      int level, const uint8_t *src, size_t src_len,
                      uint8_t *dst, size_t dst_cap);

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

/* Return the codec of a number, or NULL if this build lacks it. */
const struct codec *codec_by_id(unsigned id);

/* Return the codec of a name such as "lz4hc", or NULL. */
const struct codec *codec_by_name(const char *name);

/*
 * Return the name of a registered codec number, even if this build lacks the
 * codec; "unknown" for all other numbers.
 */
const char *codec_name(unsigned id);

/* Returns 0 or -ENOMEM. */
int codec_state_new(struct codec_state **out);

/* Accepts NULL. */
void codec_state_free(struct codec_state *state);

#endif
