/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_WRITER_H
#define WRITER_FRAME_WRITER_H

#include "chunk/chunk_params.h"
#include "frame/frame.h"
#include "frame/frame_keys.h"

/*
 * Changing a frame.
 *
 * An open frame is constant. A frame writer works beside it: it writes chunks
 * to places that no frame uses, and puts them into an index in memory. A commit
 * makes that the state of the frame in one step, and returns an open frame of
 * the new state; the writer then continues from there.
 *
 * Readers that still have a frame of an older state may keep reading it,
 * because the writer neither gives back nor reuses its space before all older
 * states that came from the writer are closed.  But once a contiguous frame has
 * been emptied, older states may be lost, and reading them gives -ESTALE.
 * After the last reader has closed its state, the space that a commit freed
 * stays in quarantine for a second, unless all space in quarantine exceeds both
 * an eighth of the frame and 4 MiB (or 64 chunk files).  The quarantine gives
 * frames that were opened on their own time to notice that they read an older
 * state, before it is overwritten.
 *
 * The caller has the lease on the frame (see store_lease()) from before
 * frame_writer_open() until the commit.
 *
 * At every moment the store holds the state of the last commit, or of the one
 * before, even after a crash in the middle of a write.
 *
 * One thread at a time may use a writer.  Any number of threads may call
 * frame_writer_write(), frame_writer_write_zeros(), frame_writer_copy() and
 * frame_writer_drop() beside it, but not beside a commit that leaves a frame
 * without chunks.  A frame must not have more than one writer at a time.
 *
 * A writer takes 4 bytes of memory for each chunk stored in the file of a
 * contiguous frame, and 32 for each 1,024 chunks that include a stored one;
 * until the next commit, 16 KB for each 1,024 chunks that include a changed
 * one.  See frame_writer_footprint().
 */
struct frame_writer;

enum {
    /* Frames with more chunks cannot be changed.  There are none, because their
       index would be longer than a chunk may be. */
    FRAME_WRITER_CHUNKS_MAX = 268435451,
    /* A limit on the decoded size of chunks with short headers that are encoded
       again, because frames no longer contain such chunks.  Format: frame.md,
       5.3. */
    FRAME_WRITER_CONVERT_MAX = 64 << 20,
};

/*
 * Can a frame be changed?  Not if it has too many chunks, or damaged
 * metalayers, because a commit writes them again.  Returns 0, -EFBIG, -EBADMSG,
 * -ESTALE if another program has changed the frame, or an error of the store.
 */
int frame_writer_check_frame(struct frame *frame, struct fault *fault);

/*
 * Open a frame for changes.
 *
 *  frame  opened from a store with STORE_WRITE.  If there was a writer before,
 *         this is the frame that its last commit returned
 *
 * This reads the index, the metalayers, and the headers of all chunks of a
 * contiguous frame, to find out which space is free.  It removes files that
 * crashes have left in a sparse frame.  It rewrites chunks with headers of 16
 * bytes, because a frame must not contain them any more.
 *
 * Returns 0, -EROFS for a frame inside a larger file, -ESTALE if another
 * program has changed the frame since it was opened, -EBADMSG (also if chunks
 * overlap), -EFBIG if there are too many chunks, -E2BIG if metalayers are too
 * long, -EMLINK for a frame of an old layout, which has to be rewritten, that
 * has several names; -ENOMEM or an error of the store.
 */
int frame_writer_open(struct frame *frame, struct frame_writer **out,
                      struct fault *fault);

/* The parameters for encoding chunks of a frame. */
struct chunk_params frame_chunk_params(const struct frame_info *info);

/* Parameters of a new frame. */
struct frame_params {
    struct chunk_params chunks; /* defaults for its chunks */
    uint32_t chunksize;         /* 0: use that of the first chunk */
    bool vlblocks;              /* blocks of its chunks may differ in size */
};

/*
 * Begin a frame that does not exist yet.  The first commit creates it, or
 * frame_writer_begin() does.
 *
 *  store  an empty directory for a sparse frame, or a store of a new file;
 *         remains the caller's
 *
 * Returns 0, -EINVAL if `params` are invalid, -ENOTSUP if this build lacks the
 * codec, -ENOMEM or an error of the store.
 */
int frame_writer_new(struct store *store, const struct frame_params *params,
                     struct frame_writer **out, struct fault *fault);

/*
 * Create a new frame, empty, before the first commit.  Its content is durable
 * before it gets its name; in a sparse frame, the content of the index file is.
 * The name is durable after frame_writer_sync() or a durable commit.  If the
 * system crashes before, the frame may be missing, but it is not damaged.
 * After an error, the caller can only close the writer.
 *
 *  out  receives the frame; the caller closes it
 *
 * Returns 0, -EINVAL if there are chunks, -ENOMEM or an error of the store.
 */
int frame_writer_begin(struct frame_writer *writer, struct frame **out,
                       struct fault *fault);

/*
 * Replace the parameters of a frame that has no chunks.  The caller must not
 * have written any chunks either.
 *
 * Returns 0, -EINVAL or -ENOTSUP.
 */
int frame_writer_set_params(struct frame_writer *writer,
                            const struct frame_params *params,
                            struct fault *fault);

/*
 * Begin a new frame with the metalayers of another one.
 *
 *  like    NULL: without metalayers; `params` is not NULL then
 *  params  NULL: use those of the other frame, even if this build cannot encode
 *          chunks with them, because the caller may copy its chunks.  Else
 *          the new frame does not get the keys of the chunks, because these
 *          are others
 *
 * Errors as frame_writer_new() and frame_writer_open().
 */
int frame_writer_new_like(struct store *store, struct frame *like,
                          const struct frame_params *params,
                          struct frame_writer **out, struct fault *fault);

/*
 * Return to the state of the last commit, after a commit that failed.  This
 * drops uncommitted changes.
 *
 *  writer  receives a new writer in place of this one, unless it fails
 *  frame   the frame that the last commit returned
 *
 * Returns 0, -ESTALE if it is unknown which of the two states is on the disk,
 * or an error of frame_writer_open().
 */
int frame_writer_reopen(struct frame_writer **writer, struct frame *frame,
                        struct fault *fault);

/* The arguments and results of frame_writer_rebase(). */
struct frame_rebase {
    /* Has the caller changed a chunk that it has not put yet? */
    bool (*has_changed)(void *context, uint64_t chunk_no);

    /* Called for each chunk that the other program has changed.  Returns 0 or
       an error. */
    int (*note_theirs)(void *context, uint64_t chunk_no);

    void *context;
};

/*
 * After another program has committed to a frame whose store has
 * store_names_once(): apply the uncommitted changes to its state.  That is
 * possible if neither writer has changed the number of chunks or the metalayers
 * in the header, nor both the same chunk.  No other thread uses the writer.
 *
 *  base    the frame that the writer was opened for, or that its last commit
 *          returned, or `newest` of the last call
 *  newest  the newest state, just opened
 *
 * Returns 0; 1 with a fault if it is not possible; -ESTALE if `newest` is no
 * longer that; -ENOMEM or an error of the store.  Unless this returns 0,
 * nothing has changed.
 */
int frame_writer_rebase(struct frame_writer *writer, struct frame *base,
                        struct frame *newest, const struct frame_rebase *how,
                        struct fault *fault);
/*
 * Shall chunks be stored with sums, see chunk_sums.h?  The default is true.  If
 * not, chunks that have some keep them.  The caller calls this before any
 * change.
 */
void frame_writer_set_sums(struct frame_writer *writer, bool sums);

/*
 * Give sums to all chunks that have none, by writing them once more.  Damaged
 * chunks, and those that cannot have sums, stay as they are.
 *
 *  frame  the state of the last commit; there are no changes since
 *
 * Returns 0 or an error of frame_writer_write(); the caller then drops the
 * changes.
 */
int frame_writer_add_sums(struct frame_writer *writer, struct frame *frame,
                          struct fault *fault);

/* Drops uncommitted changes.  Accepts NULL. */
void frame_writer_close(struct frame_writer *writer);

/* The frame as it will be after a commit.  Lengths of header and frame, and
   cbytes, are those of the last commit. */
const struct frame_info *frame_writer_get_info(
    const struct frame_writer *writer);

/* May chunks differ in size? */
bool frame_writer_is_variable(const struct frame_writer *writer);

/* Return how many threads should write chunks at a time: 1, unless most of the
   time is spent waiting for a server. */
unsigned frame_writer_nwriters(const struct frame_writer *writer);

/* Bytes of memory that the writer takes up for its records of chunks and of
   free space. */
size_t frame_writer_footprint(const struct frame_writer *writer);

/* A chunk that is written, but is not in an index yet. */
struct frame_written {
    int64_t entry;
    uint32_t nbytes;
    uint32_t cbytes; /* with sums that lie behind it */
    uint32_t tag;    /* see frame_tags.h; 0: it has none */
    bool summed;     /* it has sums */
    uint64_t check;  /* see frame_keys.h */
    uint64_t epoch;  /* valid until the frame is rewritten */
};

/*
 * Write a chunk to a free place.
 *
 *  bytes, len  the chunk.  Zeros, NaNs and uninitialised chunks that consist of
 *              a header alone are not stored, because an index entry can stand
 *              for them; if chunks may differ in size, a chunk of one repeated
 *              item is stored instead
 *
 * Returns 0, -EINVAL if a frame cannot hold the chunk (its header has 16 bytes;
 * it is empty), -ENOTSUP if only one of chunk and frame has blocks that may
 * differ in size; an error of chunk_header_parse(), -ESTALE if another program
 * has changed the frame; -ENOMEM or an error of the store.
 */
int frame_writer_write(struct frame_writer *writer, const uint8_t *bytes,
                       size_t len, struct frame_written *out,
                       struct fault *fault);

/* Make a chunk of zeros.  It is stored only if the index cannot stand for it.
   Errors as frame_writer_write(), except -EINVAL. */
int frame_writer_write_zeros(struct frame_writer *writer, uint32_t nbytes,
                             struct frame_written *out, struct fault *fault);

/*
 * Write a chunk of another frame with the same kind of chunks, as it is stored
 * there.  A chunk whose header has 16 bytes is encoded again.
 *
 * Errors as frame_writer_write() and frame_chunk_read().
 */
int frame_writer_copy(struct frame_writer *writer, struct frame *from,
                      uint64_t chunk_no, struct frame_written *out,
                      struct fault *fault);

/* Is there space for a chunk of `len` bytes?  This writes that many bytes and
   drops them.  Returns 0 or an error of the store. */
int frame_writer_try_space(struct frame_writer *writer, size_t len,
                           struct fault *fault);

/*
 * Append a run of special chunks of the full size from another frame with the
 * same kind of chunks, as far as a short look shows that they repeat.
 *
 *  n  receives how many were appended; 0: the caller copies that chunk alone
 *
 * Returns 0, -EFBIG or -ENOMEM.
 */
int frame_writer_append_run(struct frame_writer *writer, struct frame *from,
                            uint64_t chunk_no, uint64_t *n);

/* Drop a chunk that was written but not put. */
void frame_writer_drop(struct frame_writer *writer,
                       const struct frame_written *written);

/*
 * Changes of the index, in memory.  A chunk must have the size that belongs to
 * its number: all but the last have the chunksize, unless chunks may differ in
 * size.
 *
 * All functions below return 0, or leave everything as it was and return
 * -ERANGE if the chunk does not exist, -EINVAL if a size does not fit, -EFBIG
 * if there are too many chunks, -ESTALE if the frame has been rewritten or
 * emptied since the chunk was written, or -ENOMEM.
 */

/* Replace a chunk. */
int frame_writer_put(struct frame_writer *writer, uint64_t chunk_no,
                     const struct frame_written *written);

/* Insert a chunk before another one, or at the end. */
int frame_writer_insert(struct frame_writer *writer, uint64_t chunk_no,
                        const struct frame_written *written);

/* Remove `n` chunks. */
int frame_writer_delete(struct frame_writer *writer, uint64_t first,
                        uint64_t n);

/*
 * Keys of chunks, see frame_keys.h.
 *
 * frame_writer_add_keys() makes keys if the frame has none.  `frame` is its
 * state, from which the writer must not differ.  Errors as frame_keys_make(),
 * and -E2BIG if there are too many metalayers.
 *
 * frame_writer_get_keys() returns NULL if there are none.  They are valid until
 * the next change.
 */
int frame_writer_add_keys(struct frame_writer *writer, struct frame *frame,
                          struct fault *fault);
const struct frame_keys *frame_writer_get_keys(
    const struct frame_writer *writer);

/*
 * Change the order of the chunks.
 *
 *  order  for each place the number of the chunk that moves there; -EINVAL if a
 *         number occurs twice
 */
int frame_writer_reorder(struct frame_writer *writer, const uint64_t *order);

/*
 * Replace chunks by zeros; they keep their sizes.  After an error, some may
 * have been replaced.
 *
 * Errors as above, or of the store.  See frame_writer_resize().
 */
int frame_writer_put_zeros(struct frame_writer *writer, uint64_t first,
                           uint64_t n, struct fault *fault);

/*
 * Truncate the frame, or extend it by zeros.  This is not possible if chunks
 * may differ in size.
 *
 * This does not change the length of a stored chunk or one of NaNs: -EINVAL
 * tells the caller to put or delete that chunk first.  There may also be an
 * error of the store, because chunks that are not a whole number of items are
 * stored; the size is then as close as possible.
 */
int frame_writer_resize(struct frame_writer *writer, uint64_t nbytes,
                        struct fault *fault);

/* Allow chunks to differ in size from now on.  This stores special chunks,
   because the index would no longer tell their sizes. */
int frame_writer_make_variable(struct frame_writer *writer,
                               struct fault *fault);

/*
 * Set a metalayer.
 *
 * Returns 0, -EINVAL if the name is too long, if the content has another length
 * than before, or if the metalayer is new and the frame has chunks; -E2BIG if
 * there are too many or they are too long; -ENOMEM.
 */
int frame_writer_set_metalayer(struct frame_writer *writer, const char *name,
                               const void *content, size_t len);

/*
 * Set a vlmetalayer.  Its content is stored compressed.
 *
 * Returns 0, -EINVAL if the name is too long, -E2BIG, -ENOMEM.
 */
int frame_writer_set_vlmetalayer(struct frame_writer *writer, const char *name,
                                 const void *content, size_t len);

/* Returns 0, or -ENODATA if the vlmetalayer does not exist. */
int frame_writer_remove_vlmetalayer(struct frame_writer *writer,
                                    const char *name);

/* Undo the last edit of a metalayer, if it is not committed.  A metalayer in
   the header stays if that edit added it. */
void frame_writer_undo_metalayer(struct frame_writer *writer);

/*
 * Make the changes the state of the frame, durably, and get that state.
 *
 * Most changes are made in place.  A commit rewrites the frame, as
 * frame_writer_compact() does, if the frame has an old layout, or if the length
 * of its header changes; and, if its metalayers in the header have changed or
 * it is empty, unless the header (with the trailer of an empty frame) ends in
 * the first 512 bytes.
 *
 * Returns 0, -ESTALE if another program has changed the frame, -EMLINK if it
 * must be rewritten and has other names, which would keep the old state;
 * -ENOMEM or an error of the store.  After an error the frame has the old state
 * or the new one; nothing is lost, and the caller can try the commit again.
 */
int frame_writer_commit(struct frame_writer *writer, struct frame **out,
                        struct fault *fault);

/*
 * Do the same, but without waiting until the disk has the new state.  Every
 * program that opens the frame sees the new state, and a crash leaves this
 * state or an older one, whole.  The writer keeps the space that the last
 * durable state uses until a newer one is durable.  After a sync that failed,
 * this commit is durable all the same.
 */
int frame_writer_commit_nosync(struct frame_writer *writer, struct frame **out,
                               struct fault *fault);

/*
 * Make the last commit durable, and the name of the frame.
 *
 * Returns 0; -EAGAIN if an earlier sync has failed, so that only
 * frame_writer_commit() can do it; or an error of the store, which has the same
 * effect.
 */
int frame_writer_sync(struct frame_writer *writer, struct fault *fault);

/* frame_writer_note_name() records that the frame got another name, which the
   next sync makes durable.  frame_writer_note_unsynced() records that neither
   the state that was opened nor its name may be durable yet. */
void frame_writer_note_name(struct frame_writer *writer);
void frame_writer_note_unsynced(struct frame_writer *writer);

/* Commit by rewriting the frame without dead space.  Chunks that are written,
   but not put, are lost.  A sparse frame is only committed. */
int frame_writer_compact(struct frame_writer *writer, struct frame **out,
                         struct fault *fault);

/*
 * Set a callback that reports progress while a frame is rewritten.
 *
 *  progress  called now and then with the bytes done, of `total`.  If it does
 *            not return 0, the commit ends with that error, and the frame is
 *            unchanged.  NULL: no callback
 */
void frame_writer_set_progress(struct frame_writer *writer,
                               int (*progress)(void *context, uint64_t done,
                                               uint64_t total),
                               void *context);

/* Let commits set the frame's time of modification, if that is allowed.  NULL:
   they leave it.  `mtime` remains the caller's. */
void frame_writer_set_mtime(struct frame_writer *writer,
                            const struct timespec *mtime);

/*
 * Move chunks of a contiguous frame that reach beyond `end` into gaps before
 * them, as far as there are gaps.  To make the frame shorter, the caller
 * commits twice, because the index can take the place of moved chunks only when
 * no state uses that place any more.
 *
 * Returns 1 if chunks were moved, 0 if not, -ENOMEM or an error of the store;
 * after an error, some may have been moved.
 */
int frame_writer_compact_tail(struct frame_writer *writer, uint64_t end,
                              struct fault *fault);

/* Is the frame still in the state of the last commit?  Returns 0, -ESTALE if
   another program has changed it, or an error of the store. */
int frame_writer_check(struct frame_writer *writer);

/*
 * Has a sync failed, so that chunks written since the last commit may be lost?
 * The next commit writes those that were put once more, with the bytes that it
 * reads back; but on some systems those are not the bytes that were written.  A
 * caller that still has the bytes should put the chunks again.
 */
bool frame_writer_has_lost_sync(const struct frame_writer *writer);

/*
 * Give space back to the store that commits have freed or that was dropped.  If
 * another process has the lease on the frame (see store_lease()) or has changed
 * the frame, the space stays as it is.
 *
 *  all  include space that should stay in quarantine for the sake of other
 *       readers
 *
 * Returns whether it gave space back.
 */
bool frame_writer_reclaim(struct frame_writer *writer, bool all);

/* Is there space to give back, now or after its quarantine? */
bool frame_writer_has_freed(struct frame_writer *writer);

/* Set how long space that a commit frees stays in quarantine. */
void frame_writer_set_quarantine(struct frame_writer *writer, int64_t ns);

/* Bytes of a contiguous frame. */
struct frame_usage {
    uint64_t live; /* header, chunks, metalayers */
    uint64_t used; /* end of the space in use, minus the space in quarantine */
};

/* Both are 0 for a sparse frame, which has no dead space. */
struct frame_usage frame_writer_get_usage(struct frame_writer *writer);

#endif
