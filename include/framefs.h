/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef FRAMEFS_H
#define FRAMEFS_H

/*
 * libframefs reads and writes Blosc2 frames as plain bytes, and regions of
 * N-dimensional arrays.
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
 * describes the failure in words.  Results go through `out` parameters, which
 * are written only on success.  Besides errors from the system there are
 *
 *     -EBADMSG  the bytes break the format: the frame, or a chunk, is damaged
 *     -ENOTSUP  the frame needs a codec or filter that this build lacks; or it
 *               is of a kind that can be read, but not changed; or a block or
 *               chunk is too large for "cache="
 *     -EROFS    the frame was not opened for writing
 *     -EBUSY    another process, or another handle, was still changing the
 *               frame after a wait of ten seconds; framefs_error() names the
 *               process
 *     -ESTALE   another program has changed the frame since it was opened for
 *               writing
 *     -EINVAL   an argument or option is wrong
 *     -EIO      also: a server has not sent what was asked for, after all tries
 *
 * Threads.  Any number of threads may use a library handle, or a frame, at the
 * same time.  The call that frees or closes a handle must be the last that uses
 * it.  A child process must not use any handle after fork().
 *
 * No function writes to standard output or standard error, changes a signal
 * handler, or keeps any state outside the handles, except for each thread's
 * framefs_error() message.
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

/* The version of the running library, such as "0.1.0". */
FRAMEFS_API const char *framefs_version(void);

/*
 * Get the reason for the last failure in this thread, as a phrase that names
 * the frame: "run7.b2frame: chunk 7, offset 1234: a stream is cut short".
 *
 * Never NULL; "" if no call has failed yet.  Each thread has its own message,
 * because threads that share a frame must not see each other's.  The message
 * stays until the thread makes another call that fails.
 */
FRAMEFS_API const char *framefs_error(void);

/*
 * A library handle.  It owns the resources that its frames share: the cache of
 * decoded data, and the threads that decode ahead and compress.
 */
struct framefs;

/*
 * Start the library.
 *
 *  options  NULL, or options in the form of framefs(1)'s -o, separated by
 *           commas:
 *             cache=SIZE      limit of the decoded data in memory, for all
 *                             frames together, in bytes.  The limit is hard,
 *                             and includes data not yet written (256M)
 *             threads=N       worker threads (one for each CPU)
 *             readahead=SIZE  bytes to decode ahead of a sequential reader
 *                             (8M)
 *             commit=SECONDS  time after which written data are made durable;
 *                             0: only when asked, or when the cache fills up
 *                             (5)
 *             sums=on|read|off  write sums of the bytes that are stored and
 *                             check those that frames have; only check them;
 *                             or neither (on)
 *             lock=SECONDS    take part in the locking of frames by .b2lock
 *                             files, as do programs that use C-Blosc2 and set
 *                             BLOSC_LOCKING; -EBUSY if another program keeps
 *                             a frame locked for longer
 *
 *           and, for frames behind URLs,
 *             timeout=SECONDS   time after which a request fails (30)
 *             retries=N         tries after the first one (10)
 *             connections=N     requests at a time (32)
 *             cacert=FILE       certificates to trust in place of the system's
 *             revalidate=SECONDS|inf  time for which the state of a frame
 *                             counts as known (1)
 *             ticket=newest     a ticket leads to the newest state of its frame
 *                               (the one in which it was made)
 *
 * Returns 0, -EINVAL or -ENOMEM, or -EAGAIN if no more threads can be started.
 */
FRAMEFS_API int framefs_new(const char *options, struct framefs **out);

/* Free the library.  All frames must be closed.  Accepts NULL. */
FRAMEFS_API void framefs_free(struct framefs *fs);

/* An open frame. */
struct framefs_frame;

enum {
    FRAMEFS_READ = 0,
    FRAMEFS_WRITE = 1, /* for reading and writing */
    FRAMEFS_ARRAY = 2  /* see below */
};

/*
 * Open a frame.
 *
 *  path    a file, or the directory of a sparse frame; links are followed.
 *          Or a URL of either on a web server, http://HOST[:PORT]/PATH or the
 *          same with https, or on a server of S3, s3://BUCKET/KEY.  Of these,
 *          only a sparse frame on a server of S3 can be opened for writing;
 *          others give -EROFS.  If it ends with '/', it is a directory; if it
 *          has a query (?...), it is not.  The query is a secret and never part
 *          of framefs_error().  A build without libcurl or libcrypto refuses
 *          URLs: -EPROTONOSUPPORT.
 *          A ticket, see b2frame(1), opens the frame that it leads to, for
 *          reading only; -ESTALE if that has changed since
 *  flags   FRAMEFS_READ or FRAMEFS_WRITE.  Only one handle at a time, of all
 *          processes, can change a local frame, from its first write until that
 *          is committed.  A frame on a server is not locked: commits to
 *          different chunks are merged; of two to the same chunk, or if one
 *          changes the number of chunks, the later one fails with -ESTALE.  Any
 *          number of handles can read it meanwhile: each call sees the last
 *          commit, or a later one for some chunks.  With FRAMEFS_ARRAY, the
 *          bytes of an N-dimensional array are its items in C order, as
 *          framefs(1) shows them, and the array keeps its size;
 *          without, they are those of the chunks in a row.  For other frames
 *          this makes no difference
 *  offset  offset in the file at which the frame starts, usually 0.  A frame
 *          at another offset cannot be opened for writing: -EROFS
 */
FRAMEFS_API int framefs_open(struct framefs *fs, const char *path, int flags,
                             uint64_t offset, struct framefs_frame **out);

/*
 * Open a contiguous frame that is in memory, for reading.
 *
 *  buf, len  the frame, which must stay there unchanged until
 *            framefs_close(); bytes behind it are ignored
 *  flags     FRAMEFS_READ, or FRAMEFS_ARRAY, too; -EROFS with FRAMEFS_WRITE
 *
 * Messages call it "memory".
 */
FRAMEFS_API int framefs_open_memory(struct framefs *fs, const void *buf,
                                    size_t len, int flags,
                                    struct framefs_frame **out);

/*
 * Create an empty frame, and open it for writing.
 *
 *  path     must not exist: -EEXIST.  A URL of S3, see framefs_open(): make a
 *           sparse frame, whatever `layout` says; other URLs give -EROFS.
 *           NULL: make a contiguous frame in memory, which framefs_memory_get()
 *           copies, and framefs_close() drops
 *  options  NULL, or options in the form of framefs(1)'s -o, separated by
 *           commas:
 *             layout=contiguous|sparse  one file, or a directory (contiguous)
 *             codec=NAME       one that framefs(1) lists (lz4)
 *             clevel=N         0 to 9 (5)
 *             filters=F[:META]+F...  up to six, or none (shuffle)
 *             typesize=auto|N  bytes per element (auto: chosen from the first
 *                              data written)
 *             chunksize=SIZE   decoded bytes in a chunk (1M)
 *             blocksize=SIZE|auto  decoded bytes in a block (auto)
 *
 * The frame exists when this returns; it is durable after framefs_sync().
 */
FRAMEFS_API int framefs_create(struct framefs *fs, const char *path,
                               const char *options, struct framefs_frame **out);

/*
 * Commit all written data, and copy the bytes of a frame that is in memory: a
 * whole contiguous frame, as a file would have it.
 *
 *  buf, size  buffer for the bytes; NULL and 0 to ask for their number
 *
 * Returns their number, -ERANGE if `size` is too small, -EINVAL if the frame is
 * not in memory, or errors as framefs_sync().
 */
FRAMEFS_API ssize_t framefs_memory_get(struct framefs_frame *frame, void *buf,
                                       size_t size);

/*
 * Commit the written data, durably, and close the frame.  Accepts NULL.
 *
 * Returns 0, or the error of the commit: the data written since the last
 * successful framefs_sync() are then lost.  The handle is gone in either case.
 */
FRAMEFS_API int framefs_close(struct framefs_frame *frame);

/* Get the decoded size in bytes. */
FRAMEFS_API uint64_t framefs_size(const struct framefs_frame *frame);

/*
 * Read decoded bytes.
 *
 * Returns the number of bytes read.  This is `len`, unless the frame ends or
 * the bytes after that cannot be read; it is 0 at the end.  If not even the
 * first byte can be read, a negative errno.
 */
FRAMEFS_API ssize_t framefs_pread(struct framefs_frame *frame, void *buf,
                                  size_t len, uint64_t off);

/*
 * Write bytes.  The frame grows as needed; a gap reads as zeros.  Readers of
 * this handle see the bytes at once.  All other readers see them after a
 * commit, in one step with all data written before.
 *
 * Returns `len`, or a negative errno.  This may be the error of a commit in the
 * background (-ENOSPC, -EIO).  The bytes are kept in memory even then, if there
 * is space, and framefs_sync() tries again.
 */
FRAMEFS_API ssize_t framefs_pwrite(struct framefs_frame *frame, const void *buf,
                                   size_t len, uint64_t off);

/* Change the size: cut the frame, or add zeros, which take no space.  Returns
   0, or errors as framefs_pwrite(). */
FRAMEFS_API int framefs_truncate(struct framefs_frame *frame, uint64_t size);

/*
 * Commit all written data, durably.  A crash afterwards loses none of them; a
 * crash during the commit leaves the state before it.  Returns 0, or the error
 * of this commit.  Earlier commits that failed in the background do not count,
 * because their data are part of this one.
 */
FRAMEFS_API int framefs_sync(struct framefs_frame *frame);

/* The geometry of a frame, as of the last commit. */
struct framefs_info {
    uint64_t size;      /* decoded bytes */
    uint64_t stored;    /* compressed bytes, by the frame's own account */
    uint64_t nchunks;   /* number of chunks */
    uint32_t chunksize; /* decoded bytes in each but the last; 0: they differ */
    uint32_t blocksize; /* decoded bytes in a block; 0: automatic */
    uint32_t typesize;  /* bytes per element */
    uint32_t clevel;    /* of new chunks, 0 to 9 */
    char codec[16];     /* of new chunks, such as "zstd" */
    uint32_t sparse;    /* 1: a directory with a file for each chunk; else 0 */
    uint32_t version;   /* of the format */
};

/*
 * Get the geometry of a frame.
 *
 *  size  sizeof(*out); later versions may add members
 *
 * Returns 0, or -EINVAL if this library does not know the last members.
 */
FRAMEFS_API int framefs_info(struct framefs_frame *frame,
                             struct framefs_info *out, size_t size);

/*
 * Get a description of a frame as a JSON object: the geometry, filters,
 * metalayers and layout, as `b2frame info --json` prints them.
 *
 *  text, size  buffer for the text and a NUL; NULL and 0 to ask for its length
 *
 * Returns the length without the NUL, -ERANGE if `size` is too small, or
 * -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_info_json(struct framefs_frame *frame, char *text,
                                      size_t size);

/*
 * List the names of a frame's metadata, each followed by a NUL.  They are the
 * names of the extended attributes that a mount shows, without "user.b2frame.":
 *
 *     meta.NAME    a metalayer, of fixed length
 *     vlmeta.NAME  a vlmetalayer, of any length
 *     usermeta     in frames from before 2021; read-only
 *
 * NAME has at most 31 bytes.
 *
 *  list, size  buffer for the names; NULL and 0 to ask for their length
 *
 * Returns their length, -ERANGE if `size` is too small, -EBADMSG or -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_meta_list(struct framefs_frame *frame, char *list,
                                      size_t size);

/*
 * Read one metalayer.
 *
 *  name       a name as in the list above
 *  buf, size  buffer for the content; NULL and 0 to ask for its length
 *
 * Returns its length, -ERANGE if `size` is too small, -ENODATA if no metalayer
 * has this name, -E2BIG if it has more than 64 MiB, -EBADMSG or -ENOMEM.
 */
FRAMEFS_API ssize_t framefs_meta_get(struct framefs_frame *frame,
                                     const char *name, void *buf, size_t size);

/*
 * Set one metalayer, and commit it with all written data.
 *
 *  name  vlmeta.NAME, which is created if necessary; or meta.NAME, which must
 *        exist
 *
 * Returns 0, -EINVAL (the length of a metalayer would change; or the name is
 * not valid), -ENODATA (no such metalayer), -ENOSPC (too many, or too large),
 * or errors as framefs_sync().
 */
FRAMEFS_API int framefs_meta_set(struct framefs_frame *frame, const char *name,
                                 const void *buf, size_t len);

/* Remove a vlmetalayer, and commit that.  Returns 0, -ENODATA if it does not
   exist, or errors as framefs_meta_set(). */
FRAMEFS_API int framefs_meta_remove(struct framefs_frame *frame,
                                    const char *name);

/*
 * Arrays.  The functions below need a frame that was opened with FRAMEFS_ARRAY
 * and is an array, else they return -ENODATA.
 */

enum {
    FRAMEFS_NDIM_MAX = 16
};

/* An array.  It is cut into chunks, and these into blocks, which are decoded
   one at a time.  The last dimension varies fastest. */
struct framefs_array {
    uint32_t ndim;
    uint32_t itemsize;                 /* bytes of an item */
    uint64_t shape[FRAMEFS_NDIM_MAX];  /* items along each dimension */
    uint32_t chunks[FRAMEFS_NDIM_MAX]; /* items of a chunk along it */
    uint32_t blocks[FRAMEFS_NDIM_MAX]; /* items of a block along it */
    const char *dtype; /* for framefs_array_create(): the type of an item, as
                          NumPy prints it; NULL if unknown */
};

/* Get the shape of an array, without its dtype.  `size` is sizeof(*out), as for
   framefs_info(). */
FRAMEFS_API int framefs_array_info(struct framefs_frame *frame,
                                   struct framefs_array *out, size_t size);

/*
 * Get the dtype of an array as NumPy prints it, such as "<f8"; "" if it is not
 * known.
 *
 *  text, size  buffer for the text and a NUL; NULL and 0 to ask for its length
 *
 * Returns the length without the NUL, or -ERANGE if `size` is too small.
 */
FRAMEFS_API ssize_t framefs_array_dtype(struct framefs_frame *frame, char *text,
                                        size_t size);

/*
 * Create an array of zeros, and open it with FRAMEFS_WRITE and FRAMEFS_ARRAY.
 *
 *  options  as for framefs_create(), but typesize counts for nothing; chunksize
 *           and blocksize are those of extents that are chosen
 *  array    extents of chunks and blocks that are 0 are chosen
 *
 * Errors as framefs_create(), and -EFBIG if there would be too many chunks.
 */
FRAMEFS_API int framefs_array_create(struct framefs *fs, const char *path,
                                     const char *options,
                                     const struct framefs_array *array,
                                     struct framefs_frame **out);

/* A rectangular region of an array, and the layout of a buffer for its
   items. */
struct framefs_region {
    uint32_t ndim;          /* of the array, and */
    uint32_t itemsize;      /* bytes of its items, as the caller knows them:
                               another program may replace the frame */
    const uint64_t *start;  /* first item along each dimension */
    const uint64_t *count;  /* items along each dimension */
    const int64_t *strides; /* bytes in the buffer from one item to the next
                               along each dimension, which may be negative;
                               NULL: the items are in C order */
};

/*
 * Read or write a region of an array.  Only blocks that the region touches are
 * decoded; if they are many, by several threads.
 *
 *  buf  where the first item of the region is in the buffer
 *
 * Returns 0, -ERANGE if the array does not have these items, or has another
 * number of dimensions or items of another size, or errors as framefs_pread()
 * and framefs_pwrite().  After an error, some items may have been copied.
 */
FRAMEFS_API int framefs_array_read(struct framefs_frame *frame,
                                   const struct framefs_region *region,
                                   void *buf);
FRAMEFS_API int framefs_array_write(struct framefs_frame *frame,
                                    const struct framefs_region *region,
                                    const void *buf);

/*
 * Change the shape of an array, and commit that with all written data, durably
 * and in one step.  Chunks and blocks keep their extents, and items keep their
 * places.  New items are zeros.
 *
 *  shape  one extent for each dimension
 *
 * Returns 0, -EINVAL if chunks of these extents cannot hold such an array,
 * -EFBIG if there would be too many chunks, or errors as framefs_sync().
 */
FRAMEFS_API int framefs_array_resize(struct framefs_frame *frame,
                                     const uint64_t *shape);

/*
 * Chunks, by number, as of the last commit: the same in a contiguous frame and
 * in a sparse one.  Each function that changes them commits the written data
 * first, and then the change, durably.
 *
 * The number of a chunk is its place: it changes when chunks before it are
 * inserted, deleted or reordered, and not when chunks are put or written to.
 */

enum {
    FRAMEFS_CHUNK_DECODED = 0, /* the bytes of the frame that it holds; those of
                                  an array include padding */
    FRAMEFS_CHUNK_STORED = 1   /* a Blosc2 chunk, compressed, with its header */
};

/* A chunk. */
struct framefs_chunk {
    uint64_t off;    /* of its first byte, if chunks lie in a row */
    uint32_t nbytes; /* decoded bytes */
    uint32_t cbytes; /* stored bytes; 0: it is zeros or the like, which only the
                        index of the frame tells */
};

/* Describe a chunk.  `size` is sizeof(*out), as for framefs_info().  Returns 0,
   -ERANGE if there is no such chunk, or errors as framefs_pread(). */
FRAMEFS_API int framefs_chunk_info(struct framefs_frame *frame,
                                   uint64_t chunk_no, struct framefs_chunk *out,
                                   size_t size);

/*
 * Read a whole chunk.
 *
 *  form       FRAMEFS_CHUNK_DECODED or FRAMEFS_CHUNK_STORED
 *  buf, size  buffer for the chunk; NULL and 0 to ask for its length
 *
 * Returns its length, which is 0 for the stored form of a chunk without one;
 * -ERANGE if `size` is too small or there is no such chunk; or errors as
 * framefs_pread().
 */
FRAMEFS_API ssize_t framefs_chunk_get(struct framefs_frame *frame,
                                      uint64_t chunk_no, int form, void *buf,
                                      size_t size);

/*
 * Replace a chunk; or insert one before another, or at the end.  A stored chunk
 * is checked by decoding it, and then stored as it is.
 *
 * Returns 0; -ERANGE if there is no such chunk; -EINVAL if the decoded size
 * does not suit the frame: all chunks but the last have its chunksize, unless
 * it is 0; -EBADMSG or -ENOTSUP if a stored chunk cannot be decoded; -EPERM
 * when inserting in an array that was opened with FRAMEFS_ARRAY; or errors as
 * framefs_sync().
 */
FRAMEFS_API int framefs_chunk_put(struct framefs_frame *frame,
                                  uint64_t chunk_no, int form, const void *buf,
                                  size_t len);
FRAMEFS_API int framefs_chunk_insert(struct framefs_frame *frame,
                                     uint64_t chunk_no, int form,
                                     const void *buf, size_t len);

/* Delete a chunk.  Errors as framefs_chunk_insert(). */
FRAMEFS_API int framefs_chunk_delete(struct framefs_frame *frame,
                                     uint64_t chunk_no);

/*
 * Change the order of all chunks.
 *
 *  order    for each place, the number of the chunk that moves there
 *  nchunks  the number of chunks of the frame
 *
 * Errors as framefs_chunk_insert(), and -EINVAL if `order` is not a permutation
 * of all chunks.
 */
FRAMEFS_API int framefs_chunk_reorder(struct framefs_frame *frame,
                                      const uint64_t *order, uint64_t nchunks);

/*
 * Chunks, by a key: a number that stays with a chunk when its place or content
 * changes, and that no later chunk of the frame gets when it is deleted.  So a
 * frame can be used as a small store of keys and values.
 *
 * A frame has no keys until a program asks for one, with framefs_chunk_key() or
 * framefs_key_append() on a frame that is open for writing; then all its chunks
 * have one.  They are kept in the vlmetalayer "framefs.keys", 16 bytes for each
 * chunk, which each commit writes; framefs-format(7) describes it.  A frame
 * with keys has at most 1048576 chunks: -EFBIG.  Whoever removes the
 * vlmetalayer removes the keys.
 *
 * libframefs, framefs(1) and b2frame(1) carry keys along.  If another program
 * changes the frame, a chunk that it has stored as it was keeps its key, in
 * whatever place; if the number of chunks is the same, the others are taken for
 * chunks that were changed in their places; chunks of which neither is true
 * have lost their keys.
 *
 * Where no chunk has the key, these functions return -ENOENT; else they return
 * what the functions above do.  If the vlmetalayer is damaged, they return
 * -EBADMSG; it can be removed.
 */

/* Get the key of a chunk.  It is above 0.  If the chunk has none and the frame
   is open for writing, make keys for all chunks, and commit them. */
FRAMEFS_API int framefs_chunk_key(struct framefs_frame *frame,
                                  uint64_t chunk_no, uint64_t *key);

/* Find the number of the chunk with a key. */
FRAMEFS_API int framefs_key_find(struct framefs_frame *frame, uint64_t key,
                                 uint64_t *chunk_no);

/* Read, replace or delete the chunk with a key, in one step.  See
   framefs_chunk_get(), framefs_chunk_put() and framefs_chunk_delete(). */
FRAMEFS_API ssize_t framefs_key_get(struct framefs_frame *frame, uint64_t key,
                                    int form, void *buf, size_t size);
FRAMEFS_API int framefs_key_put(struct framefs_frame *frame, uint64_t key,
                                int form, const void *buf, size_t len);
FRAMEFS_API int framefs_key_delete(struct framefs_frame *frame, uint64_t key);

/* Insert a chunk at the end, and get its key.  Errors as
   framefs_chunk_insert(). */
FRAMEFS_API int framefs_key_append(struct framefs_frame *frame, int form,
                                   const void *buf, size_t len, uint64_t *key);

#ifdef __cplusplus
}
#endif

#endif
