/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WRITER_FRAME_WRITER_PRIVATE_H
#define WRITER_FRAME_WRITER_PRIVATE_H

#include <pthread.h>

#include "chunk/chunk_encode.h"
#include "frame/chunk_table.h"
#include "frame/frame_private.h"
#include "writer/chunk_tags.h"
#include "writer/frame_alloc.h"
#include "writer/frame_encode.h"
#include "writer/frame_writer.h"
#include "writer/layers.h"
#include "writer/sum_places.h"

enum {
    /* A limit below FRAME_WRITER_CHUNKS_MAX, for frames whose chunks may differ
       in size, and for old layouts: their whole index is kept in memory. */
    FRAME_WRITER_VARIABLE_MAX = 1 << 22,
};

/*
 * Locking.  `lock` is a leaf.  It guards `alloc`, `epoch`, `variable`, `sums`
 * and the fields of `info` that are constant between commits, because
 * frame_writer_write() reads them in other threads.  All else belongs to the
 * one thread that uses the writer.
 */
struct frame_writer {
    struct store *store;
    struct chunk_encoder *encoder;
    pthread_mutex_t lock;
    uint64_t epoch; /* how often the frame was rewritten */

    /* See frame_writer_set_progress(). */
    int (*progress)(void *context, uint64_t done, uint64_t total);
    void *progress_context;

    /* See frame_writer_set_mtime(). */
    const struct timespec *mtime;

    /* The next state. */
    struct frame_info info;
    uint64_t stamp;           /* of the next state, see frame_format.h */
    bool variable;            /* chunks may differ in size */
    bool rewrite;             /* the next commit must rewrite the frame */
    bool header_changed;      /* a metalayer in the header was changed */
    bool sums;                /* new chunks get sums */
    bool guarded;             /* the last state has sums in force */
    bool unchecked;           /* frames of new states do not check them */
    struct sum_places places; /* of chunks in `chunks` without sums */
    struct chunk_tags tags;   /* of the chunks in `chunks` */
    bool short_headers;       /* there are chunks with short headers */
    struct layers fixed;
    struct layers vl;
    struct layers *edited;   /* the list of the last edit that is not committed
                                and can be undone; NULL if there is none */
    struct layer replaced;   /* its content before that edit; bytes NULL: it did
                                not exist */
    bool header_was_changed; /* value of header_changed before that edit */
    struct frame_keys keys;  /* of the chunks, if has_keys is set */
    bool has_keys;
    struct chunk_table *chunks; /* info.nchunks chunks; in memory whole if they
                                   may differ in size */

    /* The place where the frame is kept. */
    struct frame_alloc *alloc;
    struct generation
        *generation; /* of the last commit; NULL if there is none */
    struct generation
        *durable_generation; /* of the last state known to be on the disk, if
                                that is older; keeps its chunks */
    struct store_object
        *draft; /* of a new contiguous frame.  If there is a generation, the
                   draft may have been published */
    struct extent tail; /* index and trailer of the last commit */
    uint8_t header[FRAME_E_METALAYERS_OFF]; /* fixed part of the stored
                                               header */
    bool header_known; /* `header` is the stored one; else that is in doubt */
    struct store_stat stat; /* of the file, or index file, with that header */

    struct extent_list pending_free;
    /* freed by the next commit */
    struct extent_list unsynced; /* put since the last commit */
    uint64_t unsynced_cbytes;
    bool unsynced_lost; /* chunks in `unsynced` may not have reached the disk */
    bool not_durable;   /* the last commit may not have either: see
                           frame_writer_sync() */
    bool unnamed; /* no commit of this new frame was tried, so nothing refers
                     to its chunks */
    bool name_unsynced; /* nor the name of the file, or of the directory */
};

/* If several programs may change frames in the store: does it keep them apart?
   Returns 0, -EROFS or an error of the store. */
int frame_writer_check_store(struct store *store, struct fault *fault);

/* Read the contents of the frame, and find out which space is free.  The caller
   has set the store and the info of `writer`. */
int frame_load(struct frame_writer *writer, struct frame *frame,
               struct fault *fault);

/* Find out which chunks have sums, and their tags.  Without sums in force none
   has any, even if there are some, because another program may have changed the
   chunks.  Returns 0, -ENOMEM, -ESTALE or an error of the store. */
int frame_load_sums(struct frame_writer *writer, struct frame *frame,
                    struct fault *fault);

/* Continue with the number in the frame's stamp.  A frame without one starts at
   a random number, so that no earlier stamp returns by chance. */
int frame_load_stamp(struct frame_writer *writer, const struct frame *frame,
                     struct fault *fault);

/* The offset of a stored chunk in the file; for a sparse frame, the number of
   its chunk file. */
static inline uint64_t frame_writer_off(const struct frame_writer *writer,
                                        const struct table_chunk *chunk)
{
    uint64_t origin = writer->info.sparse ? 0 : writer->info.header_len;

    return origin + (uint64_t)chunk->entry;
}

/* Decoded size of a chunk. */
uint32_t frame_writer_size_of(const struct frame_writer *writer,
                              uint64_t chunk_no);

/* Write a chunk that repeats zero bytes, or NaNs of the frame's typesize. */
int frame_writer_write_value(struct frame_writer *writer, bool nans,
                             uint32_t nbytes, struct frame_written *out,
                             struct fault *fault);

/*
 * Replace a range of chunks, which exist, by equal ones that are not stored.
 * Counts and sizes in `info` stay.
 *
 *  chunk  NULL if `nadded` is 0
 *
 * Returns 0 or an error of the table, with nothing replaced.
 */
int frame_writer_replace(struct frame_writer *writer, uint64_t first,
                         uint64_t nremoved, const struct table_chunk *chunk,
                         uint64_t nadded);

/*
 * Append special chunks of the full size.  An index entry must be able to stand
 * for them.
 *
 * Returns 0, -EFBIG or -ENOMEM.
 */
int frame_writer_append_special(struct frame_writer *writer,
                                enum chunk_kind kind, uint64_t n);

/* Make a table of the frame's kind, without chunks.  Returns 0 or -ENOMEM. */
int frame_writer_new_table(const struct frame_writer *writer,
                           struct chunk_table **out);

/* May the frame have `n` chunks?  Returns 0 or -EFBIG. */
int frame_writer_check_count(const struct frame_writer *writer, uint64_t n);

/* Prepare a compressed vlmetalayer.  Returns its size, -ENOMEM or -E2BIG; the
   caller frees `out`. */
ssize_t frame_writer_encode_layer(struct frame_writer *writer,
                                  const void *content, size_t len,
                                  uint8_t **out);

/*
 * Keys of chunks.  The functions below do nothing if the frame has none.
 *
 * Read the keys of the frame, when it is opened for changes.  Keys that are
 * damaged stay as they are, and nobody can use them.
 */
int frame_writer_load_keys(struct frame_writer *writer, struct frame *frame,
                           struct fault *fault);

/* Make space for the keys of `n` more chunks.  Returns 0, -EFBIG or -ENOMEM. */
int frame_writer_reserve_keys(struct frame_writer *writer, uint64_t n);

/* Record that chunks were replaced by others, which get new keys, or by
   `nadded` equal ones in their places, which keep the keys.  The caller has
   reserved space. */
void frame_writer_splice_keys(struct frame_writer *writer, uint64_t first,
                              uint64_t nremoved, uint64_t nadded,
                              uint64_t check);
void frame_writer_put_keys(struct frame_writer *writer, uint64_t first,
                           uint64_t n, uint64_t check);

/* Put the keys in a new order, which is valid.  Returns 0 or -ENOMEM. */
int frame_writer_reorder_keys(struct frame_writer *writer,
                              const uint64_t *order);

/* Make the vlmetalayer for the next state of the frame. */
int frame_writer_write_keys(struct frame_writer *writer);

/* Forget the keys, because their vlmetalayer is edited. */
void frame_writer_drop_keys(struct frame_writer *writer, const char *layer);

#endif
