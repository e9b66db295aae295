/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/fault.h"
#include "frame/frame.h"
#include "frame/metalayer.h"
#include "state/chunk_shape.h"
#include "state/file_options.h"
#include "state/file_state.h"
#include "state/params.h"
#include "store/store.h"

/* What all open files share: the cache, the worker threads, the coders. */
struct file_context;

/* Returns 0 or a negative errno. */
int file_context_new(const struct file_options *options,
                     struct file_context **out);

/* All files must be closed.  Accepts NULL. */
void file_context_free(struct file_context *context);

/*
 * What stores of files are to be opened with, beside what they are opened for:
 * STORE_LOCK if the context locks frames, or 0.  A file whose store has a
 * sidecar keeps other programs, if they look at it too, from changing and
 * reading the frame as long as something of it is not yet committed; and waits
 * for them, `patience` seconds at most, after which -EBUSY tells that.
 */
unsigned file_store_flags(const struct file_context *context);

/* What to show of a frame. */
struct file_face {
    enum file_view view;
    uint64_t chunk_no; /* of FILE_VIEW_CHUNK and FILE_VIEW_STORED */
};

/* Bytes of all files that are written and not yet committed, as memory holds
   them. */
uint64_t file_context_dirty(struct file_context *context);

/* What all files of a context have done so far: bytes, but for what is said to
   be a number. */
struct file_stats {
    uint64_t cache_size;
    uint64_t cache_used;
    uint64_t dirty;        /* as file_context_dirty() */
    uint64_t hits;         /* number of times that blocks asked for were in
                                 memory; all of those of a chunk at once; and */
    uint64_t misses;       /* that some were not */
    uint64_t blocks;       /* number of blocks decoded */
    uint64_t ahead;        /* of these: ahead of readers; and of those: */
    uint64_t ahead_used;   /* read since */
    uint64_t ahead_wasted; /* dropped unread; the others are in memory */
    uint64_t read;         /* handed to readers */
    uint64_t decoded;      /* out of chunks */
    uint64_t wide_scans;   /* number of readers, sequential and so followed, of
                                arrays of which the cache does not hold one row
                                of chunks: blocks are decoded several times */
    uint64_t decoded_from; /* what that takes up there, in proportion */
    uint64_t written;      /* taken from writers */
    uint64_t encoded;      /* to chunks */
    uint64_t encoded_to;   /* what those take up */
    uint64_t commits;      /* number of those that made a state of a frame */
    uint64_t commits_failed; /* number of those that did not */
};

/* Each figure is right by itself; they may be of different moments. */
void file_context_stats(struct file_context *context, struct file_stats *out);

/*
 * Read no more than the header of a frame: what it says, and how large the file
 * is that shows of it.
 *
 *  store  stays the caller's
 *  base   where the frame starts in its file; 0 for a sparse frame
 *  size   receives bytes
 *
 * Errors as file_open(), but nothing is tried again.
 */
int file_peek(const struct file_context *context, struct store *store,
              uint64_t base, struct frame_info *info, uint64_t *size,
              struct fault *fault);

/*
 * Open the frame in a store.
 *
 *  store  becomes the file's on success
 *  base   where the frame starts in its file; 0 for a sparse frame
 *
 * A frame that another program is writing at this moment is tried again for
 * some milliseconds.  Errors as frame_open(), and as array_read() if arrays are
 * to show as such.
 */
int file_open(struct file_context *context, struct store *store, uint64_t base,
              struct file **out, struct fault *fault);

/*
 * The same, to show something else of the frame than the context says.  Errors
 * as above, and -ESTALE if there is no such chunk.
 */
int file_open_face(struct file_context *context, const struct file_face *face,
                   struct store *store, uint64_t base, struct file **out,
                   struct fault *fault);

/* Size in bytes of such a file of an open frame.  Errors likewise. */
int file_face_size(struct frame *frame, const struct file_face *face,
                   uint64_t *size, struct fault *fault);

/*
 * The same, to be changed.  No other struct file may be open for writing the
 * same frame, but one that file_supersede() is called for.  A frame at an
 * offset in its file can't be opened so.
 *
 * Errors as above; -ENOTSUP for frames of a kind that is not changed, or whose
 * chunks are too large to be encoded within the cache; and -ESTALE if another
 * program has just put another file in the frame's place, after a wait if need
 * be: then that can be opened.
 *
 *  store  opened for writing, see store.h
 */
int file_open_writable(struct file_context *context, struct store *store,
                       struct file **out, struct fault *fault);

/*
 * Make a frame without content, or an array of zeros, and open it to be
 * changed.
 *
 *  store  opened for writing: an empty file, or an empty directory, which
 *         makes a sparse frame; the file's on success
 *
 * A valid frame is in place when this returns; it is durable after file_sync().
 * Errors as chunk_params_check() and layout_init(), but -EINVAL, -EFBIG if an
 * array takes too many chunks, -ENOTSUP if chunks of a frame that is no array
 * are too large to be encoded within the cache, and errors of the store.
 */
int file_create(struct file_context *context, struct store *store,
                const struct file_params *params, struct file **out,
                struct fault *fault);

/*
 * Close a file.  Accepts NULL.  Waits for what is being decoded ahead.
 *
 * What was written is committed first.  If that fails, it is lost, and the
 * error is returned: call file_sync() before, and if that fails file_unsaved()
 * to say what is lost.
 */
int file_close(struct file *file);

/*
 * Do to the frame what file_close() would do: it is not changed any more, and
 * nothing is to be written from here on.  Errors as there.
 */
int file_finish(struct file *file);

/*
 * Close a file whose frame was removed: what was written since the last commit
 * is dropped.  Accepts NULL.
 */
void file_discard(struct file *file);

/*
 * Is the frame's file, or index file, still the one that was opened, and as
 * it was then, or after the last file_note_touch()?
 */
bool file_is_current(struct file *file, const struct store_stat *now);

/* Is the newest state that the file knows the one that is stored, under the name
   that it was opened by as far as that can be seen from the file itself? */
bool file_is_newest(struct file *file);

/* Decoded size in bytes, with what was written and is not yet committed. */
uint64_t file_size(const struct file *file);

/* What one reader did last, so that read-ahead can follow it.  Starts zeroed;
   the files of a context, to any of which it may go on, lock it. */
struct file_reader {
    uint64_t next_off;   /* where it goes on if it reads sequentially */
    uint64_t ahead_off;  /* up to where decoding was asked for */
    size_t window;       /* how far to decode ahead, 0 while it looks random */
    unsigned streak;     /* reads in a row that went on from the last */
    uint64_t behind_off; /* chunks that end before were let go of */
};

/* Bytes of a file, in place in the cache until put back. */
struct file_data {
    struct iovec *iov; /* the pieces, in order */
    size_t niov;
    size_t len;             /* sum of their lengths */
    struct file_hold *hold; /* what keeps them there */
};

/*
 * Read bytes.
 *
 *  reader   whose sequence this read belongs to; NULL never reads ahead
 *  off,len  cut at the end of the file.  What lies in many small chunks is
 *           copied to memory of its own, so ask for a few MiB at most
 *
 * Returns 0 and the bytes, which are fewer than asked for (`out->len`) when
 * the file ends or when what follows cannot be read; or, if not even the first
 * byte can be read, the error:
 *  -EBADMSG  damaged
 *  -ENOTSUP  needs a codec or filter we lack, or a block that is more than
 *            the cache can hold, with what decoding it takes
 *  others    from the store
 * If fewer than all bytes up to the end of the file came, `*error` says why;
 * else it is 0.
 */
int file_read(struct file *file, struct file_reader *reader, uint64_t off,
              size_t len, struct file_data *out, int *error,
              struct fault *fault);

/* Let go of the bytes.  Accepts a zeroed struct. */
void file_data_put(struct file *file, struct file_data *data);

/*
 * The next byte at or after `off` that is in a hole, or that is in none.  The
 * end of the file is a hole.  Returns 0, -ENXIO as lseek() does, or an error.
 */
int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault);

/*
 * Write bytes.  The file grows as needed; what lies between its end and `off`
 * becomes zeros.  Readers see the bytes when this returns.
 *
 * Bytes are kept in memory until they are committed: at file_sync(), after
 * `commit` seconds, when half of the cache is full of them.  If that fails,
 * they stay in memory, and the next write of the file reports the error, once,
 * unless file_sync() comes before; a later commit may succeed.
 *
 * Returns 0 or
 *  -EROFS    the file is not writable
 *  -ENOTSUP  frames of this kind are not changed; or a chunk, with what it is
 *            encoded to, is more than the cache can hold
 *  -EFBIG    the file would be too long; an array keeps its size
 *  -EPERM    the header of an array would not be what it is
 *  -ENOSPC   what waits for commits fills the cache
 *  -ESTALE   another program has changed the frame; see file_sync()
 *  -EBADMSG  what is partly overwritten, or needed around it, is damaged
 *  others    from the store, also of an earlier commit: the bytes are written
 *            all the same, unless there is no room for them in memory
 */
int file_write(struct file *file, uint64_t off, const void *bytes, size_t len,
               struct fault *fault);

/*
 * The same, but the error of an earlier commit is left for file_take_error().
 * So an error says that not all of these bytes were taken.
 */
int file_accept(struct file *file, uint64_t off, const void *bytes, size_t len,
                struct fault *fault);

/* The same as file_write() with the bytes in pieces. */
int file_writev(struct file *file, uint64_t off, const struct iovec *iov,
                size_t niov, struct fault *fault);

/*
 * Write bytes behind the end of the file, wherever other programs that lock the
 * frame have moved that.
 *
 *  off  receives where they are
 *
 * Errors as file_write().  Not two threads at a time.
 */
int file_append(struct file *file, const void *bytes, size_t len, uint64_t *off,
                struct fault *fault);

/*
 * Change the size: cut, or add zeros.  Errors as file_write(), and -EPERM if
 * it is an array that would be cut.
 */
int file_truncate(struct file *file, uint64_t size, struct fault *fault);

/*
 * Have a file of at least this size: add zeros if it is shorter.  It is never
 * cut, whoever else writes to it.  Errors as file_write().
 */
int file_extend(struct file *file, uint64_t size, struct fault *fault);

/*
 * Make a range zero; whole chunks become holes.  The size stays: the range is
 * cut at the end of the file.  Errors as file_write().
 */
int file_zero(struct file *file, uint64_t off, uint64_t len,
              struct fault *fault);

/*
 * Copy bytes from one file to another, or within one, if they do not overlap.
 * Whole chunks are copied compressed if they have one size in both frames and
 * start at one in both, and neither frame is of variable geometry.
 *
 *  done  receives the number of bytes copied, also on error; less than `len`
 *        if the source ends
 *
 * Errors as file_read() and file_write().
 */
int file_copy(struct file *src, uint64_t src_off, struct file *dst,
              uint64_t dst_off, uint64_t len, uint64_t *done,
              struct fault *fault);

/*
 * Commit all that was written until now, durably.
 *
 * If another program has changed the frame, what was written has no place any
 * more: it is dropped, and this and all that changes the file from then on
 * fails with -ESTALE.  Open the frame anew.
 *
 * Returns 0, or why that failed.  That an earlier commit failed counts no more:
 * what was written then is in this one.
 */
int file_sync(struct file *file, struct fault *fault);

/*
 * Commit all that was written until now, without waiting until the disk has it:
 * every program that opens the frame sees it, and a crash leaves this state or
 * the one before.  Costs nothing if nothing was written.  Errors as file_sync().
 */
int file_commit(struct file *file, struct fault *fault);

/* The frame got another name: file_sync() makes that durable, too. */
void file_note_name(struct file *file);

/*
 * Is everything that was written committed, and no commit under way?
 */
bool file_is_settled(struct file *file);

/*
 * Is what is stored of a frame that is open to be changed what this file has
 * made of it, or found?  If a commit is due nothing is looked at: that one finds
 * out, and -ESTALE tells.
 */
bool file_is_own(struct file *file);

/*
 * Is the newest committed state of the frame the one that is stored?  Without a
 * look at the times of its file.
 */
bool file_is_stored(struct file *file);

/* frame_mark() of that state. */
uint64_t file_mark(struct file *file);

/*
 * Is a contiguous frame in the file with this device and inode number?  A commit
 * may have put it into another one; one that is under way is waited for, unless
 * the answer is yes.
 */
bool file_is_in(struct file *file, uint64_t dev, uint64_t ino);

/*
 * The times of the frame's file, or its owner or the like, were changed by us,
 * and nothing else: it is still as it was opened.
 */
void file_note_touch(struct file *file);

/*
 * If others have told through the sidecar of a frame, open to be changed, that
 * they have changed it, open it anew.
 *
 * Returns 0; -EBUSY if they have it locked; -ESTALE if it has become another
 * than it was; or an error of the store.
 */
int file_catch_up(struct file *file, struct fault *fault);

/*
 * Was the frame opened anew since this was last asked, as another program had
 * changed it before something was written?
 */
bool file_take_renewed(struct file *file);

/*
 * Has no other program told, through the sidecar of the frame, that it changes
 * it?  What was read before is good then.
 */
bool file_is_latest(struct file *file);

/*
 * The frame was opened a second time, because others have changed it: from when
 * this returns on, this file writes nothing to it, which is as if file_sync()
 * had found that out.  For the moment between that and the first use of the
 * other one.
 *
 *  replaced  another file has taken the place of the frame's
 *
 * Returns false if others have not, and this file is being changed: then it is
 * the newest, and the other one is to be closed.
 */
bool file_supersede(struct file *file, bool replaced);

/*
 * Keep other programs that look at the sidecar of the frame from changing it,
 * for as long as a read takes; and let them again.  Without a sidecar this does
 * nothing.
 *
 * Returns 0; -ESTALE if the frame has to be opened anew; -EBUSY if they have it
 * locked; or an error of the store.
 */
int file_share(struct file *file, struct fault *fault);
void file_unshare(struct file *file);

/* The last name of the frame's file was removed, or another frame is about to
   get it: the file may go on to be changed all the same. */
void file_set_unlinked(struct file *file, bool unlinked);

/*
 * Why an earlier commit failed that nobody was told of, which is told now; else
 * 0.
 */
int file_take_error(struct file *file, struct fault *fault);

/* Bytes that are written and not yet committed; of what is written again, and
   of chunks that are written anew for other reasons, it is an estimate. */
uint64_t file_dirty(struct file *file);

/*
 * Where written bytes lie that are not yet committed, or were when others
 * changed the frame: from the first to behind the last.  Returns false if there
 * are none.
 */
bool file_unsaved(struct file *file, uint64_t *off, uint64_t *end);

/*
 * Set a metalayer, and commit that with all that was written.
 *
 *  kind  METALAYER_VL: it is made if need be.  METALAYER_FIXED: it exists, and
 *        keeps its length
 *
 * Returns 0, -EINVAL (another length, a name that can't be), -ENOENT (no such
 * fixed metalayer), -EPERM (the shape of an array that shows as such), -ENOSPC
 * (too many or too large), or as file_write().
 */
int file_meta_set(struct file *file, enum metalayer_kind kind, const char *name,
                  const void *bytes, size_t len, struct fault *fault);

/* Remove a vlmetalayer.  Returns 0, -ENOENT, or as file_meta_set(). */
int file_meta_remove(struct file *file, const char *name, struct fault *fault);

/*
 * Insert, remove or reorder chunks.  All that was written is committed before,
 * and the change itself when these return.
 *
 *  chunk_no  0 to the number of chunks (to insert), or below
 *  order     number of the chunk that comes to each place
 *
 * Returns 0, -EPERM if it is an array and shows as such, -ERANGE if there is no
 * such chunk, -EINVAL if the sizes do not go with the frame's chunksize or
 * `order` is no permutation; or as file_write().
 */
int file_chunk_insert(struct file *file, uint64_t chunk_no, const void *bytes,
                      size_t len, struct fault *fault);
int file_chunk_delete(struct file *file, uint64_t chunk_no,
                      struct fault *fault);
int file_chunk_reorder(struct file *file, const uint64_t *order,
                       uint64_t nchunks, struct fault *fault);

#endif
