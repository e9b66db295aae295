/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAMEFS_CODEC_H
#define FRAMEFS_CODEC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Codecs and filters of your own for framefs, b2frame and libframefs.
 *
 * A plug-in is a shared object with one codec, or one filter.  Its number, 32
 * to 255, is the one that chunks name; numbers from 160 on are free for users.
 * It is the regular file codec-NUMBER.so, or filter-NUMBER.so, in the directory
 * of plug-ins, such as codec-200.so.  It defines one of
 *
 *     const struct framefs_codec framefs_codec = { ... };
 *     const struct framefs_filter framefs_filter = { ... };
 *
 * and is built with `cc -shared -fPIC -o codec-200.so codec.c`.  It is loaded
 * when a chunk first needs it, and stays loaded.  What framefs has built in
 * takes precedence.
 *
 * Only a file that nobody can write but its owner is loaded, from a directory
 * of which, up to the root, the same is true; each belongs to root or to the
 * user of the process.  A sticky directory such as /tmp may be on the way.
 *
 * Any number of threads call the functions at the same time.  Bytes to decode
 * come from files, so they may be anything; a plug-in reads and writes only the
 * buffers that it is given.  framefs knows only from this header what a plug-in
 * does, so its members stay as they are in all versions with this number.
 */
#define FRAMEFS_CODEC_ABI 1

/* Properties, for `flags`. */
enum {
    FRAMEFS_USES_SHAPE = 1 << 0, /* needs `ndim` and `extents`, so it suits
                                    only arrays */
    FRAMEFS_IS_LOSSY = 1 << 1,   /* what is decoded is not what was encoded.
                                    Frames with content cannot be changed */
    FRAMEFS_HAS_META = 1 << 2,   /* a codec: users must give a parameter, 0 to
                                    255, as in `codec=200:7` */
};

/* The block that is being encoded or decoded. */
struct framefs_block {
    uint32_t typesize;       /* bytes per item that the chunk names, 1 to 255 */
    uint32_t itemsize;       /* that the frame names; 0: there is no frame */
    uint32_t ndim;           /* at most 16; 0: the blocks have no shape */
    const uint32_t *extents; /* items in each dimension, the last one varies
                                fastest.  They are as stored, so their product
                                may be anything */
};

/* One stream of a codec. */
struct framefs_stream {
    const struct framefs_block *block;
    uint32_t meta;  /* parameter that the chunk names, 0 to 255 */
    uint32_t level; /* to encode: 1 (fastest) to 9 (smallest) */
    const uint8_t *src;
    size_t src_len; /* bytes, more than 0 */
    uint8_t *dst;
    size_t dst_len; /* bytes: of the decoded stream, or room to encode */
};

struct framefs_codec {
    uint32_t abi;   /* FRAMEFS_CODEC_ABI */
    uint32_t flags; /* FRAMEFS_USES_SHAPE and so on */

    /* For messages and statistics: 1 to 31 of a-z, 0-9, '_' and '-'. */
    const char *name;

    /* Decode to exactly `dst_len` bytes.  Returns 0, or anything else if the
       stream is damaged. */
    int (*decode)(const struct framefs_stream *stream);

    /* Encode to at most `dst_len` bytes.  Returns the encoded size, or 0 if
       there is too little room; the stream is then stored as it is.  NULL: the
       codec can only decode. */
    size_t (*encode)(const struct framefs_stream *stream);
};

struct framefs_filter {
    uint32_t abi;   /* FRAMEFS_CODEC_ABI */
    uint32_t flags; /* without FRAMEFS_HAS_META: a parameter may always be
                       given */
    const char *name;

    /*
     * Filter a block of `len` bytes from `src` to `dst`, which do not overlap,
     * or undo that.  Neither can fail: undo() gives some result for all bytes.
     *
     *  meta  parameter that the chunk names, 0 to 255
     */
    void (*undo)(const struct framefs_block *block, uint32_t meta, size_t len,
                 const uint8_t *src, uint8_t *dst);

    /* NULL: the filter can only be undone. */
    void (*apply)(const struct framefs_block *block, uint32_t meta, size_t len,
                  const uint8_t *src, uint8_t *dst);
};

/* A plug-in defines one of these. */
__attribute__((
    visibility("default"))) extern const struct framefs_codec framefs_codec;
__attribute__((
    visibility("default"))) extern const struct framefs_filter framefs_filter;

#endif
