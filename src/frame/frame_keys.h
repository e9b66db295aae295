/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_KEYS_H
#define FRAME_FRAME_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk.h"

struct frame;

/*
 * Keys of chunks: numbers that stay with a chunk when its place changes, and
 * are not used again when it is deleted.
 *
 * A frame has keys for all its chunks, or none.  They are in a vlmetalayer:
 * numbers of 64 bits, little-endian.
 *
 *     version  1
 *     state    number in the stamp of the frame; 0 if it has no chunks
 *     next     greater than all keys that were ever used, below 2^63
 *     nchunks
 *     keys     of each chunk, in order; above 0
 *     checks   of each chunk, in order: see frame_keys_check()
 *
 * Programs that do not know about keys leave the metalayer as it is, and write
 * another stamp, or none.  Then keys are assigned anew, as frame_keys_match()
 * says.
 */
#define FRAME_KEYS_LAYER "framefs.keys"

enum {
    FRAME_KEYS_MAX = 1 << 20, /* chunks that can have keys */
    FRAME_KEYS_END = 1024     /* bytes of a chunk's start and end in a check */
};

/* The keys of a frame, in memory. */
struct frame_keys {
    uint64_t next;
    uint64_t n;        /* number of chunks */
    uint64_t capacity; /* numbers in each array */
    uint64_t *keys;    /* 0: the chunk has none yet */
    uint64_t *checks;  /* 0: not known */
};

/* Accepts a zeroed struct. */
void frame_keys_fini(struct frame_keys *keys);

/* Make space for `n` more chunks.  Returns 0, -EFBIG or -ENOMEM. */
int frame_keys_reserve(struct frame_keys *keys, uint64_t n);

/* Replace a range of chunks by `nadded` others, which get new keys and have the
   same check.  The caller has reserved space. */
void frame_keys_splice(struct frame_keys *keys, uint64_t first,
                       uint64_t nremoved, uint64_t nadded, uint64_t check);

/* Give a key to each chunk that has none. */
void frame_keys_number(struct frame_keys *keys);

/* Find the chunk with a key above 0.  Returns 0 or -ENOENT. */
int frame_keys_find(const struct frame_keys *keys, uint64_t key,
                    uint64_t *chunk_no);

/*
 * The check of a stored chunk: the hash FNV-1a, of 64 bits, of all its bytes if
 * they are at most 2 KiB, else of the first and the last 1 KiB.  Bytes between
 * the head and the first block count as zeros, because these are sums, which
 * change with the place of the chunk.
 *
 *  chunk  the chunk, or if it is longer than 2 KiB, perhaps only these parts
 */
uint64_t frame_keys_check(const uint8_t *chunk, size_t len);

/* The check of a chunk that only the index knows: the entry that stands for
   it. */
uint64_t frame_keys_check_special(enum chunk_kind kind);

/* Size of the content of the vlmetalayer, in bytes, and the content itself.
   Each chunk must have a key. */
size_t frame_keys_encoded_len(const struct frame_keys *keys);
void frame_keys_encode(const struct frame_keys *keys, uint64_t state,
                       uint8_t *dst);

/*
 * Parse the content.
 *
 *  out    to be freed with frame_keys_fini()
 *  state  receives the number of the stamp
 *
 * Returns 0, -EBADMSG, -ENOTSUP if a later version has written it, or -ENOMEM.
 */
int frame_keys_parse(const uint8_t *bytes, size_t len, struct frame_keys *out,
                     uint64_t *state, struct fault *fault);

/*
 * Assign keys after programs that do not know about keys have changed a frame.
 * A chunk keeps its key if one with the same check is in its place, or else in
 * another.  If there are as many chunks as before, the others are taken for
 * chunks that were changed in their places.  All other keys are lost.
 *
 *  old  the keys as they were; its keys are used up
 *  now  has the checks of the chunks that there are now, and no keys
 *
 * Returns 0 or -ENOMEM.
 */
int frame_keys_match(struct frame_keys *old, struct frame_keys *now);

/*
 * Get the keys of a frame, which belong to it.
 *
 *  out  receives NULL if it has none
 *
 * Returns 0, an error of frame_keys_parse(), -EFBIG if there are too many
 * chunks, or an error of the store.  A chunk that a program without knowledge
 * of keys has added has none.
 */
int frame_get_keys(struct frame *frame, const struct frame_keys **out,
                   struct fault *fault);

/*
 * Make a copy of the keys of a frame; if it has none, make them: this reads the
 * ends of all chunks.  Each chunk has a key then.
 *
 *  had  receives whether there were any
 *
 * Errors as above.
 */
int frame_keys_make(struct frame *frame, struct frame_keys *out, bool *had,
                    struct fault *fault);

#endif
