/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAMEFS_H
#define FRAMEFS_H

/*
 * libframefs: Blosc2 frames as plain bytes that can be read and written.  An
 * N-dimensional array, too, is its chunks in a row.
 *
 *     struct framefs *fs;
 *     struct framefs_frame *frame;
 *     char text[80];
 *
 *     if (framefs_new("cache=64M", &fs) < 0 ||
 *         framefs_open(fs, "run7.b2frame", FRAMEFS_READ, 0, &frame) < 0 ||
 *         framefs_pread(frame, text, sizeof(text), 0) < 0)
 *         errx(1, "%s", framefs_error());
 *
 * Errors.  A function that can fail returns a negative errno; framefs_error()
 * says in words what was wrong.  Results go through `out` parameters, which
 * are written only on success.  Beside what the system reports there are
 *
 *     -EBADMSG  the bytes break the format: the frame, or a chunk, is damaged
 *     -ENOTSUP  it takes a codec or filter that this build lacks, or it is a
 *               kind of frame that is read, but not changed; or a block or
 *               chunk is too large for "cache="
 *     -EROFS    the frame was not opened to be written
 *     -EBUSY    another process, or another handle, is changing the frame, and
 *               was waited for ten seconds; framefs_error() names the process
 *     -ESTALE   others have changed the frame since it was opened to be written
 *     -EINVAL   an argument or option is wrong
 *
 * Threads.  Any number of threads may use one library handle, and one frame,
 * at a time.  What frees or closes a handle must be the last to use it.  No
 * handle may be used in a child process after fork().
 *
 * No function writes to standard output or standard error, changes a signal's
 * handler, or keeps anything that is not in a handle.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FRAMEFS_API __attribute__((visibility("default")))
#else
#define FRAMEFS_API
#endif

/* The version of the library that is running, such as "0.1.0". */
FRAMEFS_API const char *framefs_version(void);

/*
 * Why the last call that failed in this thread did so, as a phrase that names
 * the frame: "run7.b2frame: chunk 7, offset 1234: a stream is cut short".
 *
 * Never NULL; "" if none has failed yet.  Each thread has its own message, so
 * that threads which share a frame do not see each other's.  It stays until
 * the thread makes another call that fails.
 */
FRAMEFS_API const char *framefs_error(void);

/*
 * The library: what frames have in common, decoded data that are kept and the
 * threads that decode ahead and compress.
 */
struct framefs;

/*
 * Start the library.
 *
 *  options  NULL, or options as framefs(1) takes them behind -o, separated by
 *           commas:
 *             cache=SIZE      bytes of decoded data to keep, of all frames
 *                             together, a hard limit; what is not written out
 *                             yet counts too (256M)
 *             threads=N       worker threads (one for each CPU)
 *             readahead=SIZE  bytes to decode ahead of a sequential reader
 *                             (8M)
 *             commit=SECONDS  after which what was written is made durable; 0:
 *                             when asked, or when the cache fills up (5)
 *             lock=SECONDS    take part in the locking of frames by .b2lock
 *                             files, as programs do that use C-Blosc2 and set
 *                             BLOSC_LOCKING; -EBUSY when they keep one locked
 *                             for longer
 *
 * Returns 0, -EINVAL or -ENOMEM, or -EAGAIN if there can be no more threads.
 */
FRAMEFS_API int framefs_new(const char *options, struct framefs **out);

/* All frames must be closed.  Accepts NULL. */
FRAMEFS_API void framefs_free(struct framefs *fs);

/* An open frame. */
struct framefs_frame;

enum {
    FRAMEFS_READ = 0,
    FRAMEFS_WRITE = 1 /* read and write */
};

/*
 * Open a frame.
 *
 *  path    a file, or the directory of a sparse frame; links are followed
 *  flags   FRAMEFS_READ or FRAMEFS_WRITE.  One handle at a time, of all
 *          processes, changes a frame, from its first write until that is
 *          committed.  Any number may read it meanwhile: each call sees the last
 *          commit, or for some chunks one that came since
 *  offset  byte of the file at which the frame starts, usually 0.  A frame that
 *          starts elsewhere can't be written: -EROFS
 */
FRAMEFS_API int framefs_open(struct framefs *fs, const char *path, int flags,
                             uint64_t offset, struct framefs_frame **out);

/*
 * Make an empty frame, and open it to be written.
 *
 *  path     nothing may be there: -EEXIST
 *  options  NULL, or options as framefs(1) takes them behind -o, separated by
 *           commas:
 *             layout=contiguous|sparse  one file, or a directory (contiguous)
 *             codec=NAME       blosclz, lz4, lz4hc, zlib or zstd (lz4)
 *             clevel=N         0 to 9 (5)
 *             filters=F[:META]+F...  up to six, or none (shuffle)
 *             typesize=auto|N  bytes per element (auto: by what is written
 *                              first)
 *             chunksize=SIZE   decoded bytes in a chunk (1M)
 *             blocksize=SIZE|auto  decoded bytes in a block (auto)
 *
 * The frame is there when this returns; it is durable after framefs_sync().
 */
FRAMEFS_API int framefs_create(struct framefs *fs, const char *path,
                               const char *options, struct framefs_frame **out);

/*
 * Close a frame.  Accepts NULL.
 *
 * This commits the data that were written, durably.  Returns 0, or why that
 * failed: the data written since the last framefs_sync() that succeeded are then
 * lost.  The handle is gone in any case.
 */
FRAMEFS_API int framefs_close(struct framefs_frame *frame);

/* Decoded size in bytes. */
FRAMEFS_API uint64_t framefs_size(const struct framefs_frame *frame);

/*
 * Read decoded bytes.
 *
 * Returns how many came: all, unless the frame ends or what follows can't be
 * read; 0 at the end; or, if not even the first can be read, a negative errno.
 */
FRAMEFS_API ssize_t framefs_pread(struct framefs_frame *frame, void *buf,
                                  size_t len, uint64_t off);

/*
 * Write bytes.  The frame grows as needed; a gap reads as zeros.  Readers of
 * this handle see them at once, all others once they are committed, in one
 * step with all that was written before.
 *
 * Returns `len`, or a negative errno, also one that a commit in the background
 * ran into (-ENOSPC, -EIO); the bytes are kept in memory all the same if there
 * is room, and framefs_sync() tries again.
 */
FRAMEFS_API ssize_t framefs_pwrite(struct framefs_frame *frame, const void *buf,
                                   size_t len, uint64_t off);

/* Change the size: cut, or add zeros, which take no room.  Returns 0, or as
   framefs_pwrite(). */
FRAMEFS_API int framefs_truncate(struct framefs_frame *frame, uint64_t size);

/*
 * Commit all that was written, durably: a crash afterwards loses none of it,
 * and one meanwhile leaves the state before.  Returns 0, or why this commit,
 * or one that nobody was told of, failed.
 */
FRAMEFS_API int framefs_sync(struct framefs_frame *frame);

/* Geometry of a frame, as of the last commit. */
struct framefs_info {
    uint64_t size;      /* decoded bytes */
    uint64_t stored;    /* bytes that it takes by its own account, compressed */
    uint64_t nchunks;   /* number of chunks */
    uint32_t chunksize; /* decoded bytes in each but the last; 0: they differ */
    uint32_t blocksize; /* decoded bytes in a block; 0: automatic */
    uint32_t typesize;  /* bytes per element */
    uint32_t clevel;    /* of new chunks, 0 to 9 */
    char codec[16];     /* of new chunks, such as "zstd" */
    uint32_t sparse;    /* 1: a directory with a file per chunk; else 0 */
    uint32_t version;   /* of the format */
};

/*
 * What is known of a frame.
 *
 *  size  sizeof(*out), so that later versions can add members
 *
 * Returns 0, or -EINVAL if this library does not know the last members.
 */
FRAMEFS_API int framefs_info(struct framefs_frame *frame,
                             struct framefs_info *out, size_t size);

/*
 * The same and more as a JSON object: filters, metalayers, layout; what
 * `b2frame info --json` prints.
 *
 *  text, size  receives the text with a NUL; NULL and 0 to ask for its length
 *
 * Returns its length without the NUL, -ERANGE if `size` is too small, or
 * -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_info_json(struct framefs_frame *frame, char *text,
                                      size_t size);

/*
 * Metadata.  Their names are those of the attributes that a mount shows, less
 * "user.b2frame.":
 *
 *     meta.NAME    a metalayer.  Its length is fixed
 *     vlmeta.NAME  a vlmetalayer, of any length
 *     usermeta     in frames from before 2021, and only read
 *
 * NAME has at most 31 bytes.
 *
 * List the names, each with a NUL behind it.
 *
 *  list, size  receives them; NULL and 0 to ask for their length
 *
 * Returns their length, -ERANGE if `size` is too small, -EBADMSG or -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_meta_list(struct framefs_frame *frame, char *list,
                                      size_t size);

/*
 * Read one.
 *
 *  buf, size  receives it; NULL and 0 to ask for its length
 *
 * Returns its length, -ERANGE if `size` is too small, -ENODATA if there is
 * none of this name, -EBADMSG or -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_meta_get(struct framefs_frame *frame,
                                     const char *name, void *buf, size_t size);

/*
 * Set one, and commit that with all that was written.
 *
 *  name  vlmeta.NAME, which is made if need be; or meta.NAME, which exists
 *
 * Returns 0, -EINVAL (another length than a metalayer has; a name that can't
 * be), -ENODATA (no such metalayer), -ENOSPC (too many or too large), or as
 * framefs_sync().
 */
FRAMEFS_API int framefs_meta_set(struct framefs_frame *frame, const char *name,
                                 const void *buf, size_t len);

/* Remove a vlmetalayer, and commit that.  Returns 0, -ENODATA if there is
   none, or as framefs_meta_set(). */
FRAMEFS_API int framefs_meta_remove(struct framefs_frame *frame,
                                    const char *name);

#ifdef __cplusplus
}
#endif

#endif
