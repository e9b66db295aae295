/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAME_FRAME_H
#define FRAME_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fault.h"
#include "chunk/chunk.h"
#include "frame/blocks.h"
#include "store/store.h"

/* Layouts of the header through the years.  Format: history.md, 1. */
enum frame_format {
    FRAME_FORMAT_A, /* 2.0.0-beta.1 */
    FRAME_FORMAT_B, /* beta.2 to beta.5 */
    FRAME_FORMAT_C, /* early 2021, little-endian */
    FRAME_FORMAT_D, /* February 2021 */
    FRAME_FORMAT_E, /* 2.0.0-rc1 and all later ones */
};

/* The checked contents of a frame's header. */
struct frame_info {
    enum frame_format format;
    bool sparse;      /* a directory with a file per chunk */
    unsigned version; /* of the format, in the flags byte */
    uint32_t header_len;
    uint64_t frame_len; /* of the file, or of chunks.b2frame */
    uint64_t nbytes;    /* decoded size of the frame */
    uint64_t cbytes;    /* length of the chunks section; sparse: a statistic */
    uint32_t typesize;
    uint32_t blocksize; /* default for new chunks; 0: automatic */
    uint32_t chunksize; /* decoded size of each chunk but the last; 0 if they
                           differ or there are none */
    uint64_t nchunks;   /* 0 until the index is open, if chunksize is 0 */
    bool vlblocks;      /* the flags say that blocks may differ in size */
    struct block_shape block; /* of the array, if codec or filters use it and
                                 the frame is open */
    unsigned codec;           /* defaults for new chunks, from here on */
    unsigned codec_meta;
    unsigned clevel;
    unsigned split_mode; /* 1 always, 2 never, 3 auto, 4 compatible */
    bool use_dict;
    uint8_t filters[CHUNK_NFILTERS];
    uint8_t filters_meta[CHUNK_NFILTERS];
};

/* Could these be the first bytes of a frame?  Checks the magic only; `len` may
   be as small as FRAME_MAGIC_LEN. */
bool frame_has_magic(const uint8_t *bytes, size_t len);
enum {
    FRAME_MAGIC_LEN = 10
};

/* The first bytes of a frame. */
struct frame_start {
    const uint8_t *bytes;
    size_t len;     /* FRAME_CLAIM_LEN, or all that there are */
    uint64_t avail; /* bytes from the start of the frame to the end of the
                       file */
    bool sparse;    /* the bytes come from the index file of a directory */
};

/*
 * Parse the start of a frame whose other parts may be damaged, to learn the
 * size that it claims.  The header must be intact, and its sizes must not
 * contradict each other.  The file may be shorter than the header says, because
 * the file was cut off, or because another program is adding to the frame and
 * writes the header first.
 *
 * Returns 0, -EBADMSG or -ENOTSUP.
 */
int frame_parse_claim(const struct frame_start *start, struct frame_info *out,
                      struct fault *fault);
enum {
    FRAME_CLAIM_LEN = 128 /* at least as long as any header's fixed part */
};

/* Do the same for a frame in a store.  See frame_read_info(). */
int frame_read_claim(struct store *store, uint64_t base, struct frame_info *out,
                     struct fault *fault);

/*
 * Read and check only the header of the frame in `store`, which is enough to
 * know the decoded size.
 *
 *  base  start of the frame in its file; 0 for a sparse frame
 *  stat  receives the store's attributes of the file, or of the index file
 *
 * Returns 0, -EBADMSG, -ENOTSUP (a format from the future), or an error of the
 * store.
 */
int frame_read_info(struct store *store, uint64_t base, struct frame_info *out,
                    struct store_stat *stat, struct fault *fault);

/* An open frame.  Any number of threads may use it. */
struct frame;

/*
 * Open a frame: read the header, the end of the trailer and the head of the
 * index.  This reads a few KB, however many chunks there are.
 *
 *  store  the frame takes a reference to it
 *
 * Returns 0, -ENOMEM, -ESTALE if other programs kept changing the frame, or an
 * error of frame_read_info().  While another program writes, an open may fail
 * and succeed a moment later.
 */
int frame_open(struct store *store, uint64_t base, struct frame **out,
               struct fault *fault);

/* The same, but without a look at the sums that framefs may have stored with
   the frame, for a user who wants to see what is damaged as far as it can be
   decoded. */
int frame_open_unchecked(struct store *store, uint64_t base, struct frame **out,
                         struct fault *fault);

/*
 * Open only the header, which is enough for frame_get_info(), frame_get_stat()
 * and the fixed metalayers.  The caller must not use such a frame for anything
 * else.
 */
int frame_open_header(struct store *store, uint64_t base, struct frame **out,
                      struct fault *fault);

/* Accepts NULL.  The caller closes all chunks first. */
void frame_close(struct frame *frame);

/* The checked contents of header and trailer; valid until the frame is
   closed. */
const struct frame_info *frame_get_info(const struct frame *frame);

/* Name the frame's file, or index file, as the place of a fault. */
void frame_fault_name(const struct frame *frame, struct fault *fault);

/* Attributes of the frame's file, or index file, when the frame was opened. */
const struct store_stat *frame_get_stat(const struct frame *frame);

/* Get the attributes of the file that contains the frame; those of a sparse
   frame are its directory's.  Returns 0 or an error of the store. */
int frame_identify(const struct frame *frame, struct store_stat *out);

/*
 * May the program that this thread serves (see base/identity.h) use the frame
 * that is open?  The answer is about this very frame, even if its name now
 * leads to another file.
 *
 *  how  a combination of R_OK, W_OK and X_OK
 *
 * Returns 0, -EACCES or another negative errno.
 */
int frame_check_access(const struct frame *frame, int how);

/* Has a commit put a contiguous frame into the file with the device and inode
   number of `version`?  See store_object_has_successor(). */
bool frame_has_successor(const struct frame *frame,
                         const struct store_version *version);

/* Do two frames have the same access control list, or both have none? */
bool frame_shares_access_list(const struct frame *a, const struct frame *b);

/*
 * Has the frame's file, or index file, not been written to since the frame was
 * opened?  Otherwise data that was read from it at different times may not
 * belong together.
 */
bool frame_is_unwritten(const struct frame *frame);

/*
 * Read the header again: is it still the same file, with the same nbytes,
 * cbytes and length of the frame?  This looks the file up by name, because the
 * index file may have been replaced.
 *
 *  stat  receives the store's attributes of the file, or of the index file
 *
 * Returns 0, -ESTALE if another program has changed the frame, or an error of
 * the store.
 */
int frame_check_current(const struct frame *frame, struct store_stat *stat,
                        struct fault *fault);

/*
 * Is the newest state of the frame that this process knows also the stored one?
 * `frame` itself may be an older state.
 *
 * Returns 0, -ESTALE, or an error of the store.
 */
int frame_verify(const struct frame *frame, struct fault *fault);

/* Is what was read from the frame that of its state?  Trusts the times of the
   file where they are conclusive.  Returns as frame_verify(). */
int frame_check_read(const struct frame *frame, struct fault *fault);

/* frame_verify(), but trusting those times.  Returns false also if a contiguous
   frame's file no longer has a name. */
bool frame_is_stored(const struct frame *frame);

/*
 * A number that tells the newest state that this process knows of the frame
 * from other states stored under its name.  It is odd if it does so whatever
 * the times of the file are, because the frame has a stamp of framefs.  It is
 * even if the frame has no chunks, or another program wrote it last; such a
 * frame may change without a trace in header and index.  Never 0.
 */
uint64_t frame_mark(const struct frame *frame);

/* The range of one chunk in the decoded bytes of the frame. */
struct frame_span {
    uint64_t chunk_no;
    uint64_t off;    /* of its first byte */
    uint32_t nbytes; /* its decoded size, as the rules for the frame require */
};

/*
 * Find the chunk that holds a byte of the decoded frame.
 *
 * In a frame whose chunks differ in size, this reads the headers of the chunks
 * before it, once.
 *
 * Returns 0, -ERANGE if `off` is not below nbytes, -EBADMSG if the sizes of the
 * chunks do not add up, or an error of the store.
 */
int frame_locate(struct frame *frame, uint64_t off, struct frame_span *out,
                 struct fault *fault);

/* Do the same for a chunk number; -ERANGE if it is not below nchunks. */
int frame_span_of(struct frame *frame, uint64_t chunk_no,
                  struct frame_span *out, struct fault *fault);

/*
 * Find the next chunk that is a hole, or the next that is not.  A hole is zeros
 * or uninitialised according to the index alone.
 *
 *  chunk_no  where to start looking
 *  hole      whether to look for a hole
 *
 * Returns 0 and the number of the chunk, or nchunks if there is none; or an
 * error.  A run of equal index entries takes one step if the index shows it as
 * a run.
 */
int frame_next(struct frame *frame, uint64_t chunk_no, bool hole, uint64_t *out,
               struct fault *fault);

/* The index entry of one chunk. */
struct frame_entry {
    bool special;         /* nothing is stored; `kind` has the content */
    enum chunk_kind kind; /* zeros, NaN or uninit if special */
    uint64_t place;       /* if stored: offset in the file, or id of the chunk
                             file */
};

/*
 * Look up a chunk in the index.
 *
 * Returns 0, -ERANGE, -EBADMSG (the entry, or the chunk that encodes the index,
 * breaks the format), -ENOTSUP, or an error of the store.
 */
int frame_get_entry(struct frame *frame, uint64_t chunk_no,
                    struct frame_entry *out, struct fault *fault);

/* May two states of a sparse frame on a server have the same chunks? */
bool frame_may_share_chunks(const struct frame *was, const struct frame *is);

/*
 * In such states, is a stored chunk of the later one the same as in the earlier
 * one?  It is if both indexes name the same object, and the same tag; or, where
 * there are no tags, if no id can have been used twice.  Returns false also if
 * that cannot be found out.
 */
bool frame_has_same_chunk(struct frame *was, struct frame *is,
                          uint64_t chunk_no);

/* Index entries of chunks in a row. */
struct frame_entries {
    uint64_t first;
    size_t n;
    struct frame_entry *entries; /* receives them */
    int *errors; /* receives 0 for each, or -EBADMSG or -ENOTSUP if the entry
                    cannot be read; it is then left alone */
};

/*
 * Look up several chunks in the index, which exist.  This finds out only once
 * that no other program has changed the frame meanwhile.
 *
 * Returns 0, -ERANGE, or an error of the store.
 */
int frame_get_entries(struct frame *frame, const struct frame_entries *which,
                      struct fault *fault);

/* Sums of a frame, which framefs stores with what it writes. */
struct frame_sums_count {
    bool in_force;    /* chunks that have sums must match them */
    uint64_t nstored; /* chunks that are not special */
    uint64_t nsummed; /* of these, chunks that have sums */
};

/* Count the chunks that have sums.  This reads the whole index.  Errors as
   frame_get_entry(). */
int frame_count_sums(struct frame *frame, struct frame_sums_count *out,
                     struct fault *fault);

/* A chunk of a frame with everything that is needed to decode it.  Constant;
   any number of threads may use it. */
struct frame_chunk {
    struct frame_span span;
    struct frame_entry entry;
    enum chunk_kind kind;
    uint32_t blocksize; /* 0 for special chunks, as nblocks */
    uint32_t nblocks;
    uint32_t cbytes; /* stored size; 0 if only the index knows the chunk */
    /* Special chunks: the content, starting at the start of an item, repeated
       up to a length that suits a vector of buffers. */
    const uint8_t *pattern;
    size_t pattern_len;        /* a multiple of the item's size */
    size_t footprint;          /* bytes of memory that the chunk takes up */
    const struct chunk *chunk; /* NULL if only the index knows the chunk */
    bool summed;               /* its bytes are compared with their sums */
    bool unchecked;            /* frame_check_read() is still to be called */
};

/*
 * Prepare a chunk for decoding: read its header, block starts and dictionary.
 *
 * Returns 0, -ERANGE, -EBADMSG, -ENOTSUP, -ENOMEM or an error of the store (a
 * missing chunk file is -EBADMSG).  Fault offsets count from the start of the
 * file, or of the chunk file, which the fault then names.
 */
int frame_chunk_open(struct frame *frame, uint64_t chunk_no,
                     struct frame_chunk **out, struct fault *fault);

/*
 * The same for a caller that opens several chunks, and then calls
 * frame_check_read() once.  Until then a chunk may be that of another state.
 */
int frame_chunk_open_unchecked(struct frame *frame, uint64_t chunk_no,
                               struct frame_chunk **out, struct fault *fault);

/* Return how many decoded bytes a sequential reader should fetch ahead; 0:
   none, because the store is near. */
uint64_t frame_ahead(const struct frame *frame);

/*
 * Begin to fetch the stored bytes of chunks `first` to `first` + `n` - 1, as
 * store_object_prefetch().  This waits for no chunk, but may read the index.
 *
 * Returns false if not all is asked for: there is no memory for it at this
 * moment, or an error that a reader of the chunks will get, too.
 */
bool frame_prefetch(struct frame *frame, uint64_t first, uint64_t n,
                    struct store_waiter *waiter);

/* Accepts NULL. */
void frame_chunk_close(struct frame_chunk *chunk);

/*
 * Open a chunk as it is stored: an object of just these bytes, which the caller
 * closes.  It is NULL if only the index knows the chunk.
 *
 * Errors as above, but this checks only the header of the chunk.
 */
int frame_chunk_bytes(struct frame *frame, uint64_t chunk_no,
                      struct store_object **out, struct fault *fault);

/*
 * Decode a run of blocks, see blocks_decode().  This reads only the bytes of
 * these blocks, and small gaps between them, in as few pieces as possible.
 *
 *  run  inside nblocks; the chunk is not special
 *
 * Returns 0 or an error as above.
 */
int frame_chunk_decode(struct frame *frame, const struct frame_chunk *chunk,
                       const struct blocks_run *run,
                       struct chunk_decoder *decoder, struct fault *fault);

/*
 * Compare a run of blocks with its sums, without decoding it.  `run->dst` is
 * unused, and the chunk has sums.
 *
 * Errors as above.
 */
int frame_chunk_check(struct frame *frame, const struct frame_chunk *chunk,
                      const struct blocks_run *run,
                      struct chunk_decoder *decoder, struct fault *fault);

/* Compare a whole chunk with its sums, if it has any.  Errors as above. */
int frame_chunk_check_all(struct frame *frame, uint64_t chunk_no,
                          struct fault *fault);

/*
 * Read and decode a whole chunk.
 *
 *  len  its decoded size, from frame_span_of()
 *
 * Errors as above.
 */
int frame_chunk_read(struct frame *frame, uint64_t chunk_no, uint8_t *dst,
                     size_t len, struct fault *fault);

/*
 * Make the checks that opening and decoding all chunks does not make: all
 * metalayers and the whole index can be read, no two stored chunks overlap, and
 * sizes add up.  This skips a chunk that is damaged or missing by itself,
 * because frame_chunk_open() finds it.
 *
 *  report  called for each fault found; with the error 0 for a metalayer of the
 *          header that is not as framefs has written it, but may be as another
 *          program has
 *
 * Contents of metalayers above 64 MiB are not decoded.  After two million
 * stored chunks, this does not compare the rest; a frame with that many takes
 * up to 64 MiB of memory.
 *
 * Returns 0 if it checked everything, however many faults it found; or an error
 * of the store or -ENOMEM.
 */
int frame_check(struct frame *frame,
                void (*report)(void *context, int error,
                               const struct fault *fault),
                void *context);

#endif
