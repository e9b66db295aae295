/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_CHANGE_H
#define WRITER_FRAME_CHANGE_H

#include "chunk/chunk_params.h"
#include "frame/frame.h"

/*
 * Changes of a frame.
 *
 * An open frame is constant.  A change is made beside it: chunks are written
 * to places that no frame uses, and put into an index in memory.  A commit
 * makes that the state of the frame in one step, and hands out an open frame
 * of the new state; the change then goes on from there.
 *
 * Whoever still has a frame of an older state may go on to read it: what it
 * uses is not given back, nor used again, before all older states that came
 * from the change are closed.  But once a contiguous frame was emptied, older
 * states may be lost, and reading them gives -ESTALE.  After that, what a commit
 * has freed rests for a second, unless it is more than an eighth of the frame
 * and 4 MiB (or 64 chunk files): so do frames that were opened on their own
 * notice that they read an older state, before it is overwritten.
 *
 * Who changes a frame has the lease on it (see store_lease()) from before
 * frame_change_open() until the commit.
 *
 * At every moment the store holds the state of the last commit, or of the one
 * before, also if it is a crash that ends the writing.
 *
 * One thread at a time may use a change, but for frame_change_write() and
 * frame_change_drop(), which any number may call beside it; not beside a commit
 * that leaves a frame without chunks.  There must be one change of a frame at a
 * time.
 *
 * A change takes 4 bytes of memory for each chunk that is stored in the file of a
 * contiguous frame, and 32 for each 1,024 chunks of which one is stored; until
 * the next commit, 16 KB for each 1,024 chunks of which one is changed.  See
 * frame_change_footprint().
 */
struct frame_change;

enum {
    /* Frames of more chunks are not changed: there is none, because the index
       of one would be longer than a chunk may be. */
    FRAME_CHANGE_CHUNKS_MAX = 268435451,
    /* The same for frames whose chunks may differ in size, and for those of
       old layouts.  All of their index is kept in memory. */
    FRAME_CHANGE_VARIABLE_MAX = 1 << 22,
};

/*
 * Has a frame few enough chunks to be changed?  Returns 0 or -EFBIG.
 */
int frame_change_check_size(const struct frame *frame, struct fault *fault);

/*
 * Begin a change.
 *
 *  frame  opened from a store with STORE_WRITE.  If there was a change before,
 *         what its last commit handed out
 *
 * Reads the index, the metalayers, and of a contiguous frame the headers of
 * all chunks, to know what is free.  What crashes have left in a sparse frame
 * is removed.  Chunks that must not be in a frame any more, with headers of 16
 * bytes, are written again.
 *
 * Returns 0, -EROFS for a frame inside a larger file, -ESTALE if others have
 * changed the frame since it was opened, -EBADMSG (also if chunks overlap),
 * -EFBIG if there are too many chunks, -E2BIG if metalayers are too long,
 * -EMLINK for a frame of an old layout, which has to be written anew, that has
 * several names; -ENOMEM or an error of the store.
 */
int frame_change_open(struct frame *frame, struct frame_change **out,
                      struct fault *fault);

/* How chunks are encoded that the frame gets. */
struct chunk_params frame_chunk_params(const struct frame_info *info);

/* How a new frame is to be. */
struct frame_params {
    struct chunk_params chunks; /* defaults for its chunks */
    uint8_t codec_meta;
    uint32_t chunksize; /* 0: that of the first chunk */
    bool vlblocks;      /* its chunks have blocks of sizes of their own */
};

/*
 * Begin a frame that is not there yet.  It comes up with the first commit, or
 * with frame_change_begin().
 *
 *  store  an empty directory, for a sparse frame, or of a new file; stays the
 *         caller's
 *
 * Returns 0, -EINVAL if `params` are no good, -ENOTSUP if this build lacks the
 * codec, -ENOMEM or an error of the store.
 */
int frame_change_new(struct store *store, const struct frame_params *params,
                     struct frame_change **out, struct fault *fault);

/*
 * Let a new frame come up, empty, before the first commit.  Its content is
 * durable before it gets its name, in a sparse frame that of the index file;
 * the name is so after frame_change_sync() or a durable commit: if the system
 * crashes before, there may be no frame, but there is no damaged one.  If it
 * fails, the change can only be closed.
 *
 *  out  receives the frame, to be closed by the caller
 *
 * Returns 0, -EINVAL if there are chunks, -ENOMEM or an error of the store.
 */
int frame_change_begin(struct frame_change *change, struct frame **out,
                       struct fault *fault);

/*
 * Let a frame that has no chunks, nor any that are written, be another than it
 * was made as.
 *
 * Returns 0, -EINVAL or -ENOTSUP.
 */
int frame_change_set_params(struct frame_change *change,
                            const struct frame_params *params,
                            struct fault *fault);

/*
 * The same with the metalayers of another frame.
 *
 *  params  NULL: those of the other frame, whether or not chunks can be encoded
 *          so; its chunks may then be copied
 *
 * Errors as above, and as frame_change_open().
 */
int frame_change_new_like(struct store *store, struct frame *like,
                          const struct frame_params *params,
                          struct frame_change **out, struct fault *fault);

/*
 * Go back to the state of the last commit, after a commit that failed: what was
 * not committed is dropped.
 *
 *  change  receives another change in place of this one, unless it fails
 *  frame   what the last commit handed out
 *
 * Returns 0, -ESTALE if nobody knows which of the two states is on the disk, or
 * as frame_change_open().
 */
int frame_change_reopen(struct frame_change **change, struct frame *frame,
                        struct fault *fault);

/* What was not committed is dropped.  Accepts NULL. */
void frame_change_close(struct frame_change *change);

/*
 * The frame as it will be after a commit.  Lengths of header and frame, and
 * cbytes, are those of the last one.
 */
const struct frame_info *frame_change_get_info(
    const struct frame_change *change);

/* May chunks differ in size? */
bool frame_change_is_variable(const struct frame_change *change);

/* Bytes of memory that the change takes up for what it knows of the chunks, and
   of what is free. */
size_t frame_change_footprint(const struct frame_change *change);

/* A chunk that is written, but in no index yet. */
struct frame_written {
    int64_t entry;
    uint32_t nbytes;
    uint32_t cbytes;
    uint64_t epoch; /* the frame has not been written anew since */
};

/*
 * Write a chunk to a free place.
 *
 *  bytes, len  the chunk.  Zeros, NaNs and uninitialised chunks that are a
 *              header alone are not stored: the index will name them, or, if
 *              chunks may differ in size, one repeated item stands for them
 *
 * Returns 0, -EINVAL if a frame cannot hold the chunk (its header has 16 bytes;
 * it is empty), -ENOTSUP if its blocks are, or are not, of sizes of their own
 * other than those of the frame; -ENOMEM or an error of the store.
 */
int frame_change_write(struct frame_change *change, const uint8_t *bytes,
                       size_t len, struct frame_written *out,
                       struct fault *fault);

/* Make a chunk of zeros, which is only stored if the index can't name it.
   Errors as frame_change_write(), but -EINVAL. */
int frame_change_write_zeros(struct frame_change *change, uint32_t nbytes,
                             struct frame_written *out, struct fault *fault);

/*
 * Write a chunk of a frame whose chunks are alike, as it is stored there; one
 * whose header has 16 bytes is encoded anew.
 *
 * Errors as frame_change_write() and frame_chunk_read().
 */
int frame_change_copy(struct frame_change *change, struct frame *from,
                      uint64_t chunk_no, struct frame_written *out,
                      struct fault *fault);

/* Is there room for a chunk of `len` bytes?  So many are written and given up.
   Returns 0 or an error of the store. */
int frame_change_try_room(struct frame_change *change, size_t len,
                          struct fault *fault);

/*
 * Append what another frame, whose chunks are alike, has from one chunk on, if
 * those are special chunks of the full size that repeat, as far as a short look
 * tells.
 *
 *  n  receives how many were appended; 0: copy that chunk by itself
 *
 * Returns 0, -EFBIG or -ENOMEM.
 */
int frame_change_append_run(struct frame_change *change, struct frame *from,
                            uint64_t chunk_no, uint64_t *n);

/* Give up a chunk that was written but not put. */
void frame_change_drop(struct frame_change *change,
                       const struct frame_written *written);

/*
 * Changes of the index, in memory.  A chunk must have the size that belongs to
 * its number: all but the last have the chunksize, unless they may differ.
 *
 * All return 0, or leave everything as it was and return -ERANGE if there is
 * no such chunk, -EINVAL if a size does not fit, -EFBIG if there are too many
 * chunks, -ESTALE if the frame has been written anew, or emptied, since the
 * chunk was written, or -ENOMEM.
 */

/* Replace a chunk. */
int frame_change_put(struct frame_change *change, uint64_t chunk_no,
                     const struct frame_written *written);

/* Insert a chunk before another one, or at the end. */
int frame_change_insert(struct frame_change *change, uint64_t chunk_no,
                        const struct frame_written *written);

/* Remove `n` chunks. */
int frame_change_delete(struct frame_change *change, uint64_t first,
                        uint64_t n);

/*
 * Change the order.
 *
 *  order  for each place the number of the chunk that comes there
 */
int frame_change_reorder(struct frame_change *change, const uint64_t *order);

/*
 * Replace chunks by zeros; they keep their sizes.  Some may be replaced if that
 * fails.
 *
 * Errors as above, or of the store, see frame_change_resize().
 */
int frame_change_put_zeros(struct frame_change *change, uint64_t first,
                           uint64_t n, struct fault *fault);

/*
 * Cut the frame, or let it grow by zeros; not if chunks may differ in size.
 *
 * A stored chunk is not cut or made longer for this: -EINVAL says that it must
 * first be put, or deleted, by the caller.  Or there may be an error of the
 * store, as chunks that are no whole number of items get stored; the size has
 * then come as far as possible.
 */
int frame_change_resize(struct frame_change *change, uint64_t nbytes,
                        struct fault *fault);

/*
 * Let chunks differ in size from now on.  Special chunks get stored, as the
 * index would no longer tell their sizes.
 */
int frame_change_make_variable(struct frame_change *change,
                               struct fault *fault);

/*
 * Set a metalayer.
 *
 * Returns 0, -EINVAL if the name is too long, or if its content has another
 * length than before, or if there is none and the frame has chunks; -E2BIG if
 * there are too many or they are too long; -ENOMEM.
 */
int frame_change_set_metalayer(struct frame_change *change, const char *name,
                               const void *content, size_t len);

/*
 * Set a vlmetalayer.  Its content is compressed.
 *
 * Returns 0, -EINVAL if the name is too long, -E2BIG, -ENOMEM.
 */
int frame_change_set_vlmetalayer(struct frame_change *change, const char *name,
                                 const void *content, size_t len);

/* Returns 0, or -ENODATA if there is no such vlmetalayer. */
int frame_change_remove_vlmetalayer(struct frame_change *change,
                                    const char *name);

/*
 * Undo what was done to a metalayer last, if that is not committed.  One that
 * is not variable stays if it was not there before.
 */
void frame_change_undo_metalayer(struct frame_change *change);

/*
 * Make the change the state of the frame, for good.
 *
 *  out  receives the new state, to be closed by the caller
 *
 * Most changes are made in place.  A frame of an old layout, one whose header
 * changes in length, and an empty one whose metalayers are not within the
 * first 512 bytes are written anew, as frame_change_compact() does.
 *
 * Returns 0, -ESTALE if the frame was changed by others, -EMLINK if it must be
 * written anew and has other names, which would keep the old state; -ENOMEM or
 * an error of the store.  The old state or the new one is then there; nothing
 * is lost, and the commit can be tried again.
 */
int frame_change_commit(struct frame_change *change, struct frame **out,
                        struct fault *fault);

/*
 * The same, but the caller does not wait until the disk has the new state: every
 * program that opens the frame sees it, and a crash leaves this state or an older
 * one, whole.  The change keeps the space that the last durable state uses until
 * a newer one is durable.  After a sync that failed, the commit is durable all
 * the same.
 */
int frame_change_commit_nosync(struct frame_change *change, struct frame **out,
                               struct fault *fault);

/*
 * Make the last commit durable, and the name of the frame.
 *
 * Returns 0; -EAGAIN if an earlier sync has failed, so that only
 * frame_change_commit() does it; or an error of the store, which has that
 * effect.
 */
int frame_change_sync(struct frame_change *change, struct fault *fault);

/* The frame got another name, which the next sync is to make durable; and the
   same of the state that was opened. */
void frame_change_note_name(struct frame_change *change);
void frame_change_note_unsynced(struct frame_change *change);

/*
 * Commit, with the frame written anew and without dead space.  Chunks that
 * are written, but not put, are lost.  A sparse frame is committed only.
 */
int frame_change_compact(struct frame_change *change, struct frame **out,
                         struct fault *fault);

/*
 * Let someone watch while a frame is written anew.
 *
 *  progress  called now and then with the bytes done, of `total`.  If it does
 *            not return 0, the commit ends with that error, and the frame is
 *            as it was.  NULL: nobody watches
 */
void frame_change_watch(struct frame_change *change,
                        int (*progress)(void *context, uint64_t done,
                                        uint64_t total),
                        void *context);

/*
 * Move chunks of a contiguous frame that lie behind `end` into gaps before, as
 * far as there are such.  The change must be committed, twice, for the frame to
 * become shorter: its index can take the place of what was moved only when that
 * is not in use any more.
 *
 * Returns 1 if chunks were moved, 0 if not, -ENOMEM or an error of the store;
 * some may be moved then.
 */
int frame_change_sink(struct frame_change *change, uint64_t end,
                      struct fault *fault);

/*
 * Is the frame still what the last commit has made it?  Returns 0, -ESTALE if
 * others have changed it, or an error of the store.
 */
int frame_change_check(struct frame_change *change);

/*
 * Has a sync failed, so that what was written since the last commit may be lost?
 * The next commit writes what was put once more, as it reads; but that is not
 * on all systems what was written.  Who still has it should put it again.
 */
bool frame_change_is_unsynced(const struct frame_change *change);

/*
 * Give back to the store what commits have freed and what was dropped, unless
 * somebody else has the lease on the frame (see store_lease()), or has changed
 * it: the space then stays as it is.
 *
 *  all  also what would rest some time longer for the sake of other readers
 *
 * Returns whether there was anything that it gave back.
 */
bool frame_change_reclaim(struct frame_change *change, bool all);

/* Is there space to give back, now or once it has rested? */
bool frame_change_has_freed(struct frame_change *change);

/* For how many nanoseconds what a commit frees is to rest. */
void frame_change_set_rest(struct frame_change *change, int64_t rest);

/* Bytes of a contiguous frame. */
struct frame_usage {
    uint64_t live; /* header, chunks, metalayers */
    uint64_t used; /* up to the end of all that is in use */
};

/* Both are 0 for a sparse frame, in which nothing is dead. */
struct frame_usage frame_change_get_usage(struct frame_change *change);

#endif
