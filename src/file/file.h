/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FILE_FILE_H
#define FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/fault.h"
#include "file/file_context.h"
#include "file/file_reader.h"
#include "frame/frame.h"
#include "frame/metalayer.h"
#include "state/chunk_shape.h"
#include "state/file_options.h"
#include "state/file_state.h"
#include "state/params.h"
#include "store/store.h"
#include "store/store_http.h"

/*
 * Open the store of a frame that a user named: a file, the directory of a
 * sparse frame, or a URL, which frame_remote_check() accepts.
 *
 *  flags  STORE_WRITE or 0; file_store_flags() are added for a local one
 *
 * If the file is a ticket, this opens the frame that it leads to, see
 * frame_ticket.h.
 *
 * Returns 0; -EREMCHG if that frame has changed since the ticket was made;
 * -EROFS with STORE_WRITE for a ticket, and for a frame behind a URL that
 * frame_remote_open_to_change() refuses; or another negative errno.
 */
int file_store_open(struct file_context *context, const char *name,
                    unsigned flags, struct store **out, struct fault *fault);

/* Get a reference to what carries the requests of a context.  Its thread starts
   when it is first needed.  Returns 0 or an error of net_new(). */
int file_context_net(struct file_context *context, struct net **out);

/* The frame that a file shows, and the part of it. */
struct view_spec {
    uint64_t base; /* where the frame starts in its file; 0 for a sparse one */
    enum file_view view;
    uint64_t chunk_no; /* for FILE_VIEW_CHUNK and FILE_VIEW_STORED */
};

/* Return the bytes of all files that are written and not yet committed, as they
   take up memory. */
uint64_t file_context_dirty(struct file_context *context);

/* Statistics of all files of a context since it was made, in bytes unless a
   field is said to be a number. */
struct file_stats {
    uint64_t cache_size;
    uint64_t cache_used;
    uint64_t dirty;        /* as file_context_dirty() */
    uint64_t hits;         /* number of requests for blocks of a chunk that
                              found all of them in memory */
    uint64_t misses;       /* number of requests that did not */
    uint64_t blocks;       /* number of blocks decoded */
    uint64_t ahead;        /* number of these decoded ahead of readers; */
    uint64_t ahead_used;   /* number of those that were read later */
    uint64_t ahead_wasted; /* number of those dropped unread; the rest is in
                              memory */
    uint64_t read;         /* returned to readers */
    uint64_t decoded;      /* from chunks */
    uint64_t wide_scans;   /* number of sequential readers, as recognized by
                              read-ahead, of arrays that have a row of chunks
                              larger than the cache, so that blocks are decoded
                              several times */
    uint64_t decoded_from; /* compressed size of `decoded`, in proportion */
    uint64_t mismatches;   /* number of reads of blocks that did not match
                              their sums */
    uint64_t written;      /* taken from writers */
    uint64_t encoded;      /* into chunks */
    uint64_t encoded_to;   /* compressed size of `encoded` */
    uint64_t commits;      /* number of commits that made a state of a frame */
    uint64_t commits_failed; /* number of commits that failed */
    uint64_t conflicts;   /* number of tries of commits that another program had
                           overtaken; of these: */
    uint64_t merges;      /* merged with its commit, and tried again */
    struct net_stats net; /* requests for frames behind URLs */
    struct store_http_stats netcache;
};

/* Each figure is exact, but they may be of different moments. */
void file_context_stats(struct file_context *context, struct file_stats *out);

/* Values that the header of a frame alone gives. */
struct file_peek {
    struct frame_info info;
    uint64_t size; /* bytes of the file that shows the frame */
};

/*
 * Read only the header of a frame, and find the size of the file that shows the
 * frame.
 *
 *  base  where the frame starts in its file; 0 for a sparse frame
 *
 * Errors as file_open(), but this does not try again.
 */
int file_peek(const struct file_context *context, struct store *store,
              uint64_t base, struct file_peek *out, struct fault *fault);

/*
 * Open the frame in a store.
 *
 *  store  the file takes a reference to it
 *  base   where the frame starts in its file; 0 for a sparse frame
 *
 * If the frame is damaged and its file is changing, or has changed in the last
 * seconds, this tries again for some milliseconds, because another program may
 * be writing it.  Errors as frame_open(), and as array_read() if the context
 * shows arrays as such.
 */
int file_open(struct file_context *context, struct store *store, uint64_t base,
              struct file **out, struct fault *fault);

/* The same, to show another part of the frame than the context says.  Errors as
   file_open(), and -ESTALE if the chunk does not exist. */
int file_open_view(struct file_context *context, const struct view_spec *spec,
                   struct store *store, struct file **out, struct fault *fault);

/* Find the size in bytes of the file that shows this part of an open frame.
   Errors as file_open_view(). */
int file_view_size(struct frame *frame, const struct view_spec *spec,
                   uint64_t *size, struct fault *fault);

/*
 * Open the frame in a store for reading and changing.  No other struct file may
 * be open for writing the same frame, except one for which file_supersede() is
 * called.  A frame at an offset in its file cannot be changed.
 *
 * Errors as file_open(); -ENOTSUP for frames of a kind that cannot be changed,
 * or with chunks that are too large to be encoded within the cache; and -ESTALE
 * if another program has just put another file in the frame's place.  This
 * waits for that program if need be, and the caller can open the new file after
 * -ESTALE.
 *
 *  store  opened for writing, see store.h
 */
int file_open_writable(struct file_context *context, struct store *store,
                       struct file **out, struct fault *fault);

/* The same, to show it in another form than the context says; the view is one
   that can be written to. */
int file_open_writable_view(struct file_context *context, enum file_view view,
                            struct store *store, struct file **out,
                            struct fault *fault);

/*
 * Make an empty frame, or an array of zeros, and open it for changes.  A new
 * array is shown in C order, or as a .npy file if the context says so.
 *
 *  store  opened for writing: an empty file, or an empty directory for a sparse
 *         frame; the file takes a reference
 *
 * When this returns, a valid frame is in place; it is durable after
 * file_sync().  Errors as chunk_params_check() and layout_init(), but -EINVAL
 * instead of -EBADMSG; -EFBIG if an array takes too many chunks; -ENOTSUP if
 * chunks of a frame that is not an array are too large to be encoded within the
 * cache; and errors of the store.
 */
int file_create(struct file_context *context, struct store *store,
                const struct file_params *params, struct file **out,
                struct fault *fault);

/*
 * Close a file.  Accepts NULL.  Waits for tasks that decode ahead.
 *
 * Written bytes are committed first.  If that fails they are lost, and the
 * error is returned.  To learn which bytes would be lost, call file_sync()
 * before, and if that fails file_unsaved().
 */
int file_close(struct file *file);

/* Commit and finish the frame as file_close() does, but keep the file open for
   reading.  The caller writes nothing from here on.  Errors as file_close(). */
int file_finish(struct file *file);

/* Close a file whose frame was removed.  Bytes written since the last commit
   are dropped.  Accepts NULL. */
void file_discard(struct file *file);

/* Let a file that was just opened have what another one has in memory of the
   same frame, as far as it is still the same.  Other threads may read both. */
void file_take_over(struct file *file, struct file *from);

/* Is the frame's file, or index file, still the one that was opened, and
   unchanged since then or since the last file_note_touch()? */
bool file_is_current(struct file *file, const struct store_stat *now);

/* Is the newest state that the file knows the stored one, under the name by
   which it was opened, as far as the file itself can tell? */
bool file_is_newest(struct file *file);

/* Return the decoded size in bytes, including bytes that are not yet
   committed. */
uint64_t file_size(const struct file *file);

/* Bytes of a file that a caller wants to read. */
struct file_range {
    uint64_t off;
    size_t len;
};

/* Bytes of a file, which stay in place in the cache until the caller puts them
   back. */
struct file_data {
    struct iovec *iov; /* the pieces, in order */
    size_t niov;
    size_t len;             /* sum of their lengths */
    int error;              /* reason why there are fewer bytes than wanted up
                               to the end of the file, or 0 */
    struct file_pins *pins; /* keeps the bytes in place */
};

/*
 * Read bytes.
 *
 *  reader  the reader to which this read belongs; NULL: never read ahead
 *  range   cut at the end of the file.  Bytes that lie in many small chunks are
 *          copied to memory of their own, so the caller should ask for a few
 *          MiB at most
 *
 * Returns 0 and the bytes.  They are fewer than asked for (`out->len`) if the
 * file ends, or if the bytes after them cannot be read.  If not even the first
 * byte can be read, returns the error:
 *  -EBADMSG  damaged
 *  -ENOTSUP  needs a codec or filter that this build lacks, or a block that is
 *            too large for the cache, including the memory for decoding it
 *  others    from the store
 *
 * `fault` belongs to that error, or to `out->error`.
 */
int file_read(struct file *file, struct file_reader *reader,
              const struct file_range *range, struct file_data *out,
              struct fault *fault);

/* Release the bytes; `error` stays.  Accepts a zeroed struct. */
void file_data_put(struct file *file, struct file_data *data);

/*
 * Find the next byte at or after `off` that is in a hole, or the next one that
 * is not.  The end of the file is a hole.  Returns 0, -ENXIO as lseek() does,
 * or an error.
 */
int file_seek(struct file *file, uint64_t off, bool hole, uint64_t *out,
              struct fault *fault);

/*
 * Write bytes.  The file grows as needed; the bytes between its old end and
 * `off` become zeros.  Readers see the bytes when this returns.
 *
 * The bytes stay in memory until they are committed: at file_sync(), when
 * uncommitted bytes fill about half of the cache, and, unless `commit` is 0,
 * half a second after the last change of the file or after `commit` seconds,
 * whichever comes first.  If a commit fails, the bytes stay in memory, and the
 * next write to the file reports the error, once, unless file_sync() comes
 * first.  A later commit may succeed.
 *
 * Returns 0 or
 *  -EROFS    the file is not writable
 *  -ENOTSUP  frames of this kind cannot be changed; or a chunk is too large for
 *            the cache, including the memory for encoding it
 *  -EFBIG    the file would be too long; an array keeps its size
 *  -EPERM    the write would change the header of an array
 *  -ENOSPC   uncommitted bytes fill the cache
 *  -ESTALE   another program has changed the frame; see file_sync()
 *  -EBADMSG  bytes that are overwritten in part, or needed around the write,
 *            are damaged
 *  others    from the store, also of an earlier commit: the bytes are written
 *            all the same, unless there is no memory for them
 */
int file_write(struct file *file, uint64_t off, const void *bytes, size_t len,
               struct fault *fault);

/* The same, but leave the error of an earlier commit to file_take_error().  An
   error therefore means that not all of these bytes were taken. */
int file_accept(struct file *file, uint64_t off, const void *bytes, size_t len,
                struct fault *fault);

/* The same as file_write(), with the bytes in pieces. */
int file_writev(struct file *file, uint64_t off, const struct iovec *iov,
                size_t niov, struct fault *fault);

/*
 * Append bytes at the end of the file, also if other programs that lock the
 * frame have moved the end.
 *
 *  off  receives the offset of the bytes
 *
 * Errors as file_write().  Only one thread at a time may append to a file.
 */
int file_append(struct file *file, const void *bytes, size_t len, uint64_t *off,
                struct fault *fault);

/* Change the size: cut the file, or add zeros.  Errors as file_write(), and
   -EPERM if this would cut an array. */
int file_truncate(struct file *file, uint64_t size, struct fault *fault);

/* Add zeros if the file is shorter than `size`.  This never cuts the file,
   whichever other threads write to it.  Errors as file_write(). */
int file_extend(struct file *file, uint64_t size, struct fault *fault);

/* Make a range zero.  Whole chunks in it become holes.  The file keeps its
   size: the range is cut at the end.  Errors as file_write(). */
int file_zero(struct file *file, uint64_t off, uint64_t len,
              struct fault *fault);

/* Bytes to copy from one file to another, or within a file if the ranges do not
   overlap. */
struct file_copy {
    struct file *src;
    uint64_t src_off;
    struct file *dst;
    uint64_t dst_off;
    uint64_t len;
};

/*
 * Copy bytes.  Whole chunks are copied compressed if both frames have the same
 * chunksize, the ranges start at a chunk in both, and neither frame has chunks
 * of different sizes.
 *
 *  done  receives the number of bytes copied, also on error; less than `len` if
 *        the source ends
 *
 * Errors as file_read() and file_write().
 */
int file_copy(const struct file_copy *copy, uint64_t *done,
              struct fault *fault);

/*
 * Commit everything written until now, durably.
 *
 * If another program has changed the frame, the uncommitted bytes no longer
 * have a place in it.  They are dropped, and this call and all later changes of
 * the file fail with -ESTALE.  The caller then has to open the frame again.
 *
 * Returns 0 or an error.  The error of an earlier commit is forgotten, because
 * this commit includes the bytes that were written then.
 */
int file_sync(struct file *file, struct fault *fault);

/*
 * Commit everything written until now, without waiting for the disk: every
 * program that opens the frame sees it, and a crash leaves this state or an
 * older one.  Costs nothing if nothing was written.  The frame's time becomes
 * `mtime`, unless that is NULL or may not be set.  Errors as file_sync().
 */
int file_commit(struct file *file, const struct timespec *mtime,
                struct fault *fault);

/* Note that the frame got another name, which file_sync() also makes
   durable. */
void file_note_name(struct file *file);

/*
 * Move the frame to another place, while nobody changes it: everything is
 * committed before, and then the file goes on at the place where its store is.
 *
 *  move  moves the frame, and lets `store`, that of the file, follow it; NULL:
 *        the store does so by itself
 *
 * Returns the result of `move`, or an error as file_sync().
 */
int file_move(struct file *file,
              int (*move)(void *context, struct store *store), void *context,
              struct fault *fault);

/* Has anything been changed since the file was opened or finished? */
bool file_has_changes(const struct file *file);

/* Is everything committed, and no commit in progress? */
bool file_is_clean(struct file *file);

/* Does the file show bytes that can no longer be committed, because another
   host's changes do not go together with them?  It does so until it is
   closed. */
bool file_is_orphaned(struct file *file);

/*
 * Is the stored state of a frame that is open for changes the one that this
 * file has made or read?  If there is something to commit, this does not look
 * at the store, because that commit finds out and returns -ESTALE.
 */
bool file_is_own(struct file *file);

/* Is the newest committed state of the frame the stored one?  This does not
   look at the times of the frame's file. */
bool file_is_stored(struct file *file);

/* Return frame_mark() of that state. */
uint64_t file_mark(struct file *file);

/* Is a contiguous frame in the file that `version` is of, perhaps in another
   version?  A commit may have put it into another file.  If the answer is no,
   this waits for a commit in progress and looks again. */
bool file_is_in(struct file *file, struct store_version version);

/* Note that this process has changed the times, the owner or the like of the
   frame's file and nothing else, so the frame still counts as unchanged. */
void file_note_touch(struct file *file);

/*
 * Reopen a frame that is open for changes if other programs have told, through
 * its lock file, that they have changed it.
 *
 * Returns 0; -EBUSY if they have locked the frame; -ESTALE if another frame has
 * taken its place; or an error of the store.
 */
int file_catch_up(struct file *file, struct fault *fault);

/* Was the frame reopened since the last call, because another program had
   changed it before something was written? */
bool file_take_reopened(struct file *file);

/* Has no other program told, through the lock file, that it changes the frame?
   Bytes that were read before this call are good then. */
bool file_is_latest(struct file *file);

/*
 * Stop changing a file because the frame was opened a second time, after other
 * programs had changed it.  When this returns, this file writes nothing to the
 * frame any more, as if file_sync() had found the changes.  The caller calls
 * this between opening the second file and first using it.
 *
 *  replaced  another file has taken the place of the frame's
 *
 * Returns false if no other program has changed the frame, and this file is
 * being changed.  This file is then the newest, and the caller closes the
 * second one.
 */
bool file_supersede(struct file *file, bool replaced);

/*
 * Keep other programs that respect the frame's lock file from changing the
 * frame, for as long as a read takes; and let them change it again.  Without a
 * lock file this does nothing.
 *
 * Returns 0; -ESTALE if the frame has to be opened again; -EBUSY if another
 * program has locked it; or an error of the store.
 */
int file_share(struct file *file, struct fault *fault);
void file_unshare(struct file *file);

/* Note that the last name of the frame's file was removed, or that another
   frame is about to get it.  The file can still be changed. */
void file_set_unlinked(struct file *file, bool unlinked);

/* Note that nobody wants the content of a file any more, or somebody does after
   all.  Nothing is dropped, but a commit that encodes chunks stops soon, and
   returns -ECANCELED.  Does not wait. */
void file_abandon(struct file *file, bool abandoned);

/* Return the error of an earlier commit that has not been reported yet, which
   reports it; else 0.  Lost changes are an error each time. */
int file_take_error(struct file *file, struct fault *fault);

/* Return the number of bytes that are written and not yet committed.  For bytes
   that are written again, and chunks that are stored again for other reasons,
   it is an estimate. */
uint64_t file_dirty(struct file *file);

/*
 * Find the written bytes that are not yet committed, or were not when other
 * programs changed the frame: the range from the first to behind the last.
 * Returns false if there are none.
 */
bool file_unsaved(struct file *file, uint64_t *off, uint64_t *end);

/* A metalayer to be set. */
struct file_meta {
    enum metalayer_kind kind; /* METALAYER_VL: made if it does not exist.
                                 METALAYER_FIXED: it exists, and keeps its
                                 length */
    const char *name;
    const void *bytes;
    size_t len;
};

/*
 * Set a metalayer, and commit it together with everything written.
 *
 * Returns 0, -EINVAL (another length, or an invalid name), -ENOENT (no such
 * fixed metalayer), -EPERM (the shape of an array that the file shows as such),
 * -ENOSPC (too many or too large), or as file_write().
 */
int file_meta_set(struct file *file, const struct file_meta *meta,
                  struct fault *fault);

/* Remove a vlmetalayer.  Returns 0, -ENOENT, or as file_meta_set(). */
int file_meta_remove(struct file *file, const char *name, struct fault *fault);

#endif
