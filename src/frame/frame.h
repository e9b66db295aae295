/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_H
#define FRAME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk.h"
#include "store/store.h"

/* Layouts of the header through the years.  Format: history.md, 1. */
enum frame_format {
    FRAME_FORMAT_A, /* 2.0.0-beta.1 */
    FRAME_FORMAT_B, /* beta.2 to beta.5 */
    FRAME_FORMAT_C, /* early 2021, little-endian */
    FRAME_FORMAT_D, /* February 2021 */
    FRAME_FORMAT_E, /* 2.0.0-rc1 and all later ones */
};

/* What the header of a frame says, checked. */
struct frame_info {
    enum frame_format format;
    bool sparse;      /* a directory with a file per chunk */
    unsigned version; /* of the format, in the flags byte */
    uint32_t header_len;
    uint64_t frame_len; /* of the file, or of chunks.b2frame */
    uint64_t nbytes;    /* decoded size of the frame */
    uint64_t cbytes;    /* length of the chunks section; sparse: a
                               statistic */
    uint32_t typesize;
    uint32_t blocksize; /* default for new chunks; 0: automatic */
    uint32_t chunksize; /* decoded size of each chunk but the last; 0 if
                               they differ or there are none */
    uint64_t nchunks;   /* 0 until the index is open if chunksize is 0 */
    bool vlblocks;      /* the flags promise blocks of sizes of their own */
    unsigned codec;     /* defaults for new chunks, from here on */
    unsigned codec_meta;
    unsigned clevel;
    unsigned split_mode; /* 1 always, 2 never, 3 auto, 4 compatible */
    bool use_dict;
    uint8_t filters[CHUNK_NFILTERS];
    uint8_t filters_meta[CHUNK_NFILTERS];
};

/*
 * Could these be the first bytes of a frame?  Looks at the magic only; `len`
 * may be as small as FRAME_MAGIC_LEN.
 */
bool frame_has_magic(const uint8_t *bytes, size_t len);
enum {
    FRAME_MAGIC_LEN = 10
};

/*
 * Parse the start of a frame of which more may be damaged, for the size that it
 * claims.  The header must be intact, and its sizes must not contradict each
 * other.  The file may be shorter than the header says: it may have been cut
 * off, or another program may be adding to it and write the header first.
 *
 *  bytes, len  first bytes of the frame, FRAME_CLAIM_LEN or all there are
 *  avail       bytes from there to the end of the file
 *  sparse      it is the index file of a directory
 *
 * Returns 0, -EBADMSG or -ENOTSUP.
 */
int frame_parse_claim(const uint8_t *bytes, size_t len, uint64_t avail,
                      bool sparse, struct frame_info *out, struct fault *fault);
enum {
    FRAME_CLAIM_LEN = 128 /* at least as long as any header's fixed part */
};

/* Do the same for the frame in a store, as frame_read_info(). */
int frame_read_claim(struct store *store, uint64_t base, struct frame_info *out,
                     struct fault *fault);

/* Names of the index file of a sparse frame, the present one first. */
extern const char *const frame_index_names[2];

/*
 * Read and check just the header of the frame in `store`: enough for the size
 * of the file that it shows.
 *
 *  base  where the frame starts in its file; 0 for a sparse frame
 *  stat  receives what the store says of the file, or of the index file
 *
 * Returns 0, -EBADMSG, -ENOTSUP (a format from the future), or an error of the
 * store.
 */
int frame_read_info(struct store *store, uint64_t base, struct frame_info *out,
                    struct store_stat *stat, struct fault *fault);

/* An open frame.  Any number of threads may use it. */
struct frame;

/*
 * Open a frame: header, end of the trailer, head of the index.  Reads a few KB
 * whatever the number of chunks.
 *
 *  store  becomes the frame's on success
 *
 * Errors as frame_read_info().  While another program writes, opening may
 * fail and succeed a moment later.
 */
int frame_open(struct store *store, uint64_t base, struct frame **out,
               struct fault *fault);

/*
 * Open no more than the header: enough for frame_get_info(), frame_get_stat()
 * and the fixed metalayers.  Nothing else may be asked of such a frame.
 *
 *  store  as above
 */
int frame_open_header(struct store *store, uint64_t base, struct frame **out,
                      struct fault *fault);

/* Accepts NULL.  Chunks must be closed first. */
void frame_close(struct frame *frame);

/* What header and trailer say, checked; there until the frame is closed. */
const struct frame_info *frame_get_info(const struct frame *frame);

/* Say that a fault lies in the frame's file, or index file. */
void frame_fault_name(const struct frame *frame, struct fault *fault);

/* What the store said of the frame's file, or index file, at its opening. */
const struct store_stat *frame_get_stat(const struct frame *frame);

/* What the store says of the file that the frame is in, or, of a sparse frame, of
   its directory.  Returns 0 or an error of the store. */
int frame_identify(const struct frame *frame, struct store_stat *out);

/*
 * May the program that this thread serves, see base/identity.h, use the frame that
 * is open, whatever bears its name by now?
 *
 *  how  of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int frame_check_access(const struct frame *frame, int how);

/* Do two frames have the same access control list, or none? */
bool frame_shares_access_list(const struct frame *a, const struct frame *b);

/*
 * Has nobody written to the frame's file, or index file, since it was opened?
 * Only then does all that was read from it belong together.
 */
bool frame_is_unwritten(const struct frame *frame);

/*
 * Does the header say what it said when the frame was opened?  What is there by
 * that name now is looked at, for an index file may have been replaced.
 *
 *  stat  receives what the store says of the file, or of the index file
 *
 * Returns 0, -ESTALE if others have changed the frame, or an error of the
 * store.
 */
int frame_check_current(const struct frame *frame, struct store_stat *stat,
                        struct fault *fault);

/*
 * Is the newest state that is known here of the frame, of which this one may be
 * an older one, what is stored?
 *
 * Returns 0, -ESTALE, or an error of the store.
 */
int frame_verify(const struct frame *frame, struct fault *fault);

/* The same, by the times of the file as far as these tell; and has the file still
   a name? */
bool frame_is_stored(const struct frame *frame);

/*
 * A number by which the newest state that is known here of the frame differs
 * from others that are stored under its name.  It is odd if it does so whatever
 * the times of the file say: a frame that others wrote has no stamp, and may be
 * changed without a trace in its header.  Never 0.
 */
uint64_t frame_mark(const struct frame *frame);

/* One chunk's place among the decoded bytes of the frame. */
struct frame_span {
    uint64_t chunk_no;
    uint64_t off;    /* of its first byte */
    uint32_t nbytes; /* its decoded size, by the rule that the frame follows */
};

/*
 * Find the chunk that holds a byte of the decoded frame.
 *
 * In frames whose chunks differ in size this reads the headers of the chunks
 * before it, once.
 *
 * Returns 0, -ERANGE if `off` is not below nbytes, -EBADMSG if the sizes of
 * the chunks do not add up, or an error of the store.
 */
int frame_locate(struct frame *frame, uint64_t off, struct frame_span *out,
                 struct fault *fault);

/* The same for a chunk's number; -ERANGE if it is not below nchunks. */
int frame_span_of(struct frame *frame, uint64_t chunk_no,
                  struct frame_span *out, struct fault *fault);

/*
 * The next chunk that is a hole (zeros or uninitialised, by the index alone),
 * or that is none.
 *
 *  chunk_no  where to start looking
 *  hole      what to look for
 *
 * Returns 0 and the number, which is nchunks if there is none; or an error.
 * A run of equal index entries is passed in one step where the index says so.
 */
int frame_next(struct frame *frame, uint64_t chunk_no, bool hole, uint64_t *out,
               struct fault *fault);

/* What the index says of one chunk. */
struct frame_entry {
    bool special;         /* nothing is stored; `kind` says what it is */
    enum chunk_kind kind; /* zeros, NaN or uninit if special */
    uint64_t place;       /* else: offset in the file, or id of the chunk
                               file */
};

/*
 * Look a chunk up.
 *
 * Returns 0, -ERANGE, -EBADMSG (the entry, or what the index is decoded from,
 * breaks the format), -ENOTSUP, or an error of the store.
 */
int frame_get_entry(struct frame *frame, uint64_t chunk_no,
                    struct frame_entry *out, struct fault *fault);

/*
 * A chunk of a frame with all that is needed to decode it.  Constant; any
 * number of threads may use it.
 */
struct frame_chunk {
    struct frame_span span;
    struct frame_entry entry;
    enum chunk_kind kind;
    uint32_t blocksize; /* 0 for special chunks, as nblocks */
    uint32_t nblocks;
    uint32_t cbytes; /* stored size; 0 if only the index knows the chunk */
    /* Special chunks: content, from a byte at which an item starts, repeated
       up to a size that makes good pieces for a vector of buffers. */
    const uint8_t *pattern;
    size_t pattern_len;        /* a multiple of the item's size */
    size_t footprint;          /* bytes of memory held */
    const struct chunk *chunk; /* NULL if only the index knows the chunk */
};

/*
 * Get ready to decode a chunk: reads its header, block starts, dictionary.
 *
 * Returns 0, -ERANGE, -EBADMSG, -ENOTSUP, -ENOMEM or an error of the store
 * (a missing chunk file is -EBADMSG).  Fault offsets count from the start of
 * the file, or of the chunk file, which the fault then names.
 */
int frame_chunk_open(struct frame *frame, uint64_t chunk_no,
                     struct frame_chunk **out, struct fault *fault);

/* Accepts NULL. */
void frame_chunk_close(struct frame_chunk *chunk);

/*
 * A chunk as it is stored: an object of just these bytes, which the caller
 * closes; NULL if only the index knows the chunk.
 *
 * Errors as above, but of the chunk no more than the header is looked at.
 */
int frame_chunk_bytes(struct frame *frame, uint64_t chunk_no,
                      struct store_object **out, struct fault *fault);

/*
 * Decode a run of blocks.  Their bytes are read in as few pieces as they lie
 * in; no others are.
 *
 *  first, n     blocks, inside nblocks; the chunk is not special
 *  first_block  see chunk_decode_block(); NULL if `first` is 0 or it is not
 *               needed
 *  dst          room for the decoded blocks, one after another
 *
 * Returns 0 or an error as above.
 */
int frame_chunk_decode(struct frame *frame, const struct frame_chunk *chunk,
                       uint32_t first, uint32_t n, const uint8_t *first_block,
                       uint8_t *dst, struct chunk_decoder *decoder,
                       struct fault *fault);

/*
 * Read a chunk whole.
 *
 *  len  its decoded size, as frame_span_of() tells it
 *
 * Errors as above.
 */
int frame_chunk_read(struct frame *frame, uint64_t chunk_no, uint8_t *dst,
                     size_t len, struct fault *fault);

/*
 * Check what opening and decoding all chunks does not: that metalayers can be
 * read, that the whole index can, that no two stored chunks overlap, that
 * sizes add up.  A chunk that is damaged or missing by itself is left for
 * frame_chunk_open() to find.
 *
 *  report  called for each fault found
 *
 * Contents of metalayers above 64 MiB are not decoded; of more than two million
 * stored chunks the rest are not compared.  Takes up to 64 MiB for a frame of
 * that many.
 *
 * Returns 0 if all was looked at, whatever was found, or an error of the store
 * or -ENOMEM.
 */
int frame_check(struct frame *frame,
                void (*report)(void *context, int error,
                               const struct fault *fault),
                void *context);

#endif
