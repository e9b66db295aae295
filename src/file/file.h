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
#include "store/store.h"

/* What all open files share: the cache, the worker threads, the decoders. */
struct file_context;

struct file_options {
    size_t cache_size; /* bytes of decoded data to keep, a hard limit */
    unsigned nthreads; /* workers that decode ahead; 0: one for each CPU */
    size_t readahead;  /* bytes to decode ahead of a sequential reader, at most
                          a quarter of the cache; 0: none */
};

extern const struct file_options file_default_options;

/* Returns 0 or a negative errno. */
int file_context_new(const struct file_options *options,
                     struct file_context **out);

/* All files must be closed.  Accepts NULL. */
void file_context_free(struct file_context *context);

/* A frame as flat bytes.  Any number of threads may use it. */
struct file;

/*
 * Open the frame in a store.
 *
 *  store  becomes the file's on success
 *  base   where the frame starts in its file; 0 for a sparse frame
 *
 * A frame that another program is writing at this moment is tried again for
 * some milliseconds.  Errors as frame_open().
 */
int file_open(struct file_context *context, struct store *store, uint64_t base,
              struct file **out, struct fault *fault);

/* Accepts NULL.  Waits for what is being decoded ahead. */
void file_close(struct file *file);

/*
 * Is the frame's file, or index file, still the one that was opened, and as
 * it was then?
 */
bool file_is_current(const struct file *file, const struct store_stat *now);

/* The frame, for its geometry and metalayers; belongs to the file. */
struct frame *file_frame(struct file *file);

/* Decoded size in bytes. */
uint64_t file_size(const struct file *file);

/* What one reader did last, so that read-ahead can follow it.  Starts zeroed;
   the files of a context, to any of which it may go on, lock it. */
struct file_reader {
    uint64_t next_off;  /* where it goes on if it reads sequentially */
    uint64_t ahead_off; /* up to where decoding was asked for */
    size_t window;      /* how far to decode ahead, 0 while it looks random */
    unsigned streak;    /* reads in a row that went on from the last */
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

#endif
